// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "provider/machine.h"
#include "provider/paths.h"

static void assert_path(char *path, const char *home, const char *wanted)
{
    cleanup_free char *owned = path;
    cleanup_free char *full = xasprintf("%s/%s", home, wanted);
    assert_string_equal(owned, full);
}

static void defaults_below_home(void **state)
{
    assert_path(paths_data(), *state, ".local/share/podman-machine-vmnet");
    assert_path(paths_image_cache(), *state, ".cache/podman-machine-vmnet/images");
    assert_path(paths_machines(), *state, ".local/share/podman-machine-vmnet/machines");
    assert_path(paths_connections(), *state, ".config/containers/podman-connections.json");
    assert_path(paths_known_hosts(), *state, ".ssh/known_hosts");
}

static void xdg_variables_move_them(void **state)
{
    setenv("XDG_DATA_HOME", "/data", 1);
    cleanup_free char *data = paths_data();
    assert_string_equal(data, "/data/podman-machine-vmnet");
    setenv("XDG_DATA_HOME", "relative", 1);
    assert_path(paths_data(), *state, ".local/share/podman-machine-vmnet");
    setenv("XDG_DATA_HOME", "", 1);
    assert_path(paths_data(), *state, ".local/share/podman-machine-vmnet");
    unsetenv("XDG_DATA_HOME");
    setenv("PODMAN_CONNECTIONS_CONF", "/c/x.json", 1);
    cleanup_free char *connections = paths_connections();
    assert_string_equal(connections, "/c/x.json");
    unsetenv("PODMAN_CONNECTIONS_CONF");
}

static void socket_paths_fit(void **state)
{
    struct error err;
    cleanup_free char *saved = xstrdup(getenv("XDG_RUNTIME_DIR"));
    assert_path(machine_path("m", MACHINE_API_SOCKET), *state, "run/podman/m-api.sock");
    assert_ok(paths_make_runtime(&err), err);

    char longer[200];
    memset(longer, 'l', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    setenv("XDG_RUNTIME_DIR", longer, 1);
    cleanup_free char *path =
        machine_path("abcdefghijklmnopqrstuvwxyz0123", MACHINE_CONTROL_SOCKET);
    assert_true(strlen(path) <= 103);
    setenv("XDG_RUNTIME_DIR", saved, 1);
}

static void a_runtime_folder_of_others_is_refused(void **state)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "run/podman");
    assert_ok(paths_make_runtime(&err), err);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_fails(paths_make_runtime(&err), err, EPERM, "not ours alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_below_home),
        cmocka_unit_test(xdg_variables_move_them),
        cmocka_unit_test(socket_paths_fit),
        cmocka_unit_test(a_runtime_folder_of_others_is_refused),
    };
    return cmocka_run_group_tests_name("paths", tests, temp_home_setup, temp_home_teardown);
}
