// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/format.h"

static int detect(void **state, const char *bytes, size_t length, uint64_t size,
                  enum image_format *format, struct error *err)
{
    cleanup_free char *path = temp_path(state, "image");
    put_file(path, bytes, length);
    cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
    if (size > length)
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
    else
        size = length;
    return format_detect(format, fd, size, size, path, err);
}

static void accepted_formats_are_told_by_content(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        enum image_format format;
    } cases[] = {
        {"QFI\xfb\0\0\0\3", 8, FORMAT_QCOW2},
        {"\xfd\x37zXZ\0\0\4", 8, FORMAT_XZ},
        {"\x28\xb5\x2f\xfd\x04\x58", 6, FORMAT_ZSTD},
        {"\x1f\x8b\x08\x00", 4, FORMAT_GZIP},
        {"", 0, FORMAT_RAW},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        enum image_format format = FORMAT_RAW;
        assert_ok(detect(state, cases[i].bytes, cases[i].length, 0, &format, &err), err);
        assert_int_equal(format, cases[i].format);
    }
}

static void raw_disks_need_a_boot_record_or_a_partition_table(void **state)
{
    struct error err;
    enum image_format format = FORMAT_QCOW2;
    char disk[8192] = "";
    assert_fails(detect(state, disk, sizeof(disk), 0, &format, &err), err, EBADMSG,
                 "not a bootable disk image");
    memcpy(disk + 510, "\x55\xaa", 2);
    assert_ok(detect(state, disk, sizeof(disk), 0, &format, &err), err);
    assert_int_equal(format, FORMAT_RAW);
    assert_fails(detect(state, disk, sizeof(disk) - 1, 0, &format, &err), err, EBADMSG,
                 "not a multiple of 512");
    memset(disk, 0, sizeof(disk));
    memcpy(disk + 512, "EFI PART", 8);
    assert_ok(detect(state, disk, sizeof(disk), 0, &format, &err), err);
    memset(disk, 0, sizeof(disk));
    memcpy(disk + 4096, "EFI PART", 8);
    assert_ok(detect(state, disk, sizeof(disk), 0, &format, &err), err);
    assert_fails(detect(state, "hello world", 11, 0, &format, &err), err, EBADMSG,
                 "not a bootable disk image");
}

static void everything_else_is_refused_by_name(void **state)
{
    static const struct {
        size_t at;
        const char *bytes;
        size_t length;
        const char *words;
    } cases[] = {
        {0x8001, "CD001", 5, "installer ISO: use a Cloud image"},
        {0, "KDMV\1\0\0\0", 8, "VMDK"},
        {0, "# Disk DescriptorFile\nversion=1\n", 32, "VMDK"},
        {0, "vhdxfile", 8, "VHDX"},
        {0, "conectix", 8, "VHD disk"},
        {64, "\x7f\x10\xda\xbe", 4, "VDI"},
        {0, "BZh91AY", 7, "bzip2: unpack it"},
        {0, "PK\3\4\x14", 5, "zip archive"},
        {257, "ustar", 5, "tar archive"},
        {0, "LUKS\xba\xbe", 6, "LUKS"},
        {0, "<!DOCTYPE html><html>", 21, "web page"},
        {0, "\xef\xbb\xbf\r\n\t <HTML lang=en>", 21, "web page"},
        {0, "<?xml version='1.0'?><Error>AccessDenied", 40, "web page"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        enum image_format format = FORMAT_QCOW2;
        cleanup_free char *disk = xcalloc(1, 65536);
        memcpy(disk + 510, "\x55\xaa", 2); // as installer ISOs have it too
        memcpy(disk + cases[i].at, cases[i].bytes, cases[i].length);
        assert_fails(detect(state, disk, 65536, 0, &format, &err), err, EBADMSG, cases[i].words);
        assert_int_equal(format, FORMAT_QCOW2);
    }
}

static void a_vhd_of_fixed_size_is_known_by_its_last_sector(void **state)
{
    struct error err;
    enum image_format format;
    char disk[4096] = "";
    memcpy(disk + 510, "\x55\xaa", 2);
    memcpy(disk + sizeof(disk) - 512, "conectix", 8);
    assert_fails(detect(state, disk, sizeof(disk), 0, &format, &err), err, EBADMSG, "VHD");
}

static void a_beginning_is_enough_for_a_file_that_is_not_whole(void **state)
{
    struct error err;
    enum image_format format = FORMAT_QCOW2;
    cleanup_free char *path = temp_path(state, "image");
    cleanup_free char *head = xcalloc(1, (size_t)format_head);
    memcpy(head + 510, "\x55\xaa", 2);
    put_file(path, head, (size_t)format_head);
    cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_ok(format_detect(&format, fd, format_head, 5 << 20, path, &err), err);
    assert_int_equal(format, FORMAT_RAW);
    assert_fails(format_detect(&format, fd, format_head, (5 << 20) + 7, path, &err), err, EBADMSG,
                 "multiple");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_formats_are_told_by_content),
        cmocka_unit_test(raw_disks_need_a_boot_record_or_a_partition_table),
        cmocka_unit_test(everything_else_is_refused_by_name),
        cmocka_unit_test(a_vhd_of_fixed_size_is_known_by_its_last_sector),
        cmocka_unit_test(a_beginning_is_enough_for_a_file_that_is_not_whole),
    };
    return cmocka_run_group_tests_name("format", tests, temp_home_setup, temp_home_teardown);
}
