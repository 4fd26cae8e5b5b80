// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/cmd/program.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/connection.h"
#include "provider/paths.h"
#include "provider/status.h"

static const int64_t hour_ns = 3600000000000;
static const int64_t created_ns = 1793678706002920583; // 2026-11-03T04:05:06.002920583Z

// Makes the machine look alive: this test holds its monitor's lock.
static void hold_monitor(struct lock *lock, const char *name, enum phase phase)
{
    struct error err;
    struct status status = {.phase = phase, .changed_ns = created_ns, .monitor_pid = getpid()};
    cleanup_free char *path = machine_path(name, MACHINE_MONITOR_LOCK);
    assert_ok(lock_take(lock, path, 0, &err), err);
    assert_ok(lock_write_pid(lock, getpid(), &err), err);
    assert_ok(status_write(name, &status, &err), err);
}

static void put_last_up(const char *name, int64_t at_ns)
{
    struct error err;
    struct last_exit last = {.at_ns = at_ns, .expected = true};
    assert_ok(last_exit_write(name, &last, &err), err);
}

static void put_connection(const char *machine, const char *host, unsigned port, bool rootful)
{
    struct error err;
    cleanup_free char *file = paths_connections();
    cleanup_free char *folder = xstrdup(file);
    *strrchr(folder, '/') = '\0';
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    struct connection connection = {machine, host, port, "core", 1000, "/key", rootful};
    assert_ok(connection_add(file, &connection, &err), err);
}

static void empty(void **state)
{
    program_gives(state, "list", 0,
                  "NAME        VM TYPE     CREATED     LAST UP     CPUS        MEMORY      "
                  "DISK SIZE\n",
                  "");
    program_gives(state, "list -n", 0, "", "");
    program_gives(state, "list -q", 0, "", "");
    program_gives(state, "list --format json", 0, "[]", "");
    program_gives(state, "list --format {{.Nope}}", 0, "", "");
}

static void json(void **state)
{
    put_machine("box", "vmnet-krunkit", created_ns, 0);
    put_last_up("box", created_ns);
    put_connection("box", "192.168.105.7", 22, true);
    static const char wanted[] = "[\n"
                                 "    {\n"
                                 "        \"Name\": \"box\",\n"
                                 "        \"Default\": true,\n"
                                 "        \"Created\": \"2026-11-03T04:05:06.002920583Z\",\n"
                                 "        \"Running\": false,\n"
                                 "        \"Starting\": false,\n"
                                 "        \"LastUp\": \"2026-11-03T04:05:06.002920583Z\",\n"
                                 "        \"Stream\": \"default\",\n"
                                 "        \"VMType\": \"libkrun\",\n"
                                 "        \"CPUs\": 4,\n"
                                 "        \"Memory\": \"2147483648\",\n"
                                 "        \"Swap\": \"0\",\n"
                                 "        \"DiskSize\": \"107374182400\",\n"
                                 "        \"Port\": 0,\n"
                                 "        \"RemoteUsername\": \"core\",\n"
                                 "        \"IdentityPath\": \"/keys/\\u003cmachine\\u003e\",\n"
                                 "        \"UserModeNetworking\": false\n"
                                 "    }\n"
                                 "]";
    program_gives(state, "list --format json --all-providers", 0, wanted, "");
    program_gives(state, "ls --format '{{ json }}'", 0, wanted, "");
}

static void table_and_order(void **state)
{
    int64_t now_ns = clock_wall_ns();
    put_machine("alpha", "vmnet-vfkit", now_ns - 3 * hour_ns, 0);
    put_machine("beta", "qemu", now_ns - 24 * 21 * hour_ns, 40001);
    put_machine("gamma", "qemu", now_ns - 2 * hour_ns, 40002);
    put_machine("zeta", "qemu", now_ns - 2 * hour_ns, 40003);
    put_last_up("beta", now_ns - 2 * hour_ns);
    put_last_up("alpha", now_ns - 5 * hour_ns);
    put_connection("gamma", "127.0.0.1", 40002, false);
    struct lock running, starting;
    hold_monitor(&running, "zeta", PHASE_READY);
    hold_monitor(&starting, "gamma", PHASE_BOOTING);

    program_gives(
        state, "list", 0,
        "NAME        VM TYPE     CREATED      LAST UP             CPUS        MEMORY      DISK "
        "SIZE\n"
        "gamma*      qemu        2 hours ago  Currently starting  4           2GiB        100GiB\n"
        "zeta        qemu        2 hours ago  Currently running   4           2GiB        100GiB\n"
        "beta        qemu        3 weeks ago  2 hours ago         4           2GiB        100GiB\n"
        "alpha       applehv     3 hours ago  5 hours ago         4           2GiB        100GiB\n",
        "");
    program_gives(state, "list -q", 0, "gamma*\nzeta\nbeta\nalpha\n", "");
    program_gives(state, "list -qn", 0, "gamma*\nzeta\nbeta\nalpha\n", "");
    program_gives(state, "list -q --format {{.CPUs}}", 0, "4\n4\n4\n4\n", "");
    program_gives(state, "list --format '{{.Memory}} {{.DiskSize}} {{.Swap}}{{.Port}}'", 0,
                  "2GiB 100GiB 0B0\n2GiB 100GiB 0B0\n2GiB 100GiB 0B0\n2GiB 100GiB 0B0\n", "");
    program_gives(state, "list --format '{{.Running}} {{.Starting}} {{.Default}}'", 0,
                  "false true true\ntrue false false\nfalse false false\nfalse false false\n", "");
    program_gives(state, "list --format 'table {{.Name}} {{.Default}} {{.UserModeNetworking}}'", 0,
                  "NAME        DEFAULT     USER MODE NETWORKING\n"
                  "gamma*      true        false\n"
                  "zeta        false       false\n"
                  "beta        false       false\n"
                  "alpha       false       false\n",
                  "");
    program_gives(state, "list --noheading --format 'table {{.Name}} {{.CPUs}}'", 0,
                  "gamma*      4\nzeta        4\nbeta        4\nalpha       4\n", "");
    program_gives(state, "list --format '{{.Abcde}}'", 125, "",
                  "Error: template: list:1:13: executing \"list\" at <.Abcde>: can't evaluate "
                  "field Abcde in type *entities.ListReporter\n");
    lock_release(&running);
    lock_release(&starting);
}

// The connection of a stranger that has our machine's name.
static void another_port_is_not_ours(void **state)
{
    put_machine("box", "qemu", created_ns, 40001);
    put_connection("box", "127.0.0.1", 400, false);
    program_gives(state, "list --format '{{.Name}} {{.Default}}'", 0, "box false\n", "");
}

static void a_broken_record_hides_no_other(void **state)
{
    put_machine("good", "qemu", created_ns, 40001);
    put_machine("bad", "qemu", created_ns, 40002);
    cleanup_free char *record = machine_path("bad", MACHINE_RECORD);
    put_text(record, "{\"version\": 0}");
    CLEANUP(outcome_release) struct outcome outcome = program_run(state, "list -q");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.out, "good\n");
    assert_non_null(strstr(outcome.errors, "level=error msg=\""));
    assert_non_null(strstr(outcome.errors, "incompatible machine config"));
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, temp_home_setup, temp_home_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(empty),
        FRESH(json),
        FRESH(table_and_order),
        FRESH(another_port_is_not_ours),
        FRESH(a_broken_record_hides_no_other),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
