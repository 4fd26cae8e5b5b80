// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "image/cache.h"
#include "image/convert.h"
#include "image/digest.h"
#include "image/download.h"
#include "image/format.h"
#include "image/qcow2.h"
#include "image/sparse.h"
#include "image/unpack.h"

// The image as it was fetched or given.
struct source {
    const char *path;  // borrowed
    const char *name;  // as messages call it; borrowed
    const char *label; // as the progress calls it; borrowed
    int fd;
    struct stat st;
    enum image_format format;
};

static void source_release(struct source *source)
{
    cleanup_close_fd(&source->fd);
}

static uint64_t source_size(const struct source *source)
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

// Opens, and refuses what can be told without unpacking anything.
static int source_open(struct source *source, struct error *err)
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
    if (qcow2_open(&image, source->fd, size, source->name, err) < 0)
        return -1;
    return qcow2_check(image, &data, err);
}

static int source_digest(const struct source *source, char hex[DIGEST_HEX], struct watch *watch,
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

static int check_unchanged(const struct source *source, struct error *err)
{
    struct stat now;
    if (stat(source->path, &now) < 0)
        return error_errno(err, "cannot look at image '%s'", source->name);
    if (now.st_dev != source->st.st_dev || now.st_ino != source->st.st_ino ||
        now.st_size != source->st.st_size || now.st_mtime != source->st.st_mtime)
        return error_set(err, EBUSY, "image '%s' was changed while it was read", source->name);
    return 0;
}

// A half-made raw image in the cache.
struct draft {
    char *path;
    int fd;
};

#define DRAFT_INIT \
    {              \
        NULL, -1   \
    }

static void draft_release(struct draft *draft)
{
    cleanup_close_fd(&draft->fd);
    cleanup_unlink_path(&draft->path);
    *draft = (struct draft)DRAFT_INIT;
}

static int copy_raw(const struct source *source, struct draft *draft, struct watch *watch,
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

static int convert(const struct source *source, const struct cache_entry *entry,
                   struct draft *draft, struct watch *watch, struct error *err);

// What was packed may be a raw disk, which is then ready, or a qcow2 image.
static int unpack(const struct source *source, const struct cache_entry *entry, struct draft *draft,
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
    if (cache_temporary(entry, &draft->path, &draft->fd, err) < 0)
        return -1;
    return convert(&inner, entry, draft, watch, err);
}

static int convert(const struct source *source, const struct cache_entry *entry,
                   struct draft *draft, struct watch *watch, struct error *err)
{
    uint64_t size;
    switch (source->format) {
    case FORMAT_RAW:
        return copy_raw(source, draft, watch, err);
    case FORMAT_QCOW2:
        return convert_qcow2(source->fd, source_size(source), source->name, draft->fd, watch, &size,
                             err);
    case FORMAT_XZ:
    case FORMAT_ZSTD:
    case FORMAT_GZIP:
        break;
    }
    return unpack(source, entry, draft, watch, err);
}

// From the verified source to the entry's raw image.
static int make_raw(const struct source *source, const struct cache_entry *entry,
                    struct watch *watch, const char *origin, uint64_t *size, struct error *err)
{
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    if (cache_temporary(entry, &draft.path, &draft.fd, err) < 0)
        return -1;
    watch_begin(watch, "Converting", source->label);
    if (convert(source, entry, &draft, watch, err) < 0 || check_unchanged(source, err) < 0 ||
        cache_keep(entry, draft.path, draft.fd, origin, size, err) < 0) {
        watch_abandon(watch);
        return -1;
    }
    watch_end(watch, *size);
    return 0;
}

// A download is refused as soon as its beginning shows what it is.
static int check_head(int fd, uint64_t have, uint64_t total, const char *label, struct error *err)
{
    enum image_format format;
    return format_detect(&format, fd, have, total, label, err);
}

static int fetch_url(const struct image_ref *ref, const struct cache_entry *entry,
                     struct watch *watch, uint64_t *size, struct error *err)
{
    const struct download download = {
        .url = ref->source,
        .sha256 = ref->sha256,
        .size = ref->size,
        .path = entry->download,
        .label = ref->label,
        .check = check_head,
    };
    CLEANUP(source_release)
    struct source source = {
        .path = entry->download, .name = ref->label, .label = ref->label, .fd = -1};
    char digest[DIGEST_HEX] = "";
    // One that is there is from a run that ended before it was converted. The disk may have
    // spoilt it since, so it is only as good as its digest.
    if (file_exists(entry->download) && source_open(&source, err) == 0 &&
        source_digest(&source, digest, watch, err) < 0 && err->code == EINTR)
        return -1;
    if (strcmp(digest, ref->sha256) != 0) {
        source_release(&source);
        source.fd = -1;
        if (unlink(entry->download) < 0 && errno != ENOENT)
            return error_errno(err, "cannot remove '%s'", entry->download);
        if (download_fetch(&download, watch, err) < 0)
            return -1;
        if (source_open(&source, err) < 0) {
            unlink(entry->download);
            return -1;
        }
    }
    int result = make_raw(&source, entry, watch, ref->source, size, err);
    // What cannot be converted will not become better; after a full disk or Ctrl-C it is kept.
    if (result == 0 || err->code == EBADMSG)
        unlink(entry->download);
    return result;
}

static int fetch_file(const struct image_ref *ref, const struct image_options *options,
                      struct watch *watch, struct cache_entry *entry, uint64_t *size,
                      struct error *err)
{
    CLEANUP(source_release)
    struct source source = {
        .path = ref->source, .name = ref->source, .label = ref->label, .fd = -1};
    char digest[DIGEST_HEX];
    if (source_open(&source, err) < 0 || source_digest(&source, digest, watch, err) < 0)
        return -1;
    if (ref->sha256 && strcmp(ref->sha256, digest) != 0)
        return error_set(err, EBADMSG, "image '%s' has the wrong SHA-256: expected %s, got %s",
                         source.name, ref->sha256, digest);
    if (cache_enter(entry, options->cache, digest, ref->label, watch, err) < 0)
        return -1;
    if (cache_find(entry, ref->label, size))
        return 0;
    return make_raw(&source, entry, watch, ref->source, size, err);
}

int image_fetch(const struct image_ref *ref, const struct image_options *options, char **raw,
                char **digest, uint64_t *virtual_size, struct error *err)
{
    CLEANUP(cache_leave) struct cache_entry entry = CACHE_ENTRY_INIT;
    struct watch watch = {.quiet = options->quiet, .interrupted = options->interrupted};
    uint64_t size = 0;
    if (ref->source[0] == '/') {
        if (fetch_file(ref, options, &watch, &entry, &size, err) < 0)
            return -1;
    } else {
        if (!ref->sha256)
            return error_set(err, EINVAL, "no digest is known for image '%s'", ref->source);
        if (cache_enter(&entry, options->cache, ref->sha256, ref->label, &watch, err) < 0)
            return -1;
        if (!cache_find(&entry, ref->label, &size) &&
            fetch_url(ref, &entry, &watch, &size, err) < 0)
            return -1;
    }
    *raw = xstrdup(entry.raw);
    *digest = xstrdup(entry.digest);
    *virtual_size = size;
    return 0;
}
