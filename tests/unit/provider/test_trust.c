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
#include "base/process.h"
#include "base/strbuf.h"
#include "provider/trust.h"

// Certificates by the openssl program, in the test's folder: NAME.pem, .der, .key.
static void make(void **state, const char *name, bool is_ca)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_free char *pem = temp_path(state, name), *subject = xasprintf("/CN=%s", name);
    cleanup_free char *key = xasprintf("%s.key", pem), *der = xasprintf("%s.der", pem);
    const char *const words[] = {"openssl",
                                 "req",
                                 "-x509",
                                 "-newkey",
                                 "ec",
                                 "-pkeyopt",
                                 "ec_paramgen_curve:P-256",
                                 "-nodes",
                                 "-days",
                                 "2",
                                 "-keyout",
                                 key,
                                 "-out",
                                 pem,
                                 "-subj",
                                 subject,
                                 "-addext",
                                 is_ca ? "keyUsage=keyCertSign" : "keyUsage=digitalSignature",
                                 "-addext",
                                 is_ca ? "basicConstraints=critical,CA:TRUE"
                                       : "basicConstraints=CA:FALSE",
                                 "-config",
                                 "/dev/null",
                                 NULL};
    strvec_pushv(&argv, words);
    assert_ok(process_run(&argv, NULL, &err), err);
    CLEANUP(strvec_release) struct strvec convert = STRVEC_INIT;
    const char *const more[] = {"openssl", "x509", "-in", pem, "-outform",
                                "DER",     "-out", der,   NULL};
    strvec_pushv(&convert, more);
    assert_ok(process_run(&convert, NULL, &err), err);
}

static char *text_of(void **state, const char *name)
{
    cleanup_free char *path = temp_path(state, name);
    return get_text(path);
}

static int make_all(void **state)
{
    temp_home_setup(state);
    make(state, "one", true);
    make(state, "two", true);
    make(state, "leaf", false);
    return 0;
}

static void a_folder_to_the_bottom(void **state)
{
    struct error err;
    CLEANUP(trust_release) struct trust trust = TRUST_INIT;
    cleanup_free char *folder = temp_path(state, "anchors");
    cleanup_free char *below = temp_path(state, "anchors/b/c");
    assert_ok(trust_add_folder(&trust, folder, &err), err); // there is none
    assert_ok(file_make_dirs(below, 0700, &err), err);
    cleanup_free char *one = text_of(state, "one"), *two = text_of(state, "two"),
                      *key = text_of(state, "one.key");

    // A bundle with words, a key and broken blocks in it; the same one in DER; some that are none.
    cleanup_free char *mixed =
        xasprintf("# our proxy\n%s%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                  key, one);
    cleanup_free char *bundle = temp_path(state, "anchors/bundle.crt");
    put_text(bundle, mixed);
    cleanup_free char *der = temp_path(state, "one.der"), *link = temp_path(state, "anchors/d.cer");
    assert_int_equal(symlink(der, link), 0);
    cleanup_free char *deep = temp_path(state, "anchors/b/c/two.crt");
    put_text(deep, two);
    static const char *const none[] = {"anchors/README", "anchors/.hidden", "anchors/dangling"};
    cleanup_free char *readme = temp_path(state, none[0]), *hidden = temp_path(state, none[1]),
                      *dangling = temp_path(state, none[2]);
    put_text(readme, "no certificate\n");
    put_text(hidden, one);
    assert_int_equal(symlink("nowhere", dangling), 0);
    cleanup_free char *large = temp_path(state, "anchors/large");
    put_text(large, "");
    assert_int_equal(truncate(large, 2 << 20), 0);

    assert_ok(trust_add_folder(&trust, folder, &err), err);
    assert_int_equal(trust.count, 2);
    cleanup_free char *wanted = xasprintf("%s%s", two, one);
    assert_string_equal(trust.pem.text, wanted);
    assert_null(strstr(trust.pem.text, "PRIVATE"));
    assert_ok(trust_add_folder(&trust, folder, &err), err);
    assert_int_equal(trust.count, 2);

    CLEANUP(trust_release) struct trust again = TRUST_INIT;
    setenv("PODMAN_MACHINE_VMNET_ANCHORS", folder, 1);
    assert_ok(trust_collect(&again, &err), err);
    unsetenv("PODMAN_MACHINE_VMNET_ANCHORS");
    assert_string_equal(again.pem.text, wanted);
}

// A stand-in for macOS's tool: keychains are files of the test's folder by their base name, and
// what `untrusted` holds is refused.
static void put_security(void **state, const char *script)
{
    const char *home = *state;
    struct error err;
    cleanup_free char *folder = temp_path(state, "bin");
    cleanup_free char *path = temp_path(state, "bin/security");
    cleanup_free char *text =
        xasprintf("#!/bin/sh\nhome=%s\necho \"$@\" >>$home/calls\n%s", home, script);
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(path, text);
    assert_int_equal(chmod(path, 0700), 0);
    cleanup_free char *search = xasprintf("%s:/usr/bin:/bin", folder);
    setenv("PATH", search, 1);
}

static void keychains_are_asked_whom_they_trust(void **state)
{
    const char *home = *state;
    struct error err;
    CLEANUP(trust_release) struct trust trust = TRUST_INIT;
    cleanup_free char *one = text_of(state, "one"), *two = text_of(state, "two"),
                      *leaf = text_of(state, "leaf");
    cleanup_free char *system = xasprintf("%s%s%s", one, leaf, two);
    cleanup_free char *keychain = temp_path(state, "System.keychain"),
                      *untrusted = temp_path(state, "untrusted"),
                      *calls = temp_path(state, "calls");
    put_text(keychain, system);
    put_text(untrusted, two);
    put_text(calls, "");
    put_security(state, "case \"$1 $2 $3\" in\n"
                        "\"find-certificate -a -p\") cat \"$home/${4##*/}\" ;;\n"
                        "\"verify-cert -p ssl\")\n"
                        "  [ \"$4 $6 $7\" = '-c -l -L' ] || exit 2\n"
                        "  ! cmp -s \"$5\" $home/untrusted ;;\n"
                        "*) exit 2 ;;\n"
                        "esac\n");
    cleanup_free char *tmp = temp_path(state, "tmp");
    assert_ok(file_make_dirs(tmp, 0700, &err), err);
    setenv("TMPDIR", tmp, 1);
    assert_ok(trust_add_keychains(&trust, &err), err);
    assert_string_equal(trust.pem.text, one);
    assert_int_equal(trust.count, 1);
    cleanup_free char *said = get_text(calls);
    assert_non_null(strstr(said, "find-certificate -a -p /Library/Keychains/System.keychain\n"));
    assert_null(strstr(said, "login.keychain"));

    // The user's own, where there is one. What is trusted there counts as well.
    cleanup_free char *folder = temp_path(state, "Library/Keychains");
    cleanup_free char *login = temp_path(state, "Library/Keychains/login.keychain-db");
    cleanup_free char *copy = temp_path(state, "login.keychain-db");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    put_text(login, "");
    put_text(copy, two);
    put_text(untrusted, "");
    setenv("PODMAN_MACHINE_VMNET_MACOS", "26.2", 1);
    CLEANUP(trust_release) struct trust both = TRUST_INIT;
    assert_ok(trust_collect(&both, &err), err);
    unsetenv("PODMAN_MACHINE_VMNET_MACOS");
    cleanup_free char *wanted = xasprintf("%s%s", one, two);
    assert_string_equal(both.pem.text, wanted);
    cleanup_free char *again = get_text(calls);
    cleanup_free char *line = xasprintf("find-certificate -a -p %s/Library/Keychains/"
                                        "login.keychain-db\n",
                                        home);
    assert_non_null(strstr(again, line));
    // No copy is left behind.
    unsetenv("TMPDIR");
    cleanup_dir DIR *dir = opendir(tmp);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        assert_int_not_equal(strncmp(entry->d_name, "pmv-ca.", 7), 0);
}

static void a_keychain_that_does_not_answer(void **state)
{
    struct error err;
    CLEANUP(trust_release) struct trust trust = TRUST_INIT;
    put_security(state, "echo 'SecKeychainCopySearchList: denied' >&2\nexit 1\n");
    assert_fails(trust_add_keychains(&trust, &err), err, ECHILD, "denied");
    assert_int_equal(trust.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_to_the_bottom, make_all, temp_home_teardown),
        cmocka_unit_test_setup_teardown(keychains_are_asked_whom_they_trust, make_all,
                                        temp_home_teardown),
        cmocka_unit_test_setup_teardown(a_keychain_that_does_not_answer, temp_home_setup,
                                        temp_home_teardown),
    };
    return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
