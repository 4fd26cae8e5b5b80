// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/sparse.h"

enum { MIB = 1 << 20 };

static void zero_is_told_from_nearly_zero(void **state)
{
    (void)state;
    char bytes[100] = "";
    assert_true(sparse_is_zero(bytes, 0));
    assert_true(sparse_is_zero(bytes, sizeof(bytes)));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = 1;
        assert_false(sparse_is_zero(bytes, sizeof(bytes)));
        bytes[i] = 0;
    }
}

static void writes_leave_out_what_is_zero(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "written");
    cleanup_free char *bytes = xcalloc(1, 4 * MIB);
    cleanup_free char *back = xmalloc(4 * MIB);
    bytes[5] = 1;
    memset(bytes + MIB, 2, 100);
    bytes[4 * MIB - 1] = 3;
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(sparse_write(fd, bytes, 4 * MIB, 777), 0);
    assert_int_equal(pread(fd, back, 4 * MIB, 777), 4 * MIB);
    assert_memory_equal(bytes, back, 4 * MIB);
    uint64_t size, allocated;
    assert_ok(file_size(path, &size, &allocated, &err), err);
    assert_true(allocated < MIB);
}

static void copies_have_the_same_bytes_and_no_more_blocks(void **state)
{
    struct error err;
    struct watch watch = {.quiet = true};
    static const uint64_t sizes[] = {0, 1, 16384, 3 * MIB + 11, 64 * MIB};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        size_t length = (size_t)sizes[i];
        cleanup_unlink char *source = temp_path(state, "source");
        cleanup_unlink char *target = temp_path(state, "target");
        cleanup_close int from = open(source, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        cleanup_close int to = open(target, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(from, (off_t)length), 0);
        if (length > 0)
            assert_int_equal(pwrite(from, "first", 1, 0), 1);
        if (length > MIB) {
            // Zeros that are stored become a hole; data behind a hole is found.
            cleanup_free char *zeros = xcalloc(1, MIB);
            assert_int_equal(pwrite(from, zeros, MIB, MIB), MIB);
            assert_int_equal(pwrite(from, "last", 4, (off_t)length - 4), 4);
        }
        watch_begin(&watch, "Copying", "it");
        assert_ok(sparse_copy(from, source, to, target, length, &watch, &err), err);
        cleanup_free char *a = xmalloc(length + 1);
        cleanup_free char *b = xmalloc(length + 1);
        assert_int_equal(pread(from, a, length + 1, 0), length);
        assert_int_equal(pread(to, b, length + 1, 0), length);
        assert_memory_equal(a, b, length);
        uint64_t size, allocated;
        assert_ok(file_size(target, &size, &allocated, &err), err);
        assert_int_equal(size, length);
        assert_true(allocated <= MIB);
    }
}

static void missing_space_is_told_in_numbers(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "space");
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_ok(sparse_require_space(fd, 1, "a test", &err), err);
    assert_fails(sparse_require_space(fd, UINT64_C(1) << 60, "a test", &err), err, ENOSPC,
                 "not enough disk space for a test: 1048576.0 TiB needed, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_is_told_from_nearly_zero),
        cmocka_unit_test(writes_leave_out_what_is_zero),
        cmocka_unit_test(copies_have_the_same_bytes_and_no_more_blocks),
        cmocka_unit_test(missing_space_is_told_in_numbers),
    };
    return cmocka_run_group_tests_name("sparse", tests, temp_home_setup, temp_home_teardown);
}
