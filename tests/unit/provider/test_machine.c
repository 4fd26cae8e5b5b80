// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/machine.h"

static void names_as_podman_takes_them(void **state)
{
    (void)state;
    struct error err;
    static const char *const good[] = {"a", "podman-machine-default", "9.b_c-D",
                                       "abcdefghijklmnopqrstuvwxyz0123"};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_ok(machine_check_name(good[i], &err), err);
    static const char *const bad[] = {"", "-a", ".a", "a/b", "a b", "\xc3\xa4", "a\n", "../x"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_fails(machine_check_name(bad[i], &err), err, EINVAL,
                     "names must match [a-zA-Z0-9][a-zA-Z0-9_.-]*: invalid argument");
    assert_fails(machine_check_name("abcdefghijklmnopqrstuvwxyz01234", &err), err, EINVAL,
                 "must be 30 characters or less");
    assert_fails(machine_check_name("LibKrun", &err), err, EINVAL,
                 "cannot use \"LibKrun\" for a machine name");
    assert_fails(machine_check_user("-/a", &err), err, EINVAL, "invalid username \"-/a\"");
}

static void fill(struct machine *m, const char *name)
{
    *m = (struct machine){
        .name = xstrdup(name),
        .provider = xstrdup("qemu"),
        .mac = xstrdup("52:54:00:00:00:01"),
        .instance_id = xstrdup("id-1"),
        .created_ns = 1796057317002920583,
        .resources = {.cpus = 2, .memory_mib = 2048, .disk_gib = 100},
        .image = {.source = xstrdup("https://x/y.qcow2"), .digest = xstrdup("00ff")},
        .ssh = {.user = xstrdup("core"), .uid = 501, .identity = xstrdup("/k e/y"), .port = 2222},
        .rootful = true,
        .timezone = xstrdup("Europe/Berlin"),
        .network = {.mode = NETWORK_BRIDGED, .name = xstrdup("en0"), .offload = OFFLOAD_OFF},
        .restart = true,
        .import_native_ca = true,
        .localhost_ports = true,
    };
    strvec_push(&m->dns, "1.1.1.1");
}

static void save(const char *name)
{
    struct error err;
    CLEANUP(machine_release) struct machine m;
    cleanup_free char *folder = machine_folder(name);
    fill(&m, name);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    assert_ok(machine_save(&m, &err), err);
}

static void round_trip(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    assert_false(machine_exists("rt"));
    assert_fails(machine_load(&m, "rt", &err), err, ENOENT, "rt: VM does not exist");
    save("rt");
    assert_true(machine_exists("rt"));
    assert_ok(machine_load(&m, "rt", &err), err);
    assert_string_equal(m.provider, "qemu");
    assert_string_equal(m.mac, "52:54:00:00:00:01");
    assert_string_equal(m.instance_id, "id-1");
    assert_int_equal(m.created_ns, 1796057317002920583);
    assert_int_equal(m.resources.disk_gib, 100);
    assert_string_equal(m.image.digest, "00ff");
    assert_string_equal(m.ssh.identity, "/k e/y");
    assert_int_equal(m.ssh.uid, 501);
    assert_int_equal(m.ssh.port, 2222);
    assert_true(m.rootful);
    assert_int_equal(m.network.mode, NETWORK_BRIDGED);
    assert_string_equal(m.network.name, "en0");
    assert_int_equal(m.network.offload, OFFLOAD_OFF);
    assert_true(m.restart);
    assert_true(m.import_native_ca);
    assert_true(m.localhost_ports);
    assert_string_equal(m.timezone, "Europe/Berlin");
    assert_int_equal(m.dns.count, 1);

    struct stat st;
    cleanup_free char *path = machine_path("rt", MACHINE_RECORD);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void odd_records_are_errors(void **state)
{
    (void)state;
    struct error err;
    struct machine m = MACHINE_INIT;
    save("odd");
    cleanup_free char *path = machine_path("odd", MACHINE_RECORD);
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "not valid JSON"},
        {"{}", "incompatible machine config"},
        {"{\"version\":2}", "incompatible machine config"},
        {"{\"version\":1}", "a field is missing"},
        {"{\"version\":1,\"name\":5}", "'name'"},
        {"{\"version\":1,\"name\":\"other\",\"provider\":\"qemu\",\"mac\":\"m\","
         "\"instance_id\":\"i\",\"ssh\":{\"user\":\"u\",\"identity\":\"/k\"}}",
         "is about \"other\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        put_text(path, rows[i].text);
        assert_fails(machine_load(&m, "odd", &err), err, EBADMSG, rows[i].says);
        assert_null(m.name);
    }
    assert_ok(machine_remove("odd", &err), err);
}

static void names_are_those_with_a_record(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    cleanup_free char *rubble = machine_folder("rubble");
    save("zz");
    save("aa");
    assert_ok(file_make_dirs(rubble, 0700, &err), err);
    assert_ok(machine_names(&names, &err), err);
    assert_true(names.count >= 2);
    assert_string_equal(names.items[0], "aa");
    assert_string_equal(names.items[names.count - 1], "zz");
    assert_false(strvec_contains(&names, "rubble"));
}

static void removal_takes_folder_and_sockets(void **state)
{
    (void)state;
    struct error err;
    save("gone");
    cleanup_free char *folder = machine_folder("gone");
    cleanup_free char *disk = machine_path("gone", MACHINE_DISK);
    put_text(disk, "x");
    assert_ok(machine_remove("gone", &err), err);
    assert_false(file_exists(folder));
    assert_ok(machine_remove("gone", &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_as_podman_takes_them),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(odd_records_are_errors),
        cmocka_unit_test(names_are_those_with_a_record),
        cmocka_unit_test(removal_takes_folder_and_sockets),
    };
    return cmocka_run_group_tests_name("machine", tests, temp_home_setup, temp_home_teardown);
}
