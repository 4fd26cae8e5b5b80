// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cmd/volume.h"

static int read_one(struct mounts *mounts, const char *word, struct error *err)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    strvec_push(&words, word);
    return volumes_read(mounts, &words, "core", err);
}

static void takes(const char *word, const char *source, const char *target, bool read_only,
                  const char *model)
{
    struct error err;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT;
    assert_ok(read_one(&mounts, word, &err), err);
    assert_int_equal(mounts.count, 1);
    assert_string_equal(mounts.items[0].source, source);
    assert_string_equal(mounts.items[0].target, target);
    assert_int_equal(mounts.items[0].read_only, read_only);
    assert_string_equal(mounts.items[0].security_model, model);
    assert_false(mounts.items[0].by_default);
}

static void words(void **state)
{
    (void)state;
    setenv("PMV_A", "/a", 1);
    unsetenv("PMV_NONE");
    takes("/a", "/a", "/a", false, "none");
    takes("/a:/b", "/a", "/b", false, "none");
    takes("/a//x/../b/.:/c/d/", "/a/b", "/c/d", false, "none");
    takes("/a:/b:ro", "/a", "/b", true, "none");
    takes("/a:/b:ro,rw", "/a", "/b", false, "none");
    takes("/a:/b:security_model=mapped-file,ro", "/a", "/b", true, "mapped-file");
    takes("/a:/b:zz", "/a", "/b", false, "none"); // said on stdout, and passed over
    takes("$PMV_A:${PMV_A}/b", "/a", "/a/b", false, "none");
    takes("/a$PMV_NONE/c", "/a/c", "/a/c", false, "none");
    takes("/a b/'\"ü=,", "/a b/'\"ü=,", "/a b/'\"ü=,", false, "none");
    takes("/x:/tmp/foo", "/x", "/tmp/foo", false, "none");
    takes("/x:/home/core/src", "/x", "/home/core/src", false, "none");
    cleanup_free char *here = getcwd(NULL, 0), *below = xasprintf("%s/x y", here);
    takes("x y", below, below, false, "none");
    takes("./x y/z/..:/d", below, "/d", false, "none");
}

static void refused_targets(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/tmp", "/tmp"},
        {"/x:/tmp/", "/tmp"},
        {"/x:/a/../usr", "/usr"},
        {"/x:/", "/"},
        {"/x:/home", "/home"},
        {"/x:/root", "/root"},
        {"/x:/home/core", "/home/core"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err;
        CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT;
        cleanup_free char *text =
            xasprintf("machine mount destination cannot be \"%s\": consider another location or a "
                      "subdirectory of an existing location",
                      rows[i][1]);
        assert_int_equal(read_one(&mounts, rows[i][0], &err), -1);
        assert_int_equal(err.code, EINVAL);
        assert_string_equal(err.message, text);
    }
}

static void refused_words(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {":/x", "volume \":/x\": there is no source"},
        {"/a:b", "volume \"/a:b\": the destination must be an absolute path"},
        {"/a:", "the destination must be an absolute path"},
        {"/\xff:/x", "it is not UTF-8"},
        {"/x:/b:security_model=all", "invalid security model \"all\""},
    };
    struct error err;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_fails(read_one(&mounts, rows[i][0], &err), err, EINVAL, rows[i][1]);
    char *longest = malloc(5000);
    assert_non_null(longest);
    memset(longest, 'x', 4999);
    longest[0] = '/';
    longest[4999] = '\0';
    assert_fails(read_one(&mounts, longest, &err), err, EINVAL, "it is too long");
    free(longest);
    assert_ok(read_one(&mounts, "", &err), err);
    assert_int_equal(mounts.count, 0);
    assert_ok(read_one(&mounts, "/a:/b", &err), err);
    assert_fails(read_one(&mounts, "/c:/b/", &err), err, EEXIST, "two volumes");
}

static void read_defaults(struct mounts *mounts, const char *user)
{
    struct error err;
    const struct config none = CONFIG_INIT;
    CLEANUP(strvec_release) struct strvec usual = STRVEC_INIT;
    volumes_default(&usual, &none);
    assert_ok(volumes_read(mounts, &usual, user, &err), err);
}

static void podmans_defaults(void **state)
{
    const char *home = *state;
    struct error err;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT, others = MOUNTS_INIT;
    read_defaults(&mounts, "core");
    const struct mount *last = &mounts.items[mounts.count - 1];
    cleanup_free char *config = xasprintf("%s/.config/containers", home);
    assert_true(mounts.count >= 2);
    assert_string_equal(last->source, config);
    assert_string_equal(last->target, "/etc/containers");
    assert_true(last->by_default && mounts.items[0].by_default);
    assert_false(file_exists(config));
    assert_ok(volumes_prepare(&mounts, &err), err);
    assert_true(file_exists(config));

    struct config configured = CONFIG_INIT;
    CLEANUP(strvec_release) struct strvec chosen = STRVEC_INIT;
    configured.volumes_given = true;
    strvec_push(&configured.volumes, "/a:/b");
    volumes_default(&chosen, &configured);
    assert_ok(volumes_read(&others, &chosen, "core", &err), err);
    assert_int_equal(others.count, 1);
    assert_false(others.items[0].by_default);
    config_release(&configured);
}

// root's home cannot be the guest's /root: nobody asked for it, so init goes on without.
static void a_default_that_cannot_be(void **state)
{
    const char *home = *state;
    CLEANUP(mounts_release) struct mounts mounts = MOUNTS_INIT, users = MOUNTS_INIT;
    setenv("HOME", "/root", 1);
    read_defaults(&mounts, "core");
    setenv("HOME", "/home/me", 1);
    read_defaults(&users, "me");
    setenv("HOME", home, 1);
    for (size_t i = 0; i < mounts.count; i++)
        assert_string_not_equal(mounts.items[i].target, "/root");
    for (size_t i = 0; i < users.count; i++)
        assert_string_not_equal(users.items[i].target, "/home/me");
    assert_true(mounts.count >= 1 && users.count >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(refused_targets),
        cmocka_unit_test(refused_words),
        cmocka_unit_test(podmans_defaults),
        cmocka_unit_test(a_default_that_cannot_be),
    };
    return cmocka_run_group_tests_name("volume", tests, temp_home_setup, temp_home_teardown);
}
