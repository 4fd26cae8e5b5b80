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

static void replaces_in_one_step(void **state)
{
    struct error err;
    struct stat st;
    cleanup_free char *path = temp_path(state, "record");
    assert_ok(file_write_atomic(path, "one", 3, 0600, &err), err);
    assert_ok(file_write_atomic(path, "second", 6, 0640, &err), err);
    cleanup_free char *text = get_text(path);
    assert_string_equal(text, "second");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void follows_a_link_and_keeps_it(void **state)
{
    struct error err;
    struct stat st;
    cleanup_free char *target = temp_path(state, "target");
    cleanup_free char *link = temp_path(state, "link");
    put_text(target, "old");
    assert_int_equal(symlink(target, link), 0);
    assert_ok(file_write_atomic(link, "new", 3, 0600, &err), err);
    cleanup_free char *text = get_text(target);
    assert_string_equal(text, "new");
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "no/such/folder");
    assert_fails(file_write_atomic(path, "x", 1, 0600, &err), err, ENOENT, "no/such");
}

static void limits_what_it_reads(void **state)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT;
    cleanup_free char *path = temp_path(state, "big");
    put_text(path, "0123456789");
    assert_fails(file_read(&buf, path, 9, &err), err, EFBIG, "larger than 9");
    assert_int_equal(buf.length, 0);
    assert_ok(file_read(&buf, path, 10, &err), err);
    assert_string_equal(buf.text, "0123456789");
}

static void removes_trees_but_not_through_links(void **state)
{
    struct error err;
    cleanup_free char *outside = temp_path(state, "outside");
    cleanup_free char *kept = temp_path(state, "outside/kept");
    cleanup_free char *tree = temp_path(state, "tree");
    cleanup_free char *deep = temp_path(state, "tree/a/b/c");
    cleanup_free char *link = temp_path(state, "tree/link");
    assert_ok(file_make_dirs(outside, 0700, &err), err);
    put_text(kept, "kept");
    assert_ok(file_make_dirs(deep, 0700, &err), err);
    assert_int_equal(symlink(outside, link), 0);
    assert_ok(file_remove_tree(tree, &err), err);
    assert_false(file_exists(tree));
    assert_true(file_exists(kept));
    assert_ok(file_remove_tree(tree, &err), err);
}

static void folders_get_their_mode(void **state)
{
    struct error err;
    struct stat st;
    cleanup_free char *path = temp_path(state, "p/q");
    cleanup_free char *file = temp_path(state, "plain");
    assert_ok(file_make_dirs(path, 0700, &err), err);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    put_text(file, "");
    assert_fails(file_make_dirs(file, 0700, &err), err, ENOTDIR, "not a folder");
}

static void tails(void **state)
{
    cleanup_free char *path = temp_path(state, "log");
    cleanup_free char *none = file_tail(path, 2);
    assert_string_equal(none, "");
    put_text(path, "a\nb\nc\n\n");
    cleanup_free char *two = file_tail(path, 2);
    assert_string_equal(two, "b\nc");
    cleanup_free char *all = file_tail(path, 20);
    assert_string_equal(all, "a\nb\nc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_in_one_step),
        cmocka_unit_test(follows_a_link_and_keeps_it),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(limits_what_it_reads),
        cmocka_unit_test(removes_trees_but_not_through_links),
        cmocka_unit_test(folders_get_their_mode),
        cmocka_unit_test(tails),
    };
    return cmocka_run_group_tests_name("file", tests, temp_home_setup, temp_home_teardown);
}
