// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/unpack.h"

enum { LENGTH = 3 << 20 };
static const char *const filters[] = {"xz", "zstd", "gzip"};

static char *make_plain(void)
{
    char *plain = xcalloc(1, LENGTH);
    for (size_t i = 0; i < 200000; i++)
        plain[i] = (char)(i * i / 11);
    plain[LENGTH - 1] = 1;
    return plain;
}

static void pack(const char *path, const char *filter, const void *bytes, size_t length)
{
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    assert_int_equal(archive_write_add_filter_by_name(archive, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_raw(archive), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(archive, 1);
    assert_int_equal(archive_write_open_filename(archive, path), ARCHIVE_OK);
    archive_entry_set_pathname(entry, "data");
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(archive, bytes, length), length);
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_entry_free(entry);
    archive_write_free(archive);
}

// Unpacks `path`, or its first `cut` bytes, into "plain".
static int unpack(void **state, const char *path, uint64_t cut, uint64_t *size, struct error *err)
{
    struct watch watch = {.quiet = true};
    cleanup_free char *target = temp_path(state, "plain");
    cleanup_close int from = open(path, O_RDWR | O_CLOEXEC);
    cleanup_close int to = open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (cut)
        assert_int_equal(ftruncate(from, (off_t)cut), 0);
    watch_begin(&watch, "Unpacking", path);
    return unpack_file(from, cut, "packed", to, &watch, size, err);
}

static void each_packing_gives_the_plain_file_sparsely(void **state)
{
    cleanup_free char *plain = make_plain();
    cleanup_free char *path = temp_path(state, "packed");
    cleanup_free char *target = temp_path(state, "plain");
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct error err;
        uint64_t size, allocated;
        pack(path, filters[i], plain, LENGTH);
        assert_ok(unpack(state, path, 0, &size, &err), err);
        assert_int_equal(size, LENGTH);
        cleanup_free char *back = get_text(target);
        assert_memory_equal(back, plain, LENGTH);
        assert_ok(file_size(target, &size, &allocated, &err), err);
        assert_int_equal(size, LENGTH);
        assert_true(allocated < LENGTH / 2);
    }
}

static void truncated_and_damaged_files_are_refused(void **state)
{
    cleanup_free char *plain = make_plain();
    cleanup_free char *path = temp_path(state, "packed");
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct error err;
        uint64_t size, allocated;
        pack(path, filters[i], plain, LENGTH);
        assert_ok(file_size(path, &size, &allocated, &err), err);
        for (uint64_t cut = size - 8; cut > 100; cut = cut * 2 / 3) {
            uint64_t unpacked;
            assert_fails(unpack(state, path, cut, &unpacked, &err), err, EBADMSG,
                         "cannot unpack 'packed'");
        }
    }
}

static void a_packed_nothing_is_refused(void **state)
{
    cleanup_free char *path = temp_path(state, "packed");
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct error err;
        uint64_t size;
        pack(path, filters[i], "", 0);
        assert_int_equal(unpack(state, path, 0, &size, &err), -1);
        assert_int_equal(err.code, EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_packing_gives_the_plain_file_sparsely),
        cmocka_unit_test(truncated_and_damaged_files_are_refused),
        cmocka_unit_test(a_packed_nothing_is_refused),
    };
    return cmocka_run_group_tests_name("unpack", tests, temp_home_setup, temp_home_teardown);
}
