// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/image.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/ahead.h"
#include "image/cache.h"
#include "image/digest.h"
#include "image/download.h"
#include "image/draft.h"
#include "image/format.h"
#include "image/source.h"
#include "image/sparse.h"

// From the verified source to the entry's raw image.
static int make_raw(const struct source *source, const struct cache_entry *entry,
                    struct watch *watch, const char *origin, uint64_t *size, struct error *err)
{
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    if (draft_make(&draft, entry->prefix, source, watch, err) < 0)
        return -1;
    return cache_keep(entry, draft.path, draft.fd, origin, size, err);
}

// A download is refused as soon as its beginning shows what it is, and that there is no room for
// what is made of it: a packed image is at least as large once it is unpacked.
static int check_head(int fd, uint64_t have, uint64_t total, const char *label, struct error *err)
{
    enum image_format format;
    if (format_detect(&format, fd, have, total, label, err) < 0)
        return -1;
    if (format == FORMAT_RAW)
        return 0;
    return sparse_require_space(fd, total - have + total,
                                "the download and the raw image that is made of it", err);
}

// Takes what was converted while it arrived, if that went well.
static int keep_ahead(struct ahead *ahead, const struct source *source,
                      const struct cache_entry *entry, struct watch *watch, const char *origin,
                      uint64_t *size, struct error *err)
{
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    if (ahead_finish(ahead, &draft, watch, err) < 0) {
        ahead_restart(ahead); // gives its room back first
        return err->code == EINTR ? -1 : make_raw(source, entry, watch, origin, size, err);
    }
    return cache_keep(entry, draft.path, draft.fd, origin, size, err);
}

static int fetch_url(const struct image_ref *ref, const struct cache_entry *entry,
                     struct watch *watch, uint64_t *size, struct error *err)
{
    CLEANUP(ahead_release) struct ahead ahead = AHEAD_INIT;
    ahead.prefix = entry->prefix;
    ahead.label = ref->label;
    const struct download download = {
        .url = ref->source,
        .sha256 = ref->sha256,
        .size = ref->size,
        .path = entry->download,
        .label = ref->label,
        .check = check_head,
        .arrived = ahead_arrived,
        .restarted = ahead_restart,
        .context = &ahead,
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
        if (unlink(entry->download) < 0 && errno != ENOENT)
            return error_errno(err, "cannot remove '%s'", entry->download);
        if (download_fetch(&download, watch, err) < 0)
            return -1;
        if (source_open(&source, err) < 0) {
            unlink(entry->download);
            return -1;
        }
    }
    int result = keep_ahead(&ahead, &source, entry, watch, ref->source, size, err);
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

int image_convert(const char *path, const char *target, const struct image_options *options,
                  uint64_t *virtual_size, struct error *err)
{
    struct watch watch = {.quiet = options->quiet, .interrupted = options->interrupted};
    CLEANUP(source_release)
    struct source source = {.path = path, .name = path, .label = path, .fd = -1};
    CLEANUP(draft_release) struct draft draft = DRAFT_INIT;
    struct stat st, old;
    if (source_open(&source, err) < 0)
        return -1;
    if (stat(target, &old) == 0 && (!S_ISREG(old.st_mode) || (old.st_dev == source.st.st_dev &&
                                                              old.st_ino == source.st.st_ino)))
        return error_set(err, EINVAL, "cannot convert '%s' to '%s': %s", path, target,
                         S_ISREG(old.st_mode) ? "they are the same file" : "not a regular file");
    if (draft_make(&draft, target, &source, &watch, err) < 0)
        return -1;
    if (fstat(draft.fd, &st) < 0 || rename(draft.path, target) < 0)
        return error_errno(err, "cannot create '%s'", target);
    *virtual_size = (uint64_t)st.st_size;
    return 0;
}
