// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "image/digest.h"

// FIPS 180-2, appendix B.
static const char of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char of_nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static bool stop_now(void)
{
    return true;
}

static void pieces_make_the_whole_and_it_can_begin_anew(void **state)
{
    (void)state;
    struct error err;
    char hex[DIGEST_HEX];
    CLEANUP(digest_release) struct digest digest = DIGEST_INIT;
    assert_ok(digest_begin(&digest, &err), err);
    digest_add(&digest, "wrong", 5);
    assert_ok(digest_begin(&digest, &err), err);
    digest_add(&digest, "a", 1);
    digest_add(&digest, "bc", 2);
    digest_end(&digest, hex);
    assert_string_equal(hex, of_abc);
    assert_ok(digest_begin(&digest, &err), err);
    digest_end(&digest, hex);
    assert_string_equal(hex, of_nothing);
}

static void files_are_read_up_to_a_length(void **state)
{
    struct error err;
    char hex[DIGEST_HEX];
    struct watch watch = {.quiet = true};
    cleanup_free char *path = temp_path(state, "file");
    put_text(path, "abcdef");
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_ok(digest_file(hex, fd, 3, path, &watch, &err), err);
    assert_string_equal(hex, of_abc);
    assert_fails(digest_file(hex, fd, 7, path, &watch, &err), err, EIO, "became shorter");
    watch.interrupted = stop_now;
    assert_fails(digest_file(hex, fd, 6, path, &watch, &err), err, EINTR, "interrupted");
}

static void digests_are_read_as_people_paste_them(void **state)
{
    (void)state;
    char hex[DIGEST_HEX];
    cleanup_free char *prefixed = xasprintf("sha256:%s", of_abc);
    assert_true(digest_parse(hex, prefixed));
    assert_string_equal(hex, of_abc);
    assert_true(
        digest_parse(hex, "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
    assert_string_equal(hex, of_abc);
    assert_false(digest_parse(hex, ""));
    assert_false(digest_parse(hex, of_abc + 1));
    assert_false(
        digest_parse(hex, "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    assert_false(digest_parse(hex, prefixed + 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_whole_and_it_can_begin_anew),
        cmocka_unit_test(files_are_read_up_to_a_length),
        cmocka_unit_test(digests_are_read_as_people_paste_them),
    };
    return cmocka_run_group_tests_name("digest", tests, temp_home_setup, temp_home_teardown);
}
