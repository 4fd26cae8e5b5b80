// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "image/sparse.h"

static const uint64_t gib = UINT64_C(1) << 30;

// Copies what is data, for file systems that cannot clone.
static int copy_disk(const char *raw, const char *temporary, struct error *err)
{
    cleanup_close int from = open(raw, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return error_errno(err, "cannot open '%s'", raw);
    cleanup_close int to = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return error_errno(err, "cannot create '%s'", temporary);
    uint64_t size, allocated;
    if (file_size(raw, &size, &allocated, err) < 0 ||
        sparse_require_space(to, allocated, "the machine's disk", err) < 0)
        return -1;
    struct watch watch = {.quiet = true};
    watch_begin(&watch, "Copying", raw);
    if (sparse_copy(from, raw, to, temporary, size, &watch, err) < 0)
        return sparse_note_space(to, allocated, err);
    return 0;
}

static int grow(const char *temporary, uint64_t size, struct error *err)
{
    // A clone has the mode of the image, which is kept read-only.
    if (chmod(temporary, 0600) < 0)
        return error_errno(err, "cannot change the mode of '%s'", temporary);
    cleanup_close int fd = open(temporary, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot open '%s'", temporary);
    if (ftruncate(fd, (off_t)size) < 0 || platform_sync(fd) < 0)
        return error_errno(err, "cannot grow '%s' to %" PRIu64 " bytes", temporary, size);
    return 0;
}

int image_install(const char *raw, const char *disk, uint64_t size, struct error *err)
{
    uint64_t image_size, allocated;
    if (file_size(raw, &image_size, &allocated, err) < 0)
        return -1;
    if (size < image_size) {
        uint64_t needed = (image_size + gib - 1) / gib;
        return error_set(err, EINVAL,
                         "disk size %" PRIu64 " GB is smaller than the image, which needs %" PRIu64
                         " GB: use --disk-size %" PRIu64 " or more",
                         size / gib, needed, needed);
    }
    if (size > INT64_MAX)
        return error_set(err, EINVAL, "disk size %" PRIu64 " GB is too large", size / gib);

    // One name is enough, since the machine is locked: what a killed process left goes first.
    cleanup_unlink char *temporary = xasprintf("%s.tmp", disk);
    if (unlink(temporary) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", temporary);
    if (platform_clone_file(raw, temporary, err) < 0 &&
        (err->code != ENOTSUP || copy_disk(raw, temporary, err) < 0))
        return -1;
    if (grow(temporary, size, err) < 0)
        return -1;
    if (rename(temporary, disk) < 0)
        return error_errno(err, "cannot create '%s'", disk);
    return file_sync_parent(disk, err);
}
