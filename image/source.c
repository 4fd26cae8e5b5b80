// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/source.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "image/qcow2.h"

void source_release(struct source *source)
{
    cleanup_close_fd(&source->fd);
    source->fd = -1;
}

uint64_t source_size(const struct source *source)
{
    return S_ISREG(source->st.st_mode) ? (uint64_t)source->st.st_size : 0;
}

// podman's own tests make machines from /dev/null. Of other things that are not files,
// nobody knows where they end.
static bool is_null_device(const struct stat *st)
{
    struct stat null;
    return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

static void free_image(struct qcow2 **image)
{
    qcow2_free(*image);
}

int source_open(struct source *source, struct error *err)
{
    source->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd < 0 || fstat(source->fd, &source->st) < 0)
        return error_errno(err, "cannot open image '%s'", source->name);
    if (!S_ISREG(source->st.st_mode) && !is_null_device(&source->st))
        return error_set(err, EBADMSG, "image '%s' is not a regular file", source->name);
    uint64_t size = source_size(source);
    if (format_detect(&source->format, source->fd, size, size, source->name, err) < 0)
        return -1;
    if (source->format != FORMAT_QCOW2)
        return 0;
    CLEANUP(free_image) struct qcow2 *image = NULL;
    uint64_t data;
    if (qcow2_open(&image, source->fd, size, size, source->name, err) < 0)
        return -1;
    return qcow2_check(image, &data, err);
}

int source_digest(const struct source *source, char hex[DIGEST_HEX], struct watch *watch,
                  struct error *err)
{
    uint64_t size = source_size(source);
    watch_begin(watch, "Checking", source->label);
    if (digest_file(hex, source->fd, size, source->name, watch, err) < 0) {
        watch_abandon(watch);
        return -1;
    }
    watch_end(watch, size);
    return 0;
}

int source_check_unchanged(const struct source *source, struct error *err)
{
    struct stat now;
    if (stat(source->path, &now) < 0)
        return error_errno(err, "cannot look at image '%s'", source->name);
    if (now.st_dev != source->st.st_dev || now.st_ino != source->st.st_ino ||
        now.st_size != source->st.st_size || now.st_mtime != source->st.st_mtime)
        return error_set(err, EBUSY, "image '%s' was changed while it was read", source->name);
    return 0;
}
