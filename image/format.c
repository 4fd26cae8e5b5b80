// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/format.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"

#define SECTOR 512
#define HEAD 40960 // up to the second volume descriptor of an ISO

const uint64_t format_head = HEAD;

struct magic {
    size_t at;
    const char *bytes;
    size_t length;
    const char *what, *advice;
};
#define MAGIC(at, bytes) at, bytes, sizeof(bytes) - 1

static const char use_cloud_image[] = "use a Cloud image in qcow2 or raw format";
static const char use_qemu_img[] = "convert it with 'qemu-img convert -O qcow2'";
static const char unpack_it[] = "unpack it and give the disk image inside";

static const struct magic accepted[] = {
    [FORMAT_QCOW2] = {MAGIC(0, "QFI\xfb"), NULL, NULL},
    [FORMAT_XZ] = {MAGIC(0, "\xfd"
                            "7zXZ\0"),
                   NULL, NULL},
    [FORMAT_ZSTD] = {MAGIC(0, "\x28\xb5\x2f\xfd"), NULL, NULL},
    [FORMAT_GZIP] = {MAGIC(0, "\x1f\x8b\x08"), NULL, NULL},
};

static const struct magic refused[] = {
    // Installer ISOs for a USB stick also have a boot record, so this comes before raw.
    {MAGIC(0x8001, "CD001"), "an installer ISO", use_cloud_image},
    {MAGIC(0x8801, "CD001"), "an installer ISO", use_cloud_image},
    {MAGIC(0x8001, "NSR0"), "a UDF disc image", use_cloud_image},
    {MAGIC(0, "KDMV"), "a VMDK disk image", use_qemu_img},
    {MAGIC(0, "COWD"), "a VMDK disk image", use_qemu_img},
    {MAGIC(0, "# Disk DescriptorFile"), "a VMDK descriptor", use_qemu_img},
    {MAGIC(0, "vhdxfile"), "a VHDX disk image", use_qemu_img},
    {MAGIC(0, "conectix"), "a VHD disk image", use_qemu_img},
    {MAGIC(64, "\x7f\x10\xda\xbe"), "a VDI disk image", use_qemu_img},
    {MAGIC(0, "QED\0"), "a QED disk image", use_qemu_img},
    {MAGIC(0, "WithoutFreeSpace"), "a Parallels disk image", use_qemu_img},
    {MAGIC(0, "WithouFreSpacExt"), "a Parallels disk image", use_qemu_img},
    {MAGIC(0, "\x3a\xff\x26\xed"), "an Android sparse image", use_cloud_image},
    {MAGIC(0, "BZh"), "packed with bzip2", unpack_it},
    {MAGIC(0, "\x04\x22\x4d\x18"), "packed with lz4", unpack_it},
    {MAGIC(0, "LZIP"), "packed with lzip", unpack_it},
    {MAGIC(0, "\x1f\x9d"), "packed with compress", unpack_it},
    {MAGIC(0, "PK\x03\x04"), "a zip archive", unpack_it},
    {MAGIC(0, "7z\xbc\xaf\x27\x1c"), "a 7z archive", unpack_it},
    {MAGIC(0, "Rar!"), "a rar archive", unpack_it},
    {MAGIC(257, "ustar"), "a tar archive", unpack_it},
    {MAGIC(0, "LUKS\xba\xbe"), "an encrypted (LUKS) volume", use_cloud_image},
    {MAGIC(0, "hsqs"), "a squashfs file system", use_cloud_image},
    {MAGIC(0, "\x7f"
              "ELF"),
     "a program (ELF)", use_cloud_image},
};

// Formats that look like a raw disk and tell what they are only in the last sector.
static const struct magic refused_by_tail[] = {
    {MAGIC(0, "conectix"), "a VHD disk image", use_qemu_img},
    {MAGIC(0, "koly"), "an Apple disk image (DMG)", use_cloud_image},
};

static bool matches(const struct magic *magic, const char *bytes, size_t length)
{
    return magic->at + magic->length <= length &&
           memcmp(bytes + magic->at, magic->bytes, magic->length) == 0;
}

static int refuse(const char *name, const struct magic *magic, struct error *err)
{
    return error_set(err, EBADMSG, "'%s' is %s: %s", name, magic->what, magic->advice);
}

static bool is_web_page(const char *bytes, size_t length)
{
    static const char *const openings[] = {"<!doctype", "<html", "<head", "<body", "<?xml", "<!--"};
    size_t at = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length && memchr(" \t\r\n", bytes[at], 4))
        at++;
    for (size_t i = 0; i < ARRAY_SIZE(openings); i++) {
        size_t wanted = strlen(openings[i]);
        if (wanted <= length - at && strncasecmp(bytes + at, openings[i], wanted) == 0)
            return true;
    }
    return false;
}

static bool is_partitioned(const char *bytes, size_t length)
{
    static const char gpt[] = "EFI PART";
    static const size_t sector_sizes[] = {512, 4096};
    if (length >= SECTOR && memcmp(bytes + SECTOR - 2, "\x55\xaa", 2) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(sector_sizes); i++) {
        size_t at = sector_sizes[i];
        if (at + sizeof(gpt) - 1 <= length && memcmp(bytes + at, gpt, sizeof(gpt) - 1) == 0)
            return true;
    }
    return false;
}

static int read_at(int fd, char *bytes, size_t length, uint64_t offset, const char *name,
                   struct error *err)
{
    for (size_t got = 0; got < length;) {
        ssize_t n = pread(fd, bytes + got, length - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "cannot read '%s'", name);
        if (n == 0)
            return error_set(err, EIO, "'%s' became shorter while it was read", name);
        got += (size_t)n;
    }
    return 0;
}

static int check_tail(int fd, uint64_t size, const char *name, struct error *err)
{
    char tail[SECTOR];
    if (size < sizeof(tail))
        return 0;
    if (read_at(fd, tail, sizeof(tail), size - sizeof(tail), name, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(refused_by_tail); i++) {
        if (matches(&refused_by_tail[i], tail, sizeof(tail)))
            return refuse(name, &refused_by_tail[i], err);
    }
    return 0;
}

int format_detect(enum image_format *format, int fd, uint64_t have, uint64_t size, const char *name,
                  struct error *err)
{
    char head[HEAD];
    size_t length = have < sizeof(head) ? (size_t)have : sizeof(head);
    if (read_at(fd, head, length, 0, name, err) < 0)
        return -1;

    for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
        if (accepted[i].length && matches(&accepted[i], head, length)) {
            *format = (enum image_format)i;
            return 0;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        if (matches(&refused[i], head, length))
            return refuse(name, &refused[i], err);
    }
    if (is_web_page(head, length))
        return error_set(err, EBADMSG,
                         "'%s' is a web page (HTML or XML), not a disk image: give the address of "
                         "the image itself",
                         name);
    if (have == size && check_tail(fd, size, name, err) < 0)
        return -1;
    if (length > 0 && !is_partitioned(head, length))
        return error_set(err, EBADMSG,
                         "'%s' is not a bootable disk image: it is neither qcow2 nor a raw disk "
                         "with a boot record or partition table",
                         name);
    if (size % SECTOR != 0)
        return error_set(err, EBADMSG,
                         "'%s' is not a whole raw disk image: its size is not a multiple of %d "
                         "bytes (is it truncated?)",
                         name, SECTOR);
    *format = FORMAT_RAW;
    return 0;
}
