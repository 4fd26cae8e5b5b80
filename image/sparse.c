// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/sparse.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"

// Holes are looked for in steps of this. A smaller step saves little space and makes many
// small extents, which every clone of the file pays for.
static const size_t granule = 16384;
static const size_t chunk_size = 1 << 20;

bool sparse_is_zero(const void *bytes, size_t length)
{
    const char *at = bytes;
    return length == 0 || (at[0] == 0 && memcmp(at, at + 1, length - 1) == 0);
}

static int write_at(int fd, const char *bytes, size_t length, uint64_t offset)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, bytes, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return 0;
}

// The granules are those of the file, so that a write that begins between two makes no
// smaller extents.
static size_t next_granule(uint64_t offset, size_t left)
{
    size_t length = granule - (size_t)(offset % granule);
    return length < left ? length : left;
}

int sparse_write(int fd, const void *bytes, size_t length, uint64_t offset)
{
    const char *from = bytes;
    for (size_t at = 0; at < length;) {
        size_t step = next_granule(offset + at, length - at);
        if (sparse_is_zero(from + at, step)) {
            at += step;
            continue;
        }
        size_t end = at + step;
        while (end < length) {
            step = next_granule(offset + end, length - end);
            if (sparse_is_zero(from + end, step))
                break;
            end += step;
        }
        if (write_at(fd, from + at, end - at, offset + at) < 0)
            return -1;
        at = end;
    }
    return 0;
}

static int copy_extent(int from, const char *from_name, int to, const char *to_name, uint64_t at,
                       uint64_t end, uint64_t size, char *chunk, struct watch *watch,
                       struct error *err)
{
    while (at < end) {
        size_t wanted = end - at < chunk_size ? (size_t)(end - at) : chunk_size;
        ssize_t n = pread(from, chunk, wanted, (off_t)at);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n < 0)
            return error_errno(err, "cannot read '%s'", from_name);
        else if (n == 0)
            return error_set(err, EIO, "'%s' became shorter while it was read", from_name);
        if (sparse_write(to, chunk, (size_t)n, at) < 0)
            return error_errno(err, "cannot write '%s'", to_name);
        at += (uint64_t)n;
        if (watch_step(watch, at, size, err) < 0)
            return -1;
    }
    return 0;
}

int sparse_copy(int from, const char *from_name, int to, const char *to_name, uint64_t size,
                struct watch *watch, struct error *err)
{
    cleanup_free char *chunk = xmalloc(chunk_size);
    for (uint64_t at = 0; at < size;) {
        uint64_t end = size;
        off_t data = lseek(from, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break; // nothing but a hole up to the end
        if (data >= 0) {
            at = (uint64_t)data;
            off_t hole = lseek(from, data, SEEK_HOLE);
            if (hole > data && (uint64_t)hole < size)
                end = (uint64_t)hole;
        } // else the file system does not tell: all of it is data
        if (at >= size)
            break;
        if (copy_extent(from, from_name, to, to_name, at, end, size, chunk, watch, err) < 0)
            return -1;
        at = end;
    }
    if (ftruncate(to, (off_t)size) < 0)
        return error_errno(err, "cannot grow '%s'", to_name);
    return 0;
}

int sparse_require_space(int fd, uint64_t bytes, const char *what, struct error *err)
{
    struct statvfs fs;
    if (fstatvfs(fd, &fs) < 0)
        return error_errno(err, "cannot ask for the free space for %s", what);
    // Some network file systems know nothing and say 0 of 0.
    if (fs.f_blocks == 0)
        return 0;
    uint64_t free_blocks = fs.f_bavail;
    if (bytes / fs.f_frsize < free_blocks)
        return 0;
    error_set(err, ENOSPC, "not enough disk space for %s", what);
    return sparse_note_space(fd, bytes, err);
}

int sparse_note_space(int fd, uint64_t bytes, struct error *err)
{
    struct statvfs fs;
    char needed[17], available[17];
    if (err->code != ENOSPC || fstatvfs(fd, &fs) < 0)
        return -1;
    progress_size(needed, bytes);
    progress_size(available, (uint64_t)fs.f_bavail * fs.f_frsize);
    return error_append(err, ": %s needed, %s free", needed, available);
}
