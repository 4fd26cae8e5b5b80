// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "provider/hypervisor.h"
#include "provider/machine.h"
#include "provider/preflight.h"
#include "provider/provider.h"

static void tool(void **state, const char *name, const char *script)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "bin");
    cleanup_free char *path = xasprintf("%s/%s", folder, name);
    cleanup_free char *text = xasprintf("#!/bin/sh\n%s\n", script);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, text);
    chmod(path, 0700);
    setenv("PATH", folder, 1);
}

static void macos_floors(void **state)
{
    struct error err;
    tool(state, "sysctl", "echo 1");
    setenv("PODMAN_MACHINE_VMNET_MACOS", "13.6", 1);
    assert_fails(preflight_host(&hypervisor_krunkit, &err), err, ENOTSUP,
                 "krunkit needs macOS 14 or later, and this is 13.6");
    assert_ok(preflight_host(&hypervisor_vfkit, &err), err);
    setenv("PODMAN_MACHINE_VMNET_MACOS", "12.7", 1);
    assert_fails(preflight_host(&hypervisor_vfkit, &err), err, ENOTSUP, "vfkit needs macOS 13");
    assert_ok(preflight_host(&hypervisor_qemu, &err), err);
    setenv("PODMAN_MACHINE_VMNET_MACOS", "14.0", 1);
    assert_ok(preflight_host(&hypervisor_krunkit, &err), err);
    unsetenv("PODMAN_MACHINE_VMNET_MACOS");
}

static void no_virtual_machines_in_this_one(void **state)
{
    struct error err;
    setenv("PODMAN_MACHINE_VMNET_MACOS", "26.2", 1);
    tool(state, "sysctl", "[ \"$*\" = '-n kern.hv_support' ] && echo 0");
    assert_fails(preflight_host(&hypervisor_krunkit, &err), err, ENOTSUP, "nested virtualization");
    assert_fails(preflight_host(&hypervisor_vfkit, &err), err, ENOTSUP, "kern.hv_support is 0");
    tool(state, "sysctl", "exit 1"); // an older macOS does not know it
    assert_ok(preflight_host(&hypervisor_vfkit, &err), err);
    unsetenv("PODMAN_MACHINE_VMNET_MACOS");
}

static void tools_have_floors(void **state)
{
    (void)state;
    struct error err;
    static const struct {
        const char *path;
        struct version version;
        const char *refused, *advice;
    } cases[] = {
        {"/x/krunkit", {0, 2, 2}, "krunkit 0.2.2, and 1.0 is the first", NULL},
        {"/x/krunkit", {1, 0, 0}, NULL, "1.2.1 or later is recommended: `brew upgrade krunkit`"},
        {"/x/krunkit", {1, 2, 1}, NULL, NULL},
        {"/x/krunkit", {0, 0, 0}, NULL, NULL}, // does not say
        {"/x/vfkit", {0, 4, 9}, "vfkit 0.4.9, and 0.5 is the first", NULL},
        {"/x/vfkit", {0, 6, 2}, NULL, "0.6.3 or later is recommended: `brew upgrade vfkit`"},
        {"/x/vmnet-run",
         {0, 11, 0},
         NULL,
         "0.12.0 or later is recommended: `brew upgrade vmnet-helper`"},
        {"/x/qemu-system-x86_64", {7, 2, 0}, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup_free char *advice = preflight_advice(cases[i].path, &cases[i].version);
        if (cases[i].refused) {
            assert_fails(preflight_tool(cases[i].path, &cases[i].version, &err), err, ENOTSUP,
                         cases[i].refused);
            continue;
        }
        assert_ok(preflight_tool(cases[i].path, &cases[i].version, &err), err);
        if (cases[i].advice)
            assert_string_equal(advice, cases[i].advice);
        else
            assert_null(advice);
    }
    assert_null(preflight_advice(NULL, &cases[0].version));
}

// What start warns of.
static void the_probe_tells_of_an_old_tool(void **state)
{
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    const struct machine m = {.name = (char[]){"m1"},
                              .mac = (char[]){"52:54:00:00:00:01"},
                              .resources = {.cpus = 1, .memory_mib = 512}};
    tool(state, "krunkit", "echo krunkit 1.1.1");
    tool(state, "vmnet-run", "echo version: v0.13.0");
    tool(state, "vmnet-helper", "");
    assert_ok(provider_probe(provider_find("vmnet-krunkit"), &m, &tools, &err), err);
    assert_non_null(tools.notice);
    assert_non_null(strstr(tools.notice, "/bin/krunkit' is old: 1.2.1 or later is recommended"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(macos_floors),
        cmocka_unit_test(no_virtual_machines_in_this_one),
        cmocka_unit_test(tools_have_floors),
        cmocka_unit_test(the_probe_tells_of_an_old_tool),
    };
    return cmocka_run_group_tests_name("preflight", tests, temp_home_setup, temp_home_teardown);
}
