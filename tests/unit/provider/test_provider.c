// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/platform.h"
#include "provider/machine.h"
#include "provider/provider.h"

static char name[] = "my-vm", mac[] = "52:54:00:0b:0c:0d";

static const struct machine machine = {
    .name = name,
    .mac = mac,
    .resources = {.cpus = 2, .memory_mib = 2048, .disk_gib = 10},
    .ssh = {.port = 40022},
};

static void add_program(void **state, const char *program)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "bin");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    cleanup_free char *path = xasprintf("%s/%s", folder, program);
    put_text(path, "#!/bin/sh\nexit 1\n");
    chmod(path, 0700);
    setenv("PATH", folder, 1);
}

static void rows(void **state)
{
    (void)state;
    unsigned count = 0, native = 0;
    for (const struct provider *row; (row = provider_at(count)); count++) {
        assert_ptr_equal(provider_find(row->name), row);
        assert_non_null(row->hypervisor->probe);
        assert_non_null(row->hypervisor->power_off);
        assert_non_null(row->network->ways->find);
        native += provider_is_native(row);
    }
    assert_int_equal(count, 3);
    assert_true(native > 0);
    assert_null(provider_find("QEMU"));
    assert_null(provider_find("libkrun"));
    assert_true(provider_is_native(provider_find(platform_default_provider)));
    assert_true(provider_find("vmnet-krunkit")->rootful_default);
    assert_false(provider_find("qemu")->rootful_default);
    assert_false(provider_find("qemu")->agent_vsock);
}

static void missing_tools_are_named(void **state)
{
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    setenv("PATH", *state, 1);
    assert_fails(provider_probe(provider_find("vmnet-vfkit"), &machine, &tools, &err), err, ENOENT,
                 "brew install vfkit");
    assert_fails(provider_probe(provider_find("vmnet-krunkit"), &machine, &tools, &err), err,
                 ENOENT, "brew install krunkit");
    add_program(state, "krunkit");
    assert_fails(provider_probe(provider_find("vmnet-krunkit"), &machine, &tools, &err), err,
                 ENOENT, "brew install vmnet-helper");
    add_program(state, "vmnet-run");
    assert_fails(provider_probe(provider_find("vmnet-krunkit"), &machine, &tools, &err), err,
                 ENOENT, "no vmnet-helper beside it");
    assert_null(tools.hypervisor);
}

static void probe_and_command(void **state)
{
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    add_program(state, "krunkit");
    add_program(state, "vmnet-run");
    add_program(state, "vmnet-helper");
    cleanup_free char *data = temp_path(state, "a,b");
    setenv("XDG_DATA_HOME", data, 1);
    const struct provider *provider = provider_find("vmnet-krunkit");
    assert_ok(provider_probe(provider, &machine, &tools, &err), err);
    assert_null(strchr(tools.folder, ','));
    assert_ok(provider_command(provider, &machine, &tools, &argv, &err), err);
    cleanup_free char *run = temp_path(state, "bin/vmnet-run");
    assert_string_equal(argv.items[0], run);
    unsetenv("XDG_DATA_HOME");
}

static void a_machine_that_is_too_large(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    struct machine large = machine;
    large.resources.memory_mib = 65536;
    assert_fails(provider_probe(provider_find("vmnet-krunkit"), &large, &tools, &err), err, EINVAL,
                 "65536 MiB of memory");
}

static void a_living_vm_is_in_the_way(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    cleanup_free char *path = machine_path(name, MACHINE_CONTROL_SOCKET);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_fails(provider_probe(provider_find("vmnet-krunkit"), &machine, &tools, &err), err, EBUSY,
                 "a VM is listening");
    close(steal_fd(&fd));
    assert_ok(provider_probe(provider_find("vmnet-krunkit"), &machine, &tools, &err), err);
}

static void user_address(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(strvec_release) struct strvec hosts = STRVEC_INIT;
    unsigned port;
    assert_ok(network_user.ways->find(&machine, &hosts, &port, &err), err);
    assert_int_equal(hosts.count, 1);
    assert_string_equal(hosts.items[0], "127.0.0.1");
    assert_int_equal(port, 40022);
    struct machine fresh = machine;
    fresh.ssh.port = 0;
    assert_fails(network_user.ways->find(&fresh, &hosts, &port, &err), err, ENOENT, "no ssh port");
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    struct network_port plug = {.offload = true};
    const struct tools none = TOOLS_INIT;
    assert_fails(network_user.append(&fresh, &none, &argv, &plug, &err), err, EINVAL,
                 "no ssh port");
    assert_ok(network_user.append(&machine, &none, &argv, &plug, &err), err);
    assert_false(plug.offload);
    assert_int_equal(plug.fd, -1);
}

static const struct way *find_way(const struct network *network, const char *wanted)
{
    const struct way *way = network->ways;
    while (strcmp(way->name, wanted) != 0)
        way++;
    return way;
}

// The guest's own word beats bootpd's, and that beats a name that anybody can answer for.
static void vmnet_ways_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"relay", "report", "lease", "mDNS"};
    const struct way *way = network_vmnet.ways;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++, way++) {
        assert_string_equal(way->name, names[i]);
        assert_int_equal(way->local, i == 0);
    }
    assert_null(way->find);
}

static void vmnet_address(void **state)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec hosts = STRVEC_INIT;
    unsigned port;
    cleanup_free char *leases = temp_path(state, "leases");
    cleanup_free char *text = xasprintf("{\n\tip_address=192.168.64.5\n"
                                        "\thw_address=1,52:54:0:b:c:d\n\tlease=0x%llx\n}\n",
                                        (unsigned long long)(clock_wall_ns() / 1000000000 + 60));
    setenv("PODMAN_MACHINE_VMNET_LEASES", leases, 1);
    const struct way *way = find_way(&network_vmnet, "lease");
    assert_fails(way->find(&machine, &hosts, &port, &err), err, ENOENT, "leases");
    put_text(leases, text);
    assert_ok(way->find(&machine, &hosts, &port, &err), err);
    assert_int_equal(hosts.count, 1);
    assert_string_equal(hosts.items[0], "192.168.64.5");
    assert_int_equal(port, 22);
}

static void a_relative_wrapper_is_refused(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    struct network_port plug = {.fd = -1};
    char relative[] = "vmnet-run";
    const struct tools tools = {.network = relative};
    assert_fails(network_vmnet.append(&machine, &tools, &argv, &plug, &err), err, EINVAL,
                 "absolute path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(missing_tools_are_named),
        cmocka_unit_test(probe_and_command),
        cmocka_unit_test(a_machine_that_is_too_large),
        cmocka_unit_test(a_living_vm_is_in_the_way),
        cmocka_unit_test(user_address),
        cmocka_unit_test(vmnet_ways_in_order),
        cmocka_unit_test(vmnet_address),
        cmocka_unit_test(a_relative_wrapper_is_refused),
    };
    return cmocka_run_group_tests_name("provider", tests, temp_home_setup, temp_home_teardown);
}
