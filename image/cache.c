// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/platform.h"

static const int64_t wait_ms = 200;

static void remove_rubble(const struct cache_entry *entry)
{
    cleanup_free char *prefix = xasprintf("%s.tmp-", entry->digest);
    cleanup_dir DIR *dir = opendir(entry->folder);
    for (struct dirent *file; dir && (file = readdir(dir));) {
        if (strncmp(file->d_name, prefix, strlen(prefix)) == 0)
            unlinkat(dirfd(dir), file->d_name, 0);
    }
}

int cache_enter(struct cache_entry *entry, const char *folder, const char *digest,
                const char *label, const struct watch *watch, struct error *err)
{
    if (file_make_dirs(folder, 0700, err) < 0)
        return -1;
    entry->folder = xstrdup(folder);
    entry->digest = xstrdup(digest);
    entry->prefix = xasprintf("%s/%s", folder, digest);
    entry->raw = xasprintf("%s/%s.raw", folder, digest);
    entry->record = xasprintf("%s/%s.json", folder, digest);
    entry->download = xasprintf("%s/%s.download", folder, digest);

    cleanup_free char *path = xasprintf("%s/%s.lock", folder, digest);
    for (bool told = false; lock_take(&entry->lock, path, told ? wait_ms : 0, err) < 0;) {
        if (err->code != EBUSY || watch_check(watch, err) < 0)
            return -1;
        if (!told)
            log_warn("waiting for another process that fetches %s", label);
        told = true;
    }
    remove_rubble(entry);
    return 0;
}

void cache_leave(struct cache_entry *entry)
{
    lock_release(&entry->lock);
    free(entry->folder);
    free(entry->digest);
    free(entry->prefix);
    free(entry->raw);
    free(entry->record);
    free(entry->download);
    *entry = (struct cache_entry)CACHE_ENTRY_INIT;
}

static bool matches_record(const char *path, const char *wanted, const struct stat *raw)
{
    struct error ignored;
    cleanup_json json_t *record = NULL;
    cleanup_free char *digest = NULL;
    uint64_t size = UINT64_MAX, modified = UINT64_MAX;
    return json_read_file(&record, path, &ignored) == 0 &&
           json_get_string(record, "digest", &digest, &ignored) == 0 &&
           json_get_uint(record, "size", &size, &ignored) == 0 &&
           json_get_uint(record, "modified", &modified, &ignored) == 0 && digest &&
           strcmp(digest, wanted) == 0 && (uint64_t)raw->st_size == size &&
           (uint64_t)raw->st_mtime == modified;
}

bool cache_look(const char *folder, const char *digest, uint64_t *size, int64_t *created)
{
    struct stat st;
    cleanup_free char *raw = xasprintf("%s/%s.raw", folder, digest);
    cleanup_free char *record = xasprintf("%s/%s.json", folder, digest);
    if (lstat(raw, &st) < 0 || !S_ISREG(st.st_mode) || !matches_record(record, digest, &st))
        return false;
    *size = (uint64_t)st.st_size;
    *created = (int64_t)st.st_mtime;
    return true;
}

bool cache_find(const struct cache_entry *entry, const char *label, uint64_t *size)
{
    struct stat st;
    int64_t created;
    if (cache_look(entry->folder, entry->digest, size, &created))
        return true;
    if (lstat(entry->raw, &st) < 0)
        return false;
    log_warn("the cached image of %s is not as it was left: it is made anew", label);
    unlink(entry->raw);
    unlink(entry->record);
    return false;
}

int cache_keep(const struct cache_entry *entry, const char *temporary, int fd, const char *source,
               uint64_t *size, struct error *err)
{
    // Its time is set a little back, so that every later write changes it, however soon.
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 2}, {.tv_sec = time(NULL) - 2}};
    struct stat st;
    if (futimens(fd, times) < 0 || fchmod(fd, 0400) < 0 || platform_sync(fd) < 0 ||
        fstat(fd, &st) < 0)
        return error_errno(err, "cannot write '%s'", temporary);

    // A record without its image means nothing; an image without its record would be suspect.
    cleanup_json json_t *record =
        json_pack("{ss ss* sI sI}", "digest", entry->digest, "source", source, "size",
                  (json_int_t)st.st_size, "modified", (json_int_t)st.st_mtime);
    if (!record)
        record = json_pack("{ss sI sI}", "digest", entry->digest, "size", (json_int_t)st.st_size,
                           "modified", (json_int_t)st.st_mtime);
    if (json_write_file(entry->record, record, 0600, err) < 0)
        return -1;
    if (rename(temporary, entry->raw) < 0)
        return error_errno(err, "cannot create '%s'", entry->raw);
    *size = (uint64_t)st.st_size;
    return file_sync_parent(entry->raw, err);
}
