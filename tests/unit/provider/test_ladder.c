// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/ladder.h"
#include "provider/machine.h"

// As a guest with much to stop.
static void power_off_slowly(int number)
{
    (void)number;
    sleep(12);
    _exit(0);
}

// A VM for the ladder: a process in a group of its own that holds vm.lock. What it does with
// SIGTERM is the test's choice; SIGUSR2 is its power button.
static pid_t start_vm(const char *name, bool ignores_sigterm)
{
    struct error err;
    cleanup_free char *folder = machine_folder(name);
    cleanup_free char *path = machine_path(name, MACHINE_VM_LOCK);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    assert_ok(lock_take(&lock, path, 0, &err), err);
    if (ignores_sigterm)
        signal(SIGTERM, SIG_IGN); // before it exists: it must not be signalled too early
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        for (;;)
            pause();
    }
    signal(SIGTERM, SIG_DFL);
    setpgid(pid, pid);
    assert_ok(lock_write_pid(&lock, pid, &err), err);
    return pid;
}

// The signal that ended it.
static int signal_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return WTERMSIG(status); // macOS takes the variable's address here
}

static int no_address(const struct machine *m, struct strvec *hosts, unsigned *port,
                      struct error *err)
{
    (void)m;
    (void)hosts;
    (void)port;
    return error_set(err, ENOENT, "no address");
}

static int press_button(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_VM_LOCK);
    if (kill(lock_read_pid(path), SIGUSR2) < 0)
        return error_errno(err, "no button");
    return 0;
}

static int no_button(const struct machine *m, struct error *err)
{
    (void)m;
    return error_set(err, ECONNREFUSED, "no button");
}

static const struct way ways[] = {{.name = "none", .find = no_address}, {.name = NULL}};
static const struct network network = {.name = "none", .ways = ways};
static const struct hypervisor with_button = {.name = "b", .power_off = press_button};
static const struct hypervisor without_button = {.name = "n", .power_off = no_button};

static int climb(const char *name, const struct hypervisor *hypervisor, bool hard,
                 struct error *err)
{
    char copy[32];
    strcpy(copy, name);
    const struct machine m = {.name = copy};
    const struct provider provider = {.name = "p", .hypervisor = hypervisor, .network = &network};
    const struct ladder ladder = {.m = &m, .provider = &provider, .hard = hard, .booted = true};
    return ladder_run(&ladder, err);
}

static void nothing_to_do_for_a_stopped_one(void **state)
{
    (void)state;
    struct error err;
    assert_ok(climb("stopped", &without_button, false, &err), err);
}

static void the_button_is_pressed_when_the_guest_cannot_be_asked(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = start_vm("button", true);
    assert_ok(climb("button", &with_button, false, &err), err);
    assert_int_equal(signal_of(pid), SIGUSR2);
}

static void sigterm_when_there_is_no_button(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = start_vm("term", false);
    assert_ok(climb("term", &without_button, false, &err), err);
    assert_int_equal(signal_of(pid), SIGTERM);
}

static void hard_does_not_touch_the_button(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = start_vm("hard", false);
    assert_ok(climb("hard", &with_button, true, &err), err);
    assert_int_equal(signal_of(pid), SIGTERM);
}

static void a_slow_guest_is_waited_for(void **state)
{
    (void)state;
    struct error err;
    int status = 0;
    signal(SIGUSR2, power_off_slowly);
    pid_t pid = start_vm("slow", false);
    signal(SIGUSR2, SIG_DFL);
    assert_ok(climb("slow", &with_button, false, &err), err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status)); // by itself: nothing was sent to it
}

static void sigkill_for_one_that_ignores_sigterm(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = start_vm("kill", true);
    int64_t before = clock_monotonic_ms();
    assert_ok(climb("kill", &with_button, true, &err), err);
    assert_int_equal(signal_of(pid), SIGKILL);
    assert_true(clock_monotonic_ms() - before >= 9000); // SIGTERM got its time first
}

// After a reboot the id in the lock file may be anybody's: without the lock it is not touched.
static void a_stale_id_is_not_signalled(void **state)
{
    (void)state;
    struct error err;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    cleanup_free char *folder = machine_folder("stale");
    cleanup_free char *path = machine_path("stale", MACHINE_VM_LOCK);
    cleanup_free char *text = xasprintf("%ld\n", (long)pid);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, text);
    assert_ok(climb("stale", &with_button, true, &err), err);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    kill(pid, SIGKILL);
    assert_int_equal(signal_of(pid), SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do_for_a_stopped_one),
        cmocka_unit_test(the_button_is_pressed_when_the_guest_cannot_be_asked),
        cmocka_unit_test(sigterm_when_there_is_no_button),
        cmocka_unit_test(hard_does_not_touch_the_button),
        cmocka_unit_test(a_slow_guest_is_waited_for),
        cmocka_unit_test(sigkill_for_one_that_ignores_sigterm),
        cmocka_unit_test(a_stale_id_is_not_signalled),
    };
    return cmocka_run_group_tests_name("ladder", tests, temp_home_setup, temp_home_teardown);
}
