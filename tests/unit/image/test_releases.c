// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/releases.h"
#include "tests/support/http_server.h"

#define HEX(digit) digit digit digit digit digit digit digit digit
#define SHA(digit) HEX(HEX(digit))
#define BASE "https://example.org/pub/fedora/linux/releases/"
#define ROW(version, arch, variant, link, sha)                                             \
    "{\"version\": \"" version "\", \"arch\": \"" arch "\", \"link\": \"" link             \
    "\", \"variant\": \"" variant "\", \"subvariant\": \"Cloud_Base\", \"sha256\": \"" sha \
    "\", \"size\": \"528154624\"}"
#define GENERIC(version, arch) BASE version "/Fedora-Cloud-Base-Generic-" version "." arch ".qcow2"

static const char list[] =
    "[" ROW("9", "x86_64", "Cloud", GENERIC("9", "x86_64"), SHA("9")) "," ROW(
        "44", "aarch64", "Cloud", GENERIC("44", "aarch64"),
        SHA("a")) "," ROW("44", "x86_64", "Cloud", GENERIC("44", "x86_64"),
                          SHA("4")) "," ROW("43", "x86_64", "Cloud", GENERIC("43", "x86_64"),
                                            SHA("3")) ","
    // What is not to be taken, though it is newer.
    ROW("46 Beta", "x86_64", "Cloud", GENERIC("46", "x86_64"), SHA("b")) "," ROW(
        "46", "x86_64", "Cloud", BASE "Fedora-Cloud-Base-UEFI-UKI-46.x86_64.qcow2",
        SHA("c")) "," ROW("46", "x86_64", "Cloud", BASE "Fedora-Cloud-Base-GCE-46.x86_64.tar.gz",
                          SHA("c")) "," ROW("46", "x86_64", "Cloud",
                                            BASE "Fedora-Cloud-Base-Generic-46.x86_64.raw.xz",
                                            SHA("c")) "," ROW("46", "x86_64", "Cloud",
                                                              "file:///"
                                                              "Fedora-Cloud-Base-Generic-46.qcow2",
                                                              SHA("c")) "," ROW("46", "x86_64",
                                                                                "Server",
                                                                                GENERIC("46",
                                                                                        "x86_64"),
                                                                                SHA("c")) "," ROW("46",
                                                                                                  "x86_64",
                                                                                                  "Cloud",
                                                                                                  GENERIC(
                                                                                                      "46",
                                                                                                      "x86_64"),
                                                                                                  "short") ","
                                                                                                           "{\"version\": 46}, 7, null, [], {}]";

static void the_newest_generic_image_is_chosen(void **state)
{
    struct error err;
    (void)state;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    assert_ok(releases_choose(&ref, list, sizeof(list) - 1, "x86_64", "list", &err), err);
    assert_string_equal(ref.source, GENERIC("44", "x86_64"));
    assert_string_equal(ref.sha256, SHA("4"));
    assert_string_equal(ref.label, "fedora-44");
    assert_int_equal(ref.size, 528154624);
    image_ref_release(&ref);
    assert_ok(releases_choose(&ref, list, sizeof(list) - 1, "aarch64", "list", &err), err);
    assert_string_equal(ref.sha256, SHA("a"));
}

static void a_size_that_is_no_number_is_not_known(void **state)
{
    static const char *const sizes[] = {"\"5e8\"", "\"\"", "5", "\"-1\"", "null"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct error err;
        CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
        cleanup_free char *text =
            xasprintf("[{\"version\": \"44\", \"arch\": \"x86_64\", \"variant\": \"Cloud\", "
                      "\"link\": \"%s\", \"sha256\": \"%s\", \"size\": %s}]",
                      GENERIC("44", "x86_64"), SHA("4"), sizes[i]);
        assert_ok(releases_choose(&ref, text, strlen(text), "x86_64", "list", &err), err);
        assert_int_equal(ref.size, 0);
    }
}

static void what_is_no_list_is_refused(void **state)
{
    struct error err;
    (void)state;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    assert_fails(releases_choose(&ref, "<html>", 6, "x86_64", "list", &err), err, EBADMSG,
                 "'list' is not a list of releases");
    assert_fails(releases_choose(&ref, "{}", 2, "x86_64", "list", &err), err, EBADMSG, "array");
    assert_fails(releases_choose(&ref, "", 0, "x86_64", "list", &err), err, EBADMSG, "list");
    assert_fails(releases_choose(&ref, "[]", 2, "x86_64", "list", &err), err, ENOENT,
                 "no Fedora cloud image for x86_64");
    assert_fails(releases_choose(&ref, list, sizeof(list) - 1, "riscv64", "list", &err), err,
                 ENOENT, "riscv64");
    assert_null(ref.source);
}

static void the_list_is_read_from_a_server(void **state)
{
    struct error err;
    (void)state;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    struct http_server server;
    http_server_start(&server, list, sizeof(list) - 1);
    cleanup_free char *url = http_server_url(&server, "/redirect");
    cleanup_free char *missing = http_server_url(&server, "/missing");
    setenv("PODMAN_MACHINE_VMNET_RELEASES", url, 1);
    assert_ok(image_resolve(&ref, "fedora-latest", NULL, "x86_64", &err), err);
    assert_string_equal(ref.sha256, SHA("4"));
    assert_fails(image_resolve(&ref, "fedora-latest", SHA("5"), "x86_64", &err), err, EINVAL,
                 "not the given 5555");
    setenv("PODMAN_MACHINE_VMNET_RELEASES", missing, 1);
    assert_fails(image_resolve(&ref, "fedora-latest", NULL, "x86_64", &err), err, ENOENT,
                 "404 Not Found (a known name, such as 'fedora-44'");
    http_server_stop(&server);
    setenv("PODMAN_MACHINE_VMNET_RELEASES", url, 1);
    assert_fails(image_resolve(&ref, "fedora-latest", NULL, "x86_64", &err), err, ECONNREFUSED,
                 "reading '");
    unsetenv("PODMAN_MACHINE_VMNET_RELEASES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_generic_image_is_chosen),
        cmocka_unit_test(a_size_that_is_no_number_is_not_known),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(the_list_is_read_from_a_server),
    };
    return cmocka_run_group_tests_name("releases", tests, NULL, NULL);
}
