// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes as a qcow2 image. It must be refused with an error or be read, and then three ways
// must agree: cluster by cluster in descending order, the converter, and the converter on a file
// that arrives in pieces.

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/convert.h"
#include "image/format.h"
#include "image/qcow2.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const uint64_t largest_disk = 4 << 20; // that is converted
static const uint64_t most_clusters = 4096;   // that are read of a larger one

static int open_scratch(void)
{
    const char *folder = getenv("TMPDIR");
    cleanup_free char *path = xasprintf("%s/pmv-fuzz.XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) {
        perror(path);
        abort();
    }
    unlink(path);
    return fd;
}

static void fill(int fd, const uint8_t *bytes, size_t length)
{
    if (ftruncate(fd, 0) < 0 || pwrite(fd, bytes, length, 0) != (ssize_t)length)
        abort();
}

static void free_image(struct qcow2 **image)
{
    qcow2_free(*image);
}

static void free_reader(struct qcow2_reader **reader)
{
    qcow2_reader_free(*reader);
}

static void free_converter(struct converter **converter)
{
    converter_free(*converter);
}

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

// The disk, as single reads give it. -1: some cluster is damaged.
static int read_disk(const struct qcow2 *image, unsigned char *disk, uint64_t clusters)
{
    CLEANUP(free_reader) struct qcow2_reader *reader = qcow2_reader_new(image);
    size_t size = qcow2_cluster_size(image);
    struct error err;
    int result = 0;
    for (uint64_t i = clusters; i-- > 0;) {
        bool zero;
        if (qcow2_read(reader, i, disk + i * size, &zero, &err) < 0) {
            assert(err.code == EBADMSG);
            result = -1;
        } else if (zero) {
            memset(disk + i * size, 0, size);
        }
    }
    return result;
}

static void assert_same(int to, const unsigned char *disk, uint64_t size)
{
    cleanup_free unsigned char *back = xmalloc((size_t)size);
    assert(lseek(to, 0, SEEK_END) == (off_t)size);
    assert(pread(to, back, (size_t)size, 0) == (ssize_t)size);
    assert(memcmp(back, disk, (size_t)size) == 0);
}

static void convert_whole(int from, size_t length, int to, const unsigned char *disk, bool good)
{
    struct error err;
    struct watch watch = {.quiet = true};
    uint64_t size;
    watch_begin(&watch, "Converting", "it");
    if (ftruncate(to, 0) < 0)
        abort();
    int result = convert_qcow2(from, length, "fuzz", to, &watch, &size, &err);
    assert((result == 0) == good);
    assert(result == 0 || err.code == EBADMSG);
    if (result == 0)
        assert_same(to, disk, size);
}

static void convert_arriving(int from, const uint8_t *bytes, size_t length, int to,
                             const unsigned char *disk, bool good)
{
    CLEANUP(free_converter) struct converter *converter = NULL;
    struct error err;
    struct watch watch = {.quiet = true};
    uint64_t size;
    watch_begin(&watch, "Converting", "it");
    if (ftruncate(to, 0) < 0)
        abort();
    for (size_t have = 0, step = length / 5 + 1; have < length; have += step) {
        size_t piece = length - have < step ? length - have : step;
        if (have == 0)
            fill(from, bytes, piece);
        else if (pwrite(from, bytes + have, piece, (off_t)have) != (ssize_t)piece)
            abort();
        if (converter)
            converter_arrived(converter, have + piece);
        else if (converter_begin(&converter, from, have + piece, length, "fuzz", to, &err) < 0)
            assert(err.code == EBADMSG);
    }
    assert(converter);
    int result = converter_finish(converter, &watch, &size, &err);
    assert((result == 0) == good);
    if (result == 0)
        assert_same(to, disk, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static int from = -1, to = -1;
    if (from < 0) {
        from = open_scratch();
        to = open_scratch();
    }
    fill(from, bytes, length);
    struct error err;
    enum image_format format;
    if (format_detect(&format, from, length, length, "fuzz", &err) < 0)
        assert(err.code == EBADMSG);

    CLEANUP(free_image) struct qcow2 *image = NULL;
    if (qcow2_open(&image, from, length, length, "fuzz", &err) < 0) {
        assert(err.code == EBADMSG && err.message[0]);
        return 0;
    }
    uint64_t size = qcow2_virtual_size(image), cluster = qcow2_cluster_size(image), data;
    bool good = true;
    if (size / cluster < 64 * most_clusters) {
        good = qcow2_check(image, &data, &err) == 0;
        assert(good || err.code == EBADMSG);
    }
    uint64_t clusters = round_up(size, cluster) / cluster;
    if (size > largest_disk) {
        CLEANUP(free_reader) struct qcow2_reader *reader = qcow2_reader_new(image);
        cleanup_free unsigned char *one = xmalloc((size_t)cluster);
        uint64_t most = most_clusters * 512 / cluster + 8;
        for (uint64_t i = 0; i < clusters && i < most; i++) {
            bool zero;
            if (qcow2_read(reader, i, one, &zero, &err) < 0)
                assert(err.code == EBADMSG);
        }
        return 0;
    }
    cleanup_free unsigned char *disk = xmalloc((size_t)(clusters * cluster));
    if (read_disk(image, disk, clusters) < 0)
        good = false;
    convert_whole(from, length, to, disk, good);
    convert_arriving(from, bytes, length, to, disk, good);
    return 0;
}
