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
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/share.h"

static char name[] = "m1";

static void add(struct machine *m, char *source, char *target, bool by_default)
{
    struct error err;
    const struct mount mount = {.source = source, .target = target, .by_default = by_default};
    m->name = name;
    assert_ok(mounts_add(&m->mounts, &mount, &err), err);
}

static char *make_folder(void **state, const char *folder)
{
    struct error err;
    char *path = temp_path(state, folder);
    assert_ok(file_make_dirs(path, 0755, &err), err);
    return path;
}

// libkrun opens no link, so the path that it is told has none.
static void links_are_followed(void **state)
{
    struct error err;
    struct machine m = MACHINE_INIT;
    CLEANUP(shares_release) struct shares shares = SHARES_INIT;
    cleanup_free char *folder = make_folder(state, "real"), *link = temp_path(state, "link");
    char real[4096], target[] = "/t";
    assert_int_equal(symlink("real", link), 0);
    add(&m, link, target, false);
    assert_ok(shares_find(&shares, &m, &err), err);
    assert_non_null(realpath(folder, real));
    assert_string_equal(shares.items[0].path, real);
    assert_ptr_equal(shares.items[0].mount, m.mounts.items);
    mounts_release(&m.mounts);
}

static void what_is_not_there(void **state)
{
    struct error err;
    struct machine m = MACHINE_INIT;
    CLEANUP(shares_release) struct shares shares = SHARES_INIT;
    cleanup_free char *file = temp_path(state, "file"), *gone = temp_path(state, "gone");
    char a[] = "/a", b[] = "/b";
    put_text(file, "");
    add(&m, gone, a, true);
    assert_ok(shares_find(&shares, &m, &err), err); // by default: left out
    assert_int_equal(shares.count, 0);
    shares_release(&shares);
    add(&m, file, b, false);
    assert_fails(shares_find(&shares, &m, &err), err, ENOTDIR,
                 "/file' with the machine: it is not");
    shares_release(&shares);
    unlink(file);
    assert_fails(shares_find(&shares, &m, &err), err, ENOENT, "No such file");
    mounts_release(&m.mounts);
}

// "LINK/." is the folder even for who follows no link at the end.
static void what_cannot_be_said_is_linked(void **state)
{
    struct error err;
    struct machine m = MACHINE_INIT;
    struct stat st, linked;
    CLEANUP(shares_release) struct shares shares = SHARES_INIT;
    cleanup_free char *plain = make_folder(state, "plain"), *odd = make_folder(state, "o,d=d");
    char a[] = "/a", b[] = "/b";
    add(&m, plain, a, false);
    add(&m, odd, b, false);
    assert_ok(shares_find(&shares, &m, &err), err);
    assert_ok(shares_speak(&shares, &m, ",=", &err), err);
    assert_non_null(strstr(shares.items[0].path, "/plain"));
    const char *path = shares.items[1].path;
    assert_null(strpbrk(path, ",="));
    assert_string_equal(path + strlen(path) - 2, "/.");
    assert_int_equal(lstat(path, &linked), 0);
    assert_int_equal(stat(odd, &st), 0);
    assert_int_equal(st.st_ino, linked.st_ino);
    mounts_release(&m.mounts);
}

static void sockets(void **state)
{
    (void)state;
    struct error err;
    const struct machine m = {.name = name};
    struct share items[2] = {{0}, {0}};
    struct shares shares = {items, 2};
    shares_give_sockets(&shares, &m);
    cleanup_free char *first = items[0].socket, *second = items[1].socket;
    assert_non_null(strstr(first, "/m1-fs0.sock"));
    assert_non_null(strstr(second, "/m1-fs1.sock"));
    assert_ok(paths_make_runtime(&err), err);
    put_text(first, "");
    put_text(second, "");
    assert_ok(shares_clear_sockets("m1", &err), err);
    assert_false(file_exists(first) || file_exists(second));
    assert_ok(shares_clear_sockets("m1", &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(what_cannot_be_said_is_linked),
        cmocka_unit_test(sockets),
    };
    return cmocka_run_group_tests_name("share", tests, temp_home_setup, temp_home_teardown);
}
