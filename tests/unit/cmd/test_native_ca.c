// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "cmd/native_ca.h"

#define PEM(text) "-----BEGIN CERTIFICATE-----\n" text "\n-----END CERTIFICATE-----\n"

// The script's text in a guest that is a folder of the test's.
static char *moved(const char *guest)
{
    static const char *const tops[] = {"/etc/", "/var/lib/", "/usr/local/", "/run/"};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    for (const char *at = native_ca_script; *at; at++) {
        bool word = at == native_ca_script || strchr("= \n", at[-1]);
        for (size_t i = 0; word && i < ARRAY_SIZE(tops); i++)
            if (strncmp(at, tops[i], strlen(tops[i])) == 0)
                strbuf_adds(&out, guest);
        strbuf_addc(&out, *at);
    }
    return strbuf_steal(&out);
}

static void put_program(void **state, const char *name, const char *more)
{
    struct error err;
    const char *home = *state;
    cleanup_free char *folder = temp_path(state, "bin");
    cleanup_free char *path = xasprintf("%s/%s", folder, name);
    cleanup_free char *text =
        xasprintf("#!/bin/sh\necho %s \"$*\" >>%s/calls\n%s", name, home, more);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, text);
    assert_int_equal(chmod(path, 0700), 0);
}

// What was called; the exit status is to be `wanted`.
static char *give(void **state, const char *pem, int wanted)
{
    const char *home = *state;
    cleanup_free char *script = moved(home), *input = temp_path(state, "input"),
                      *calls = temp_path(state, "calls");
    cleanup_free char *path = xasprintf("%s/bin:/usr/bin:/bin", home);
    put_text(input, pem);
    put_text(calls, "");
    pid_t child = fork();
    if (child == 0) {
        setenv("PATH", path, 1);
        if (!freopen(input, "r", stdin) || !freopen("/dev/null", "w", stdout))
            _exit(98);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), wanted);
    return get_text(calls);
}

static void holds(void **state, const char *name, const char *wanted)
{
    cleanup_free char *path = temp_path(state, name);
    cleanup_free char *text = file_exists(path) ? get_text(path) : xstrdup("");
    assert_string_equal(text, wanted);
}

static void fedora(void **state)
{
    static const char anchors[] = "etc/pki/ca-trust/source/anchors/host-ca-certs.pem";
    put_program(state, "update-ca-trust", "");
    put_program(state, "systemctl", "");
    cleanup_free char *none = give(state, "", 0);
    assert_string_equal(none, "");
    cleanup_free char *first = give(state, PEM("A") PEM("B"), 0);
    assert_string_equal(first, "update-ca-trust \nsystemctl try-restart podman.service\n");
    holds(state, anchors, PEM("A") PEM("B"));
    cleanup_free char *same = give(state, PEM("A") PEM("B"), 0);
    assert_string_equal(same, "");
    cleanup_free char *changed = give(state, PEM("B"), 0);
    assert_non_null(strstr(changed, "update-ca-trust"));
    holds(state, anchors, PEM("B"));

    // One that fails is tried again.
    put_program(state, "update-ca-trust", "exit 3\n");
    free(give(state, PEM("C"), 3));
    put_program(state, "update-ca-trust", "");
    cleanup_free char *again = give(state, PEM("C"), 0);
    assert_non_null(strstr(again, "update-ca-trust"));

    cleanup_free char *gone = give(state, "", 0);
    assert_non_null(strstr(gone, "update-ca-trust"));
    holds(state, anchors, "");
    holds(state, "var/lib/podman-machine-vmnet/host-ca-certs.pem", "");
    cleanup_free char *nothing = give(state, "", 0);
    assert_string_equal(nothing, "");
}

static void debian(void **state)
{
#define OURS "usr/local/share/ca-certificates/podman-machine-vmnet-"
    put_program(state, "update-ca-certificates", "");
    put_program(state, "systemctl", "");
    cleanup_free char *first = give(state, PEM("A") PEM("B"), 0);
    assert_non_null(strstr(first, "update-ca-certificates --fresh\n"));
    holds(state, OURS "001.crt", PEM("A"));
    holds(state, OURS "002.crt", PEM("B"));
    free(give(state, PEM("B"), 0));
    holds(state, OURS "001.crt", PEM("B"));
    holds(state, OURS "002.crt", "");
    free(give(state, "", 0));
    holds(state, OURS "001.crt", "");
}

static void a_guest_without_a_store(void **state)
{
    // Not even this host's own.
    static const char *const tools[] = {"cat", "cmp", "mkdir", "rm"};
    const char *home = *state;
    struct error err;
    cleanup_free char *folder = temp_path(state, "bin");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
        cleanup_free char *from = xasprintf("/usr/bin/%s", tools[i]),
                          *to = xasprintf("%s/%s", folder, tools[i]);
        assert_int_equal(symlink(from, to), 0);
    }
    cleanup_free char *script = moved(home);
    pid_t child = fork();
    if (child == 0) {
        setenv("PATH", folder, 1);
        if (!freopen("/dev/zero", "r", stdin) || !freopen("/dev/null", "w", stdout))
            _exit(98);
        cleanup_free char *short_input = xasprintf("echo x | (%s)", script);
        execl("/bin/sh", "sh", "-c", short_input, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 1);
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, temp_home_setup, temp_home_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(fedora),
        FRESH(debian),
        FRESH(a_guest_without_a_store),
    };
    return cmocka_run_group_tests_name("native_ca", tests, NULL, NULL);
}
