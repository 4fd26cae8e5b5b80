// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "provider/mount.h"

// podman's own, as its record has them on a Mac.
static void tags_are_podmans(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/Users", "a2a0ee2c717462feb1de2f5afd59de5fd2d8"},
        {"/private", "71708eb255bc230cd7c91dd26f7667a7b938"},
        {"/var/folders", "a0bb3a2c8b0b02ba5958b0576f0d6530e104"},
        {"/etc/containers", "9ddeaea5d41a791d2cc3bcc676b9645fee0e"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *tag = mount_tag(rows[i][0]);
        assert_string_equal(tag, rows[i][1]);
    }
}

static void add(struct mounts *mounts, const char *source, const char *target, bool read_only)
{
    struct error err;
    const struct mount mount = {
        .source = (char *)source, .target = (char *)target, .read_only = read_only};
    assert_ok(mounts_add(mounts, &mount, &err), err);
}

static void a_target_is_there_once(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT;
    char source[] = "/b", target[] = "/Users";
    add(&mounts, "/a", target, false);
    const struct mount again = {.source = source, .target = target};
    assert_fails(mounts_add(&mounts, &again, &err), err, EEXIST,
                 "two volumes have the machine mount destination \"/Users\"");
    assert_int_equal(mounts.count, 1);
    assert_ptr_equal(mounts_find(&mounts, "a2a0ee2c717462feb1de2f5afd59de5fd2d8"), mounts.items);
    assert_null(mounts_find(&mounts, "a2a0"));
}

static void round_trip(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT, read = MOUNTS_INIT;
    add(&mounts, "/a b/Zoë's \"x\"", "/t", true);
    add(&mounts, "/c", "/d", false);
    mounts.items[1].by_default = true;
    cleanup_json json_t *array = mounts_to_json(&mounts);
    assert_ok(mounts_from_json(&read, array, &err), err);
    assert_int_equal(read.count, 2);
    assert_string_equal(read.items[0].source, "/a b/Zoë's \"x\"");
    assert_string_equal(read.items[0].tag, mounts.items[0].tag);
    assert_string_equal(read.items[0].security_model, "none");
    assert_true(read.items[0].read_only);
    assert_false(read.items[0].by_default);
    assert_true(read.items[1].by_default);
    add(&mounts, "/\xff", "/e", false);
    assert_null(mounts_to_json(&mounts));
}

static void odd_records_are_errors(void **state)
{
    (void)state;
    struct error err;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT;
    static const char *const texts[] = {"[{}]", "[{\"source\":\"/a\"}]",
                                        "[{\"source\":1,\"target\":\"/a\"}]"};
    assert_ok(mounts_from_json(&mounts, NULL, &err), err);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        cleanup_json json_t *array = json_loads(texts[i], 0, NULL);
        assert_non_null(array);
        assert_int_equal(mounts_from_json(&mounts, array, &err), -1);
        assert_int_equal(err.code, EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_podmans),
        cmocka_unit_test(a_target_is_there_once),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(odd_records_are_errors),
    };
    return cmocka_run_group_tests_name("mount", tests, NULL, NULL);
}
