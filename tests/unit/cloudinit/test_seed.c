// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "sample.h"

static void writes_a_volume(void **state)
{
    struct seed seed = sample_seed();
    cleanup_free char *path = temp_path(state, "cidata.iso");
    struct error err;
    assert_ok(seed_write(&seed, path, &err), err);
    assert_true(file_exists(path));
}

static void refuses(struct seed seed, const char *words)
{
    struct error err;
    assert_fails(seed_write(&seed, "/nowhere/cidata.iso", &err), err, EINVAL, words);
    if (strstr(err.message, "PRIVATE"))
        fail_msg("the private key is shown: %s", err.message);
}

static void refuses_what_cannot_be_used(void **state)
{
    (void)state;
    static const char *const no_server[] = {"1.1.1.1", "dns.example", NULL};
    struct seed seed;
#define REFUSES(field, value, words) \
    seed = sample_seed(), seed.field = (value), refuses(seed, words)
    REFUSES(user, "root", "user");
    REFUSES(user, "", "user");
    REFUSES(user, NULL, "user");
    REFUSES(user, "a b", "'a b'");
    REFUSES(user, "1core", "user");
    REFUSES(user, "abcdefghijklmnopqrstuvwxyz0123456", "user");
    REFUSES(uid, 0, "root's own");
    REFUSES(mac, "52:54:00:12:34", "MAC");
    REFUSES(mac, "52-54-00-12-34-56", "MAC");
    REFUSES(mac, "52:54:00:12:34:5g", "MAC");
    REFUSES(dns, no_server, "'dns.example'");
    REFUSES(timezone, "Europe/Zürich", "time zone");
    REFUSES(timezone, "../../etc/passwd", "time zone");
    REFUSES(timezone, "/etc/passwd", "time zone");
    REFUSES(timezone, "UTC'; reboot", "time zone");
    REFUSES(public_key, "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two", "SSH key");
    REFUSES(public_key, "ssh-ed25519 AAAA \x1b[1m", "SSH key");
    REFUSES(public_key, "ssh-ed25519 AAAA \xc2\x9b", "SSH key");
    REFUSES(public_key, "nonsense", "SSH key");
    REFUSES(host_key_public, "ssh-rsa AAAA", "SSH host key");
    REFUSES(host_key, NULL, "private host key");
    REFUSES(host_key, "", "private host key");
    REFUSES(host_key, "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "private host key");
    REFUSES(hostname, "", "host name");
    REFUSES(instance_id, "../x/y", "instance id");
    REFUSES(provider_name, "a'b", "provider");
    REFUSES(state_file, "state", "state file");
    REFUSES(state_file, "/var/lib/", "state file");
    seed = sample_seed(), seed.playbook = "- hosts: localhost\n", seed.playbook_file = "play book";
    refuses(seed, "playbook file");
    REFUSES(provision_program, "/usr/local/sbin/a b", "provisioning program");
#undef REFUSES
}

static void accepts_what_is_odd_but_right(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const zones[] = {
        NULL, "", "UTC", "Etc/GMT+5", "America/Port-au-Prince", "America/Argentina/Buenos_Aires"};
    struct error err;
    struct seed seed = sample_seed();
    seed.dns = none;
    seed.user = "_user-1";
    seed.uid = 1502938475;
    seed.public_key = "sk-ssh-ed25519@openssh.com AAAA '\"\\ \xe2\x82\xac \xf0\x9f\x90\xa7";
    for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
        seed.timezone = zones[i];
        assert_ok(seed_check(&seed, &err), err);
    }
}

static void refuses_vsock_paths_that_are_none(void **state)
{
    (void)state;
    struct error err;
    struct seed_vsock vsock = {
        .program = "/p", .api_root_socket = "/r", .api_user_socket = "/run/u'; reboot"};
    struct seed seed = sample_seed();
    seed.vsock = &vsock;
    assert_fails(seed_check(&seed, &err), err, EINVAL, "API socket");
    vsock.api_user_socket = "/u";
    assert_ok(seed_check(&seed, &err), err);
    vsock.program = "agent";
    assert_fails(seed_check(&seed, &err), err, EINVAL, "vsock program");
    vsock.program = "/p";
    vsock.token = "0123456789abcdef";
    assert_ok(seed_check(&seed, &err), err);
    static const char *const bad[] = {"", "ab'", "ab\n", "a b"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        vsock.token = bad[i];
        assert_fails(seed_check(&seed, &err), err, EINVAL, "the token of the vsock ports");
        assert_null(strstr(err.message, "ab"));
    }
}

static void derives_a_host_name(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"dev", "dev"},
        {"podman-machine-default", "podman-machine-default"},
        {"My_Box.1", "My-Box-1"},
        {"_dev_", "dev"},
        {"...", "podman-machine"},
        {"a--b", "a--b"},
        {"x123456789012345678901234567890123456789012345678901234567890._.toolong",
         "x123456789012345678901234567890123456789012345678901234567890"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *got = seed_hostname(names[i][0]);
        assert_string_equal(got, names[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_a_volume),
        cmocka_unit_test(refuses_what_cannot_be_used),
        cmocka_unit_test(accepts_what_is_odd_but_right),
        cmocka_unit_test(refuses_vsock_paths_that_are_none),
        cmocka_unit_test(derives_a_host_name),
    };
    return cmocka_run_group_tests_name("seed", tests, temp_home_setup, temp_home_teardown);
}
