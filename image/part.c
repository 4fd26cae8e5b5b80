// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

static void replace(char **text, const char *value)
{
    char *copy = value ? xstrdup(value) : NULL;
    free(*text);
    *text = copy;
}

void part_set_origin(struct part *part, const char *location, const char *etag,
                     const char *modified)
{
    replace(&part->location, location);
    replace(&part->etag, etag);
    replace(&part->modified, modified);
}

int part_reset(struct part *part, struct error *err)
{
    part->have = part->total = 0;
    part_set_origin(part, NULL, NULL, NULL);
    if (ftruncate(part->fd, 0) < 0)
        return error_errno(err, "cannot empty '%s'", part->path);
    return digest_begin(&part->digest, err);
}

static bool read_record(struct part *part, const char *url, uint64_t size)
{
    struct error ignored;
    cleanup_json json_t *record = NULL;
    cleanup_free char *its_url = NULL;
    return json_read_file(&record, part->record, &ignored) == 0 &&
           json_get_string(record, "url", &its_url, &ignored) == 0 &&
           json_get_string(record, "location", &part->location, &ignored) == 0 &&
           json_get_string(record, "etag", &part->etag, &ignored) == 0 &&
           json_get_string(record, "lastModified", &part->modified, &ignored) == 0 &&
           json_get_uint(record, "total", &part->total, &ignored) == 0 && its_url &&
           strcmp(its_url, url) == 0 && (part->total == 0 || part->total >= size);
}

int part_open(struct part *part, const char *path, const char *url, struct watch *watch,
              struct error *err)
{
    struct stat st;
    part->path = xasprintf("%s.part", path);
    part->record = xasprintf("%s.part.json", path);
    part->fd = open(part->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (part->fd < 0 || fstat(part->fd, &st) < 0)
        return error_errno(err, "cannot open '%s'", part->path);
    uint64_t size = (uint64_t)st.st_size;
    if (size == 0 || !read_record(part, url, size))
        return part_reset(part, err);

    if (digest_begin(&part->digest, err) < 0 ||
        digest_add_file(&part->digest, part->fd, size, part->path, watch, err) < 0)
        return -1;
    part->have = size;
    return 0;
}

void part_release(struct part *part)
{
    cleanup_close_fd(&part->fd);
    part->fd = -1;
    digest_release(&part->digest);
    replace(&part->path, NULL);
    replace(&part->record, NULL);
    part_set_origin(part, NULL, NULL, NULL);
}

int part_add(struct part *part, const void *bytes, size_t length, struct error *err)
{
    const char *from = bytes;
    for (size_t at = 0; at < length;) {
        ssize_t n = pwrite(part->fd, from + at, length - at, (off_t)(part->have + at));
        if (n < 0 && errno != EINTR)
            return error_errno(err, "cannot write '%s'", part->path);
        at += n > 0 ? (size_t)n : 0;
    }
    digest_add(&part->digest, bytes, length);
    part->have += length;
    return 0;
}

// A weak tag may not stand in If-Range.
const char *part_validator(const struct part *part)
{
    if (part->etag && strncmp(part->etag, "W/", 2) != 0)
        return part->etag;
    return part->modified;
}

int part_write_record(const struct part *part, const char *url, struct error *err)
{
    cleanup_json json_t *record =
        json_pack("{ss ss* ss* ss* sI}", "url", url, "location", part->location, "etag", part->etag,
                  "lastModified", part->modified, "total", (json_int_t)part->total);
    if (!record) // not UTF-8: the part cannot be continued, nothing else
        return 0;
    return json_write_file(part->record, record, 0600, err);
}

int part_finish(struct part *part, const char *path, struct error *err)
{
    if (rename(part->path, path) < 0)
        return error_errno(err, "cannot create '%s'", path);
    unlink(part->record);
    return 0;
}

void part_remove(struct part *part)
{
    unlink(part->path);
    unlink(part->record);
}
