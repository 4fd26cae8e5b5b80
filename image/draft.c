// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/platform.h"
#include "image/convert.h"
#include "image/sparse.h"
#include "image/unpack.h"

int draft_open(struct draft *draft, const char *prefix, struct error *err)
{
    cleanup_free char *path = xasprintf("%s.tmp-XXXXXX", prefix);
    int fd = mkstemp(path);
    if (fd < 0)
        return error_errno(err, "cannot create '%s'", path);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    draft->path = steal_string(&path);
    draft->fd = fd;
    return 0;
}

void draft_release(struct draft *draft)
{
    cleanup_close_fd(&draft->fd);
    cleanup_unlink_path(&draft->path);
    *draft = (struct draft)DRAFT_INIT;
}

static int copy_raw(struct draft *draft, const struct source *source, struct watch *watch,
                    struct error *err)
{
    uint64_t size = source_size(source);
    // A clone costs nothing, but wants a name that is free.
    if (size > 0) {
        cleanup_unlink char *clone = xasprintf("%s-clone", draft->path);
        if (platform_clone_file(source->path, clone, err) == 0) {
            int fd = chmod(clone, 0600) < 0 ? -1 : open(clone, O_RDWR | O_CLOEXEC);
            if (fd < 0)
                return error_errno(err, "cannot open '%s'", clone);
            draft_release(draft);
            draft->path = steal_string(&clone);
            draft->fd = fd;
            return 0;
        }
        if (err->code != ENOTSUP)
            return -1;
    }
    uint64_t allocated = (uint64_t)source->st.st_blocks * 512;
    if (sparse_require_space(draft->fd, allocated < size ? allocated : size, "the raw image", err) <
        0)
        return -1;
    return sparse_copy(source->fd, source->name, draft->fd, draft->path, size, watch, err);
}

static int convert(struct draft *draft, const char *prefix, const struct source *source,
                   struct watch *watch, struct error *err);

// What was packed may be a raw disk, which is then ready, or a qcow2 image.
static int unpack(struct draft *draft, const char *prefix, const struct source *source,
                  struct watch *watch, struct error *err)
{
    uint64_t size;
    if (unpack_file(source->fd, source_size(source), source->name, draft->fd, watch, &size, err) <
        0)
        return -1;
    struct source inner = {.path = draft->path, .name = source->name, .label = source->label};
    if (format_detect(&inner.format, draft->fd, size, size, source->name, err) < 0)
        return error_append(err, " (inside the packed file)");
    if (inner.format == FORMAT_RAW)
        return 0;
    if (inner.format != FORMAT_QCOW2)
        return error_set(err, EBADMSG, "image '%s' is packed twice: unpack it once", source->name);

    CLEANUP(draft_release) struct draft unpacked = *draft;
    *draft = (struct draft)DRAFT_INIT;
    inner.fd = unpacked.fd;
    if (fstat(inner.fd, &inner.st) < 0)
        return error_errno(err, "cannot look at '%s'", unpacked.path);
    if (draft_open(draft, prefix, err) < 0)
        return -1;
    return convert(draft, prefix, &inner, watch, err);
}

static int convert(struct draft *draft, const char *prefix, const struct source *source,
                   struct watch *watch, struct error *err)
{
    uint64_t size;
    switch (source->format) {
    case FORMAT_RAW:
        return copy_raw(draft, source, watch, err);
    case FORMAT_QCOW2:
        return convert_qcow2(source->fd, source_size(source), source->name, draft->fd, watch, &size,
                             err);
    case FORMAT_XZ:
    case FORMAT_ZSTD:
    case FORMAT_GZIP:
        break;
    }
    return unpack(draft, prefix, source, watch, err);
}

int draft_make(struct draft *draft, const char *prefix, const struct source *source,
               struct watch *watch, struct error *err)
{
    CLEANUP(draft_release) struct draft made = DRAFT_INIT;
    if (draft_open(&made, prefix, err) < 0)
        return -1;
    watch_begin(watch, "Converting", source->label);
    if (convert(&made, prefix, source, watch, err) < 0 || source_check_unchanged(source, err) < 0) {
        watch_abandon(watch);
        return -1;
    }
    watch_end(watch, source_size(source));
    *draft = made;
    made = (struct draft)DRAFT_INIT;
    return 0;
}
