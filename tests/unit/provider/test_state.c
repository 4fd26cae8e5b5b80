// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/state.h"

static void make_folder(const char *name)
{
    struct error err;
    cleanup_free char *folder = machine_folder(name);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
}

static void publish(const char *name, enum phase phase, int64_t pid)
{
    struct error err;
    char detail[] = "step", host[] = "127.0.0.1";
    struct status status = {.phase = phase,
                            .detail = detail,
                            .changed_ns = 5,
                            .monitor_pid = pid,
                            .vm_pid = 9,
                            .host = host,
                            .port = 2222};
    assert_ok(status_write(name, &status, &err), err);
}

static void status_round_trip(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(status_release) struct status status = STATUS_INIT;
    make_folder("rt");
    assert_fails(status_read(&status, "rt", &err), err, ENOENT, "status.json");
    publish("rt", PHASE_PROVISIONING, 77);
    assert_ok(status_read(&status, "rt", &err), err);
    assert_int_equal(status.phase, PHASE_PROVISIONING);
    assert_string_equal(status.detail, "step");
    assert_string_equal(status.host, "127.0.0.1");
    assert_int_equal(status.port, 2222);
    assert_int_equal(status.monitor_pid, 77);
    assert_int_equal(status.vm_pid, 9);
    cleanup_free char *path = machine_path("rt", MACHINE_STATUS);
    put_text(path, "{\"phase\":\"flying\",\"changed\":\"1970-01-01T00:00:01Z\"}");
    struct status other = STATUS_INIT;
    assert_fails(status_read(&other, "rt", &err), err, EBADMSG, "unknown phase");
}

static void last_exit_round_trip(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(last_exit_release) struct last_exit last = LAST_EXIT_INIT;
    make_folder("le");
    char log[] = "a\nb", not_text[] = "\xff\xfe";
    struct last_exit written = {.at_ns = 3, .wait_status = 11, .expected = true, .log = log};
    assert_ok(last_exit_write("le", &written, &err), err);
    assert_ok(last_exit_read(&last, "le", &err), err);
    assert_int_equal(last.at_ns, 3);
    assert_int_equal(last.wait_status, 11);
    assert_true(last.expected);
    assert_string_equal(last.log, "a\nb");
    // What a hypervisor prints need not be text.
    written.log = not_text;
    assert_ok(last_exit_write("le", &written, &err), err);
}

static enum machine_state ask(const char *name, bool *supervised)
{
    struct error err;
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    assert_ok(machine_ask(&now, name, &err), err);
    *supervised = now.supervised;
    return now.state;
}

static void the_locks_decide(void **state)
{
    (void)state;
    struct error err;
    bool supervised;
    make_folder("m");
    cleanup_free char *monitor_path = machine_path("m", MACHINE_MONITOR_LOCK);
    cleanup_free char *vm_path = machine_path("m", MACHINE_VM_LOCK);
    CLEANUP(lock_release) struct lock monitor = LOCK_INIT;
    CLEANUP(lock_release) struct lock vm = LOCK_INIT;

    // A status left by a monitor that was killed means nothing.
    publish("m", PHASE_READY, 12345);
    assert_int_equal(ask("m", &supervised), MACHINE_STOPPED);
    assert_false(supervised);

    assert_ok(lock_take(&monitor, monitor_path, 0, &err), err);
    assert_ok(lock_write_pid(&monitor, getpid(), &err), err);
    assert_int_equal(ask("m", &supervised), MACHINE_STARTING);
    assert_true(supervised);

    static const struct {
        enum phase phase;
        enum machine_state state;
    } rows[] = {
        {PHASE_STARTING, MACHINE_STARTING}, {PHASE_BOOTING, MACHINE_STARTING},
        {PHASE_SSH, MACHINE_STARTING},      {PHASE_PROVISIONING, MACHINE_STARTING},
        {PHASE_READY, MACHINE_RUNNING},     {PHASE_STOPPING, MACHINE_RUNNING},
        {PHASE_FAILED, MACHINE_RUNNING},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        publish("m", rows[i].phase, getpid());
        assert_int_equal(ask("m", &supervised), rows[i].state);
    }
    lock_release(&monitor);
    assert_int_equal(ask("m", &supervised), MACHINE_STOPPED);

    cleanup_free char *last_exit = machine_path("m", MACHINE_LAST_EXIT);
    put_text(last_exit, "not JSON");

    assert_ok(lock_take(&vm, vm_path, 0, &err), err);
    assert_int_equal(ask("m", &supervised), MACHINE_RUNNING);
    assert_false(supervised);
    assert_string_equal(machine_state_name(MACHINE_RUNNING), "running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_round_trip),
        cmocka_unit_test(last_exit_round_trip),
        cmocka_unit_test(the_locks_decide),
    };
    return cmocka_run_group_tests_name("state", tests, temp_home_setup, temp_home_teardown);
}
