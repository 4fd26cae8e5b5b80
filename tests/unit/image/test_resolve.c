// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/image.h"

#define DIGEST "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static int resolve(struct image_ref *ref, const char *image, const char *sha256, struct error *err)
{
    return image_resolve(ref, image, sha256, "aarch64", err);
}

static void catalog_names_bring_address_and_digest(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "", "fedora-44"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct error err;
        CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
        assert_ok(resolve(&ref, names[i], NULL, &err), err);
        assert_memory_equal(ref.source, "https://", 8);
        assert_memory_equal(ref.sha256, "55c60a3b", 8);
        assert_string_equal(ref.label, "fedora-44");
        assert_int_equal(ref.size, 528154624);
    }
}

static void a_row_without_a_digest_wants_the_users(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    assert_fails(image_resolve(&ref, "fedora-43", NULL, "x86_64", &err), err, EINVAL,
                 "--image-sha256");
    assert_ok(image_resolve(&ref, "fedora-43", DIGEST, "x86_64", &err), err);
    assert_string_equal(ref.sha256, DIGEST);
    struct image_ref other = {.source = NULL};
    assert_fails(resolve(&other, "fedora-44", DIGEST, &err), err, EINVAL, "not the given");
    assert_null(other.source);
}

static void urls_need_a_digest(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
    assert_fails(resolve(&ref, "https://example.com/a/disk.qcow2", NULL, &err), err, EINVAL,
                 "give it with --image-sha256");
    assert_ok(resolve(&ref, "HTTPS://example.com/a/disk.qcow2?x=/y#z", "sha256:" DIGEST, &err),
              err);
    assert_string_equal(ref.source, "HTTPS://example.com/a/disk.qcow2?x=/y#z");
    assert_string_equal(ref.label, "disk.qcow2");
    assert_string_equal(ref.sha256, DIGEST);
}

static void other_schemes_and_bad_digests_are_refused(void **state)
{
    (void)state;
    struct error err;
    struct image_ref ref = {.source = NULL};
    assert_fails(resolve(&ref, "docker://quay.io/podman/machine-os", DIGEST, &err), err, EINVAL,
                 "cloud image, such as 'fedora-44'");
    assert_fails(resolve(&ref, "ftp://example.com/x", DIGEST, &err), err, EINVAL, "only http");
    assert_fails(resolve(&ref, "file://server/share/x", NULL, &err), err, EINVAL, "another host");
    assert_fails(resolve(&ref, "https://example.com/x", "abc", &err), err, EINVAL,
                 "not a SHA-256 digest");
    assert_null(ref.source);
}

static void files_are_found_by_path_name_and_url(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "my disk%.qcow2");
    put_text(path, "x");
    assert_int_equal(chdir(*state), 0);
    cleanup_free char *url = xasprintf("file://%s/my%%20disk%%25.qcow2", (const char *)*state);
    cleanup_free char *local =
        xasprintf("file://localhost%s/my%%20disk%%.qcow2", (const char *)*state);
    const char *const spellings[] = {path, "./my disk%.qcow2", "my disk%.qcow2", url, local};
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        CLEANUP(image_ref_release) struct image_ref ref = {.source = NULL};
        assert_ok(resolve(&ref, spellings[i], NULL, &err), err);
        assert_int_equal(ref.source[0], '/');
        assert_true(file_exists(ref.source));
        assert_string_equal(ref.label, "my disk%.qcow2");
        assert_null(ref.sha256);
    }
}

static void names_go_before_files_and_missing_ones_are_told(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "fedora-43");
    put_text(path, "x");
    assert_int_equal(chdir(*state), 0);
    CLEANUP(image_ref_release) struct image_ref name = {.source = NULL};
    CLEANUP(image_ref_release) struct image_ref file = {.source = NULL};
    assert_ok(resolve(&name, "fedora-43", NULL, &err), err);
    assert_memory_equal(name.source, "https://", 8);
    assert_ok(resolve(&file, "./fedora-43", NULL, &err), err);
    assert_int_equal(file.source[0], '/');

    struct image_ref ref = {.source = NULL};
    assert_fails(resolve(&ref, "fedora-99", NULL, &err), err, ENOENT, "fedora-44, fedora-43");
    assert_fails(resolve(&ref, "/no/such/file", NULL, &err), err, ENOENT, "'/no/such/file'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalog_names_bring_address_and_digest),
        cmocka_unit_test(a_row_without_a_digest_wants_the_users),
        cmocka_unit_test(urls_need_a_digest),
        cmocka_unit_test(other_schemes_and_bad_digests_are_refused),
        cmocka_unit_test(files_are_found_by_path_name_and_url),
        cmocka_unit_test(names_go_before_files_and_missing_ones_are_told),
    };
    return cmocka_run_group_tests_name("resolve", tests, temp_home_setup, temp_home_teardown);
}
