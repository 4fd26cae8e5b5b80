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
#include "image/image.h"

static const uint64_t gib = UINT64_C(1) << 30;

// A sparse read-only file of `size` bytes with a little at both ends.
static char *make_raw(void **state, uint64_t size)
{
    char *path = temp_path(state, "raw");
    unlink(path);
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    if (size > 0) {
        assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
        assert_int_equal(pwrite(fd, "end", 3, (off_t)size - 3), 3);
    }
    assert_int_equal(fchmod(fd, 0400), 0);
    return path;
}

static void the_disk_is_a_grown_sparse_copy(void **state)
{
    struct error err;
    struct stat st;
    char bytes[8] = "";
    cleanup_free char *raw = make_raw(state, 2 * gib);
    cleanup_free char *disk = temp_path(state, "disk.raw");
    put_text(disk, "an older disk");
    assert_ok(image_install(raw, disk, 10 * gib, &err), err);
    assert_int_equal(stat(disk, &st), 0);
    assert_int_equal(st.st_size, 10 * gib);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(st.st_blocks < 4096);
    cleanup_close int fd = open(disk, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, bytes, 5, 0), 5);
    assert_string_equal(bytes, "begin");
    assert_int_equal(pread(fd, bytes, 8, (off_t)(2 * gib) - 3), 8);
    assert_memory_equal(bytes, "end\0\0\0\0\0", 8);

    // It is the disk's own.
    assert_int_equal(pwrite(fd, "other", 5, 0), 5);
    cleanup_close int source = open(raw, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(source, bytes, 5, 0), 5);
    assert_memory_equal(bytes, "begin", 5);
}

static void a_size_below_the_images_is_refused(void **state)
{
    struct error err;
    cleanup_free char *raw = make_raw(state, 2 * gib + 512);
    cleanup_free char *disk = temp_path(state, "small.raw");
    assert_fails(image_install(raw, disk, 2 * gib, &err), err, EINVAL,
                 "disk size 2 GB is smaller than the image, which needs 3 GB: use --disk-size 3 or "
                 "more");
    assert_false(file_exists(disk));
    assert_ok(image_install(raw, disk, 2 * gib + 512, &err), err);
}

static void an_empty_image_gives_zeros(void **state)
{
    struct error err;
    struct stat st;
    cleanup_free char *raw = make_raw(state, 0);
    cleanup_free char *disk = temp_path(state, "empty.raw");
    assert_ok(image_install(raw, disk, gib, &err), err);
    assert_int_equal(stat(disk, &st), 0);
    assert_int_equal(st.st_size, gib);
    assert_int_equal(st.st_blocks, 0);
}

static void nothing_is_left_of_a_failure(void **state)
{
    struct error err;
    cleanup_free char *raw = make_raw(state, gib);
    cleanup_free char *disk = temp_path(state, "folder");
    cleanup_free char *inside = temp_path(state, "folder/file");
    cleanup_free char *rubble = temp_path(state, "folder.tmp");
    cleanup_free char *missing = temp_path(state, "missing");
    assert_ok(file_make_dirs(disk, 0700, &err), err);
    put_text(inside, "x");
    put_text(rubble, "left by a killed process");
    assert_int_equal(image_install(raw, disk, gib, &err), -1);
    assert_false(file_exists(rubble));
    assert_true(file_exists(inside));
    assert_fails(image_install(missing, rubble, gib, &err), err, ENOENT, "missing");
    assert_false(file_exists(rubble));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_disk_is_a_grown_sparse_copy),
        cmocka_unit_test(a_size_below_the_images_is_refused),
        cmocka_unit_test(an_empty_image_gives_zeros),
        cmocka_unit_test(nothing_is_left_of_a_failure),
    };
    return cmocka_run_group_tests_name("disk", tests, temp_home_setup, temp_home_teardown);
}
