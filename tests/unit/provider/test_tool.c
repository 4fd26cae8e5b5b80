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
#include "provider/paths.h"
#include "provider/tool.h"

static void add_program(void **state, const char *name)
{
    cleanup_free char *path = temp_path(state, name);
    put_text(path, "#!/bin/sh\n");
    chmod(path, 0700);
}

static void finds_the_first_name(void **state)
{
    struct error err;
    cleanup_free char *found = NULL;
    static const char *const names[] = {"pmv-tool-new", "pmv-tool-old", NULL};
    setenv("PATH", *state, 1);
    add_program(state, "pmv-tool-old");
    assert_ok(tool_find(&found, names, "", &err), err);
    cleanup_free char *old = temp_path(state, "pmv-tool-old");
    assert_string_equal(found, old);
    add_program(state, "pmv-tool-new");
    cleanup_free char *again = NULL;
    assert_ok(tool_find(&again, names, "", &err), err);
    cleanup_free char *fresh = temp_path(state, "pmv-tool-new");
    assert_string_equal(again, fresh);
}

static void says_where_it_looked(void **state)
{
    struct error err;
    char *found = NULL;
    static const char *const names[] = {"pmv-no-such-tool", NULL};
    setenv("PATH", *state, 1);
    assert_fails(tool_find(&found, names, "brew install it", &err), err, ENOENT,
                 "cannot find 'pmv-no-such-tool' in ");
    assert_non_null(strstr(err.message, *state));
    assert_non_null(strstr(err.message, "): brew install it"));
    assert_null(found);
}

static void a_clean_folder_is_itself(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *spoken = NULL;
    assert_ok(tool_folder(&spoken, "/a b/ç", "m", ",=", &err), err);
    assert_string_equal(spoken, "/a b/ç");
}

static void another_is_linked(void **state)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "a,b=c");
    assert_ok(file_make_dirs(folder, 0700, &err), err);
    cleanup_free char *first = NULL, *again = NULL, *other = NULL;
    assert_ok(tool_folder(&first, folder, "my-vm", ",=", &err), err);
    assert_null(strpbrk(first, ",="));
    cleanup_free char *inside = xasprintf("%s/disk.raw", first);
    put_text(inside, "disk");
    cleanup_free char *real = xasprintf("%s/disk.raw", folder);
    assert_true(file_exists(real));

    struct stat st;
    cleanup_free char *parent = xstrndup(first, (size_t)(strrchr(first, '/') - first));
    assert_int_equal(lstat(parent, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    // The same link again; another folder, another one.
    assert_ok(tool_folder(&again, folder, "my-vm", ",=", &err), err);
    assert_string_equal(first, again);
    assert_ok(tool_folder(&other, "/x,y", "my-vm", ",=", &err), err);
    assert_string_not_equal(first, other);

    // They go with their machine, and no other's.
    cleanup_free char *of_another = NULL;
    assert_ok(tool_folder(&of_another, folder, "my", ",=", &err), err);
    tool_forget_folders("my-vm");
    assert_int_equal(lstat(first, &st), -1);
    assert_int_equal(lstat(other, &st), -1);
    assert_int_equal(lstat(of_another, &st), 0);
    tool_forget_folders("my");
    assert_int_equal(lstat(parent, &st), -1);
}

static void a_wrong_link_is_put_right(void **state)
{
    struct error err;
    cleanup_free char *folder = temp_path(state, "d,e");
    cleanup_free char *first = NULL, *again = NULL;
    assert_ok(tool_folder(&first, folder, "m", ",", &err), err);
    unlink(first);
    assert_int_equal(symlink("/elsewhere", first), 0);
    assert_ok(tool_folder(&again, folder, "m", ",", &err), err);
    char target[4096] = "";
    assert_true(readlink(again, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, folder);
}

static void others_must_not_write_there(void **state)
{
    (void)state;
    struct error err;
    char *spoken = NULL;
    cleanup_free char *runtime = paths_runtime();
    assert_ok(paths_make_runtime(&err), err);
    chmod(runtime, 0777);
    assert_fails(tool_folder(&spoken, "/f,g", "m", ",", &err), err, EPERM, "not ours alone");
    chmod(runtime, 0700);
    assert_null(spoken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_first_name),      cmocka_unit_test(says_where_it_looked),
        cmocka_unit_test(a_clean_folder_is_itself),  cmocka_unit_test(another_is_linked),
        cmocka_unit_test(a_wrong_link_is_put_right), cmocka_unit_test(others_must_not_write_there),
    };
    return cmocka_run_group_tests_name("tool", tests, temp_home_setup, temp_home_teardown);
}
