// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cloudinit/agent.h"
#include "cloudinit/documents.h"
#include "cloudinit/pack.h"
#include "sample.h"

static json_t *parse(const char *text)
{
    json_error_t where;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        fail_msg("line %d: %s in %s", where.line, where.text, text);
    return root;
}

static json_t *parse_user_data(const struct seed *seed)
{
    static const char header[] = "#cloud-config\n";
    struct error err;
    cleanup_free char *text = NULL;
    assert_ok(document_user_data(seed, &text, &err), err);
    assert_memory_equal(text, header, strlen(header));
    return parse(text + strlen(header));
}

static const char *text_at(const json_t *value, const char *key)
{
    const char *text = json_string_value(json_object_get(value, key));
    if (!text)
        fail_msg("there is no text '%s'", key);
    return text;
}

static void assert_json(const char *text, const char *wanted)
{
    cleanup_json json_t *got = parse(text), *expected = parse(wanted);
    if (!json_equal(got, expected))
        fail_msg("%s\nis not\n%s", text, wanted);
}

static void meta_data_names_the_instance(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    seed.hostname = "my_box.1";
    struct error err;
    cleanup_free char *text = NULL;
    assert_ok(document_meta_data(&seed, &text, &err), err);
    assert_json(text, "{\"instance-id\": \"5f3c6f0e-1111-4222-8333-944445555666\","
                      " \"local-hostname\": \"my-box-1\"}");
}

static void network_config_matches_the_address(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    struct error err;
    cleanup_free char *plain = NULL, *with_dns = NULL;
    assert_ok(document_network_config(&seed, &plain, &err), err);
    assert_json(plain, "{\"version\": 2, \"ethernets\": {\"eth0\": {"
                       "\"match\": {\"macaddress\": \"52:54:00:ab:cd:ef\"},"
                       "\"dhcp4\": true, \"dhcp-identifier\": \"mac\"}}}");

    static const char *const servers[] = {"1.1.1.1", "2606:4700::1111", NULL};
    seed.dns = servers;
    assert_ok(document_network_config(&seed, &with_dns, &err), err);
    assert_json(with_dns,
                "{\"version\": 2, \"ethernets\": {\"eth0\": {"
                "\"match\": {\"macaddress\": \"52:54:00:ab:cd:ef\"},"
                "\"dhcp4\": true, \"dhcp-identifier\": \"mac\","
                "\"nameservers\": {\"addresses\": [\"1.1.1.1\", \"2606:4700::1111\"]}}}}");
}

static void user_data_makes_the_users(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    cleanup_json json_t *root = parse_user_data(&seed);
    assert_true(json_is_false(json_object_get(root, "disable_root")));

    const json_t *users = json_object_get(root, "users");
    assert_int_equal(json_array_size(users), 2);
    static const char *const names[] = {"root", "core"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *user = json_array_get(users, i);
        assert_string_equal(text_at(user, "name"), names[i]);
        const json_t *keys = json_object_get(user, "ssh_authorized_keys");
        assert_int_equal(json_array_size(keys), 1);
        assert_string_equal(json_string_value(json_array_get(keys, 0)), seed.public_key);
    }
    const json_t *core = json_array_get(users, 1);
    assert_int_equal(json_integer_value(json_object_get(core, "uid")), 501);
    assert_string_equal(text_at(core, "shell"), "/bin/bash");
    assert_string_equal(text_at(core, "sudo"), "ALL=(ALL) NOPASSWD:ALL");
    assert_true(json_is_true(json_object_get(core, "lock_passwd")));
}

static void user_data_pins_the_host_key(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    cleanup_json json_t *root = parse_user_data(&seed);
    assert_true(json_is_true(json_object_get(root, "ssh_deletekeys")));
    const json_t *keys = json_object_get(root, "ssh_keys");
    assert_int_equal(json_object_size(keys), 2);
    cleanup_free char *ended = xasprintf("%s\n", seed.host_key);
    assert_string_equal(text_at(keys, "ed25519_private"), ended);
    assert_string_equal(text_at(keys, "ed25519_public"), seed.host_key_public);

    // A newline that is there is not doubled.
    seed.host_key = ended;
    cleanup_json json_t *again = parse_user_data(&seed);
    assert_true(json_equal(root, again));
}

static void user_data_sets_no_password(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    cleanup_json json_t *root = parse_user_data(&seed);
    static const char *const unwanted[] = {"password", "chpasswd", "ssh_pwauth", "packages"};
    for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
        assert_null(json_object_get(root, unwanted[i]));
    const json_t *core = json_array_get(json_object_get(root, "users"), 1);
    assert_null(json_object_get(core, "passwd"));
    assert_null(json_object_get(core, "plain_text_passwd"));

    const json_t *sshd = json_array_get(json_object_get(root, "write_files"), 1);
    assert_string_equal(text_at(sshd, "path"),
                        "/etc/ssh/sshd_config.d/00-podman-machine-vmnet.conf");
    assert_non_null(strstr(text_at(sshd, "content"), "PasswordAuthentication no\n"));
    assert_non_null(strstr(text_at(sshd, "content"), "PermitRootLogin prohibit-password\n"));
    assert_non_null(strstr(text_at(sshd, "content"), "AllowStreamLocalForwarding yes\n"));
    assert_non_null(strstr(text_at(sshd, "content"), "AllowTcpForwarding yes\n"));
}

static void user_data_carries_the_program_and_starts_it(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    cleanup_json json_t *root = parse_user_data(&seed);
    const json_t *program = json_array_get(json_object_get(root, "write_files"), 0);
    assert_string_equal(text_at(program, "path"), seed.provision_program);
    assert_string_equal(text_at(program, "permissions"), "0755");
    assert_string_equal(text_at(program, "encoding"), "gz+b64");
    const char *content = text_at(program, "content");
    assert_memory_equal(content, "H4sI", 4); // gzip's magic bytes and deflate
    assert_null(strpbrk(content, "\n\r "));

    const json_t *commands = json_object_get(root, "bootcmd");
    assert_int_equal(json_array_size(commands), 1);
    const char *command = json_string_value(json_array_get(commands, 0));
    assert_non_null(
        strstr(command, "\nExecStart=/usr/local/sbin/podman-machine-vmnet-provision\n"));
    assert_non_null(strstr(command, "read -r line </var/lib/podman-machine-vmnet/state"));
    assert_non_null(strstr(command, "systemctl start --no-block podman-machine-vmnet-provision"));
}

static const struct seed_vsock vsock = {
    .program = "/usr/local/sbin/podman-machine-vmnet-agent",
    .report = 5100,
    .ssh = 5101,
    .api_root = 5102,
    .api_user = 5103,
    .control = 5104,
    .api_root_socket = "/run/podman/podman.sock",
    .api_user_socket = "/run/user/501/podman/podman.sock",
};

static void user_data_carries_the_agent_where_there_is_vsock(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    cleanup_json json_t *without = parse_user_data(&seed);
    assert_int_equal(json_array_size(json_object_get(without, "write_files")), 2);
    seed.vsock = &vsock;
    cleanup_json json_t *root = parse_user_data(&seed);
    const json_t *program = json_array_get(json_object_get(root, "write_files"), 2);
    assert_string_equal(text_at(program, "path"), vsock.program);
    assert_string_equal(text_at(program, "permissions"), "0700");
    cleanup_free char *script = agent_script(&seed);
    assert_int_equal(strncmp(script, "#!/usr/bin/python3 -I\n", 22), 0);
    assert_non_null(strstr(script, "\nMAC = '52:54:00:ab:cd:ef'\n"));
    assert_non_null(strstr(script, "\nAPI_USER_PORT = 5103\n"));
    assert_non_null(strstr(script, "\nAPI_USER_SOCKET = '/run/user/501/podman/podman.sock'\n"));
    assert_non_null(strstr(script, "\nTOKEN = ''\n"));

    struct seed_vsock open_to_all = vsock;
    open_to_all.token = "0123abcd";
    open_to_all.report = 0;
    seed.vsock = &open_to_all;
    cleanup_free char *careful = agent_script(&seed);
    assert_non_null(strstr(careful, "\nTOKEN = '0123abcd'\n"));
    assert_non_null(strstr(careful, "\nREPORT_PORT = 0\n"));
}

static void user_data_carries_a_playbook(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    struct error err;
    cleanup_free char *packed = NULL;
    seed.playbook = "- hosts: localhost # \xe2\x82\xac, \"'\\ \xff\n";
    seed.playbook_file = "/var/lib/podman-machine-vmnet/playbook.yaml";
    assert_ok(pack_text(seed.playbook, &packed, &err), err);
    cleanup_json json_t *root = parse_user_data(&seed);
    const json_t *file = json_array_get(json_object_get(root, "write_files"), 2);
    assert_string_equal(text_at(file, "path"), seed.playbook_file);
    assert_string_equal(text_at(file, "permissions"), "0600");
    assert_string_equal(text_at(file, "encoding"), "gz+b64");
    assert_string_equal(text_at(file, "content"), packed);
}

static void refuses_what_is_not_utf8(void **state)
{
    (void)state;
    struct seed seed = sample_seed();
    seed.public_key = "ssh-ed25519 AAAA \xff";
    char *text = NULL;
    struct error err;
    assert_fails(document_user_data(&seed, &text, &err), err, EINVAL, "not valid UTF-8");
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meta_data_names_the_instance),
        cmocka_unit_test(network_config_matches_the_address),
        cmocka_unit_test(user_data_makes_the_users),
        cmocka_unit_test(user_data_pins_the_host_key),
        cmocka_unit_test(user_data_sets_no_password),
        cmocka_unit_test(user_data_carries_the_program_and_starts_it),
        cmocka_unit_test(user_data_carries_the_agent_where_there_is_vsock),
        cmocka_unit_test(user_data_carries_a_playbook),
        cmocka_unit_test(refuses_what_is_not_utf8),
    };
    return cmocka_run_group_tests_name("documents", tests, NULL, NULL);
}
