// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/connection_conf.h"

static const struct connection box = {.machine = "a.b",
                                      .host = "127.0.0.1",
                                      .port = 2222,
                                      .user = "core",
                                      .uid = 501,
                                      .identity = "/home/Zo\xc3\xab \"x\\/id"};

// podman 4.3.1 and 5.4.2 read this as it is meant.
static void writes_toml(void **state)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "toml");
    cleanup_free char *file =
        xasprintf("%s/containers.conf.d/podman-machine-vmnet-a.b.conf", folder);
    cleanup_free char *inner = temp_path(state, "toml/containers.conf.d");
    struct stat st;
    mode_t before = umask(077);
    assert_ok(connection_conf_set(folder, &box, &err), err);
    umask(before);
    assert_return_code(stat(inner, &st), errno);
    assert_int_equal(st.st_mode & 07777, 0755);
    cleanup_free char *text = get_text(file);
    assert_non_null(strchr(text, '\n'));
    assert_string_equal(strchr(text, '\n') + 1,
                        "[engine.service_destinations.\"a.b\"]\n"
                        "uri = \"ssh://core@127.0.0.1:2222/run/user/501/podman/podman.sock\"\n"
                        "identity = \"/home/Zo\xc3\xab \\\"x\\\\/id\"\n\n"
                        "[engine.service_destinations.\"a.b-root\"]\n"
                        "uri = \"ssh://root@127.0.0.1:2222/run/podman/podman.sock\"\n"
                        "identity = \"/home/Zo\xc3\xab \\\"x\\\\/id\"\n\n");
}

static void removes_its_own_alone(void **state)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "remove");
    cleanup_free char *file =
        xasprintf("%s/containers.conf.d/podman-machine-vmnet-a.b.conf", folder);
    cleanup_free char *other = xasprintf("%s/containers.conf.d/mine.conf", folder);
    assert_ok(connection_conf_remove(folder, "a.b", &err), err);
    assert_ok(connection_conf_set(folder, &box, &err), err);
    put_text(other, "[engine]\n");
    assert_ok(connection_conf_remove(folder, "a.b", &err), err);
    assert_false(file_exists(file));
    assert_true(file_exists(other));
}

static void refuses_what_is_no_text(void **state)
{
    struct error err;
    struct connection wrong = box;
    cleanup_free char *folder = temp_path(state, "wrong");
    wrong.identity = "/\xff";
    assert_fails(connection_conf_set(folder, &wrong, &err), err, EINVAL, "not valid UTF-8");
    assert_false(file_exists(folder));
}

static void put_podman(void **state, const char *says)
{
    cleanup_free char *podman = temp_path(state, "bin/podman");
    cleanup_free char *script = xasprintf("#!/bin/sh\n%s\n", says);
    put_text(podman, script);
    assert_return_code(chmod(podman, 0755), errno);
}

static void is_for_podman_before_5(void **state)
{
    struct error err;
    cleanup_free char *bin = temp_path(state, "bin");
    assert_ok(file_make_dirs(bin, 0755, &err), err);
    cleanup_free char *before = xstrdup(getenv("PATH"));
    cleanup_free char *path = xasprintf("%s:/usr/bin:/bin", bin);
    setenv("PATH", path, 1);
    put_podman(state, "echo podman version 4.3.1");
    assert_true(connection_conf_is_wanted());
    put_podman(state, "echo podman version 5.0.0-rc1");
    assert_false(connection_conf_is_wanted());
    put_podman(state, "echo podman version 10.0.0");
    assert_false(connection_conf_is_wanted());
    put_podman(state, "exit 1");
    assert_false(connection_conf_is_wanted());
    setenv("PATH", bin, 1);
    cleanup_free char *podman = temp_path(state, "bin/podman");
    assert_return_code(unlink(podman), errno);
    assert_false(connection_conf_is_wanted());
    setenv("PATH", before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_toml),
        cmocka_unit_test(removes_its_own_alone),
        cmocka_unit_test(refuses_what_is_no_text),
        cmocka_unit_test(is_for_podman_before_5),
    };
    return cmocka_run_group_tests(tests, temp_home_setup, temp_home_teardown);
}
