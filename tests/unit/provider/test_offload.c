// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/machine.h"
#include "provider/offload.h"

struct row {
    enum network_offload wanted;
    unsigned macos_major, macos_minor;
    bool hypervisor;
    struct version helper;
    enum offload_bridge bridge;
    bool on;
    const char *says; // NULL: nothing
};

#define NEW      \
    {            \
        0, 13, 0 \
    }
#define FREE OFFLOAD_BRIDGE_FREE

static void plans(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {OFFLOAD_AUTO, 26, 2, true, NEW, FREE, true, NULL},
        {OFFLOAD_AUTO, 27, 0, true, {1, 0, 0}, FREE, true, NULL},
        {OFFLOAD_ON, 26, 2, true, NEW, FREE, true, NULL},
        {OFFLOAD_OFF, 26, 2, true, NEW, FREE, false, NULL},
        // What cannot be is not, and said only to those who asked for it.
        {OFFLOAD_AUTO, 26, 1, true, NEW, FREE, false, NULL},
        {OFFLOAD_ON, 26, 1, true, NEW, FREE, false, "before macOS 26.2"},
        {OFFLOAD_ON, 15, 7, true, NEW, FREE, false, "before macOS 26.2"},
        {OFFLOAD_AUTO, 26, 2, true, {0, 12, 9}, FREE, false, NULL},
        {OFFLOAD_ON, 26, 2, true, {0, 12, 9}, FREE, false, "vmnet-helper 0.13"},
        {OFFLOAD_ON, 26, 2, true, {0, 0, 0}, FREE, false, "vmnet-helper 0.13"},
        {OFFLOAD_AUTO, 26, 2, false, NEW, FREE, false, NULL},
        {OFFLOAD_ON, 26, 2, false, NEW, FREE, false, "this provider's network card"},
        // The bridge as the machines that run have it.
        {OFFLOAD_AUTO, 26, 2, true, NEW, OFFLOAD_BRIDGE_ON, true, NULL},
        {OFFLOAD_AUTO, 26, 2, true, NEW, OFFLOAD_BRIDGE_OFF, false, NULL},
        {OFFLOAD_ON, 26, 2, true, NEW, OFFLOAD_BRIDGE_OFF, false, "as it is for the other"},
        {OFFLOAD_OFF, 26, 2, true, NEW, OFFLOAD_BRIDGE_ON, false, "slow until they agree"},
        {OFFLOAD_AUTO, 26, 2, false, NEW, OFFLOAD_BRIDGE_ON, false, "slow until they agree"},
        {OFFLOAD_ON, 26, 2, false, NEW, OFFLOAD_BRIDGE_ON, false, "card cannot do it; other"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct offload_facts facts = {rows[i].macos_major, rows[i].macos_minor,
                                            rows[i].hypervisor, rows[i].helper, rows[i].bridge};
        cleanup_free char *notice = NULL;
        bool on = offload_plan(rows[i].wanted, &facts, &notice);
        if (on != rows[i].on || !notice != !rows[i].says ||
            (notice && !strstr(notice, rows[i].says)))
            fail_msg("row %zu: %d, '%s'", i, on, notice ? notice : "");
    }
}

static void put_machine(const char *name, const char *provider, const char *network,
                        const char *argv)
{
    struct error err;
    CLEANUP(machine_release)
    struct machine m = {
        .name = xstrdup(name),
        .provider = xstrdup(provider),
        .mac = xstrdup("52:54:00:00:00:01"),
        .instance_id = xstrdup("i"),
        .ssh = {.user = xstrdup("core"), .identity = xstrdup("/k")},
    };
    cleanup_free char *folder = machine_folder(name);
    cleanup_free char *path = machine_path(name, MACHINE_VM_ARGV);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_ok(network_options_parse(&m.network, network, &err), err);
    assert_ok(machine_save(&m, &err), err);
    put_text(path, argv);
}

static void run(const char *name, struct lock *lock)
{
    struct error err;
    cleanup_free char *path = machine_path(name, MACHINE_VM_LOCK);
    assert_ok(lock_take(lock, path, 0, &err), err);
}

static void asks_the_bridge(void **state)
{
    (void)state;
    char own[] = "own";
    const struct machine m = {.name = own};
    struct lock on = LOCK_INIT, off = LOCK_INIT, elsewhere = LOCK_INIT, other = LOCK_INIT;
    put_machine("own", "vmnet-krunkit", "shared", "vmnet-run -- krunkit");
    put_machine("on", "vmnet-krunkit", "shared", "vmnet-run --enable-tso -- krunkit");
    put_machine("off", "vmnet-vfkit", "shared", "vmnet-run -- vfkit");
    put_machine("elsewhere", "vmnet-vfkit", "bridged:en0", "vmnet-run -- vfkit");
    put_machine("other", "qemu", "shared", "qemu");
    assert_int_equal(offload_ask_bridge(&m), OFFLOAD_BRIDGE_FREE); // nobody runs
    run("own", &other);
    lock_release(&other);
    run("elsewhere", &elsewhere);
    run("other", &other);
    assert_int_equal(offload_ask_bridge(&m), OFFLOAD_BRIDGE_FREE);
    run("on", &on);
    assert_int_equal(offload_ask_bridge(&m), OFFLOAD_BRIDGE_ON);
    run("off", &off);
    assert_int_equal(offload_ask_bridge(&m), OFFLOAD_BRIDGE_OFF);
    lock_release(&on);
    lock_release(&off);
    lock_release(&elsewhere);
    lock_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),
        cmocka_unit_test(asks_the_bridge),
    };
    return cmocka_run_group_tests_name("offload", tests, temp_home_setup, temp_home_teardown);
}
