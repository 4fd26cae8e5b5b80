// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// What is in the cache, and how it goes away: image/image.h is the contract.

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/strvec.h"
#include "image/cache.h"
#include "image/digest.h"
#include "image/image.h"

void image_list_release(struct image_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].digest);
        free(list->items[i].source);
        free(list->items[i].path);
    }
    free(list->items);
    *list = (struct image_list){NULL, 0};
}

// "DIGEST.something" -> DIGEST
static bool read_digest(char digest[DIGEST_HEX], const char *name)
{
    if (strcspn(name, ".") != DIGEST_HEX - 1)
        return false;
    cleanup_free char *head = xstrndup(name, DIGEST_HEX - 1);
    return digest_parse(digest, head) && name[DIGEST_HEX - 1] == '.';
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Every digest that some file in the cache is called after, once. A missing folder is empty.
static int find_digests(struct strvec *digests, const char *cache, struct error *err)
{
    cleanup_dir DIR *dir = opendir(cache);
    if (!dir && errno != ENOENT)
        return error_errno(err, "cannot read '%s'", cache);
    for (struct dirent *file; dir && (file = readdir(dir));) {
        char digest[DIGEST_HEX];
        if (read_digest(digest, file->d_name) && !strvec_contains(digests, digest))
            strvec_push(digests, digest);
    }
    if (digests->count)
        qsort(digests->items, digests->count, sizeof(*digests->items), compare_texts);
    return 0;
}

// Counts and, with `unlink_too`, removes the files of an entry, but for its lock: somebody may
// be waiting for it.
static uint64_t sweep(const char *cache, const char *digest, bool keep_raw, bool unlink_too)
{
    uint64_t bytes = 0;
    cleanup_dir DIR *dir = opendir(cache);
    for (struct dirent *file; dir && (file = readdir(dir));) {
        struct stat st;
        const char *end = file->d_name + DIGEST_HEX - 1;
        if (strncmp(file->d_name, digest, DIGEST_HEX - 1) != 0 || strcmp(end, ".lock") == 0)
            continue;
        if (keep_raw && (strcmp(end, ".raw") == 0 || strcmp(end, ".json") == 0))
            continue;
        if (fstatat(dirfd(dir), file->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)st.st_blocks * 512;
        if (unlink_too)
            unlinkat(dirfd(dir), file->d_name, 0);
    }
    return bytes;
}

static void describe(struct image_cached *image, const char *cache, const char *digest)
{
    struct error ignored;
    cleanup_json json_t *record = NULL;
    cleanup_free char *record_path = xasprintf("%s/%s.json", cache, digest);
    cleanup_free char *raw = xasprintf("%s/%s.raw", cache, digest);
    cleanup_free char *part = xasprintf("%s/%s.download.part.json", cache, digest);
    image->digest = xstrdup(digest);
    image->allocated = sweep(cache, digest, false, false);
    image->ready = cache_look(cache, digest, &image->size, &image->created);
    if (image->ready) {
        image->path = steal_string(&raw);
        if (json_read_file(&record, record_path, &ignored) == 0)
            json_get_string(record, "source", &image->source, &ignored);
    } else if (json_read_file(&record, part, &ignored) == 0) {
        json_get_string(record, "url", &image->source, &ignored);
    }
}

int image_list(struct image_list *list, const char *cache, struct error *err)
{
    CLEANUP(strvec_release) struct strvec digests = STRVEC_INIT;
    if (find_digests(&digests, cache, err) < 0)
        return -1;
    list->items = xcalloc(digests.count + 1, sizeof(*list->items));
    list->count = 0;
    for (size_t i = 0; i < digests.count; i++) {
        struct image_cached *image = &list->items[list->count];
        *image = (struct image_cached){.digest = NULL};
        describe(image, cache, digests.items[i]);
        if (image->ready || image->allocated > 0) {
            list->count++;
            continue;
        }
        free(image->digest); // only a lock
        free(image->source);
    }
    return 0;
}

static int remove_entry(const char *cache, const char *digest, bool keep_ready, uint64_t *freed,
                        struct error *err)
{
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    cleanup_free char *path = xasprintf("%s/%s.lock", cache, digest);
    if (lock_take(&lock, path, 0, err) < 0) {
        if (err->code == EBUSY)
            return error_set(err, EBUSY, "image %.12s is being fetched by another process", digest);
        return -1;
    }
    uint64_t size;
    int64_t created;
    bool keep = keep_ready && cache_look(cache, digest, &size, &created);
    *freed += sweep(cache, digest, keep, true);
    return 0;
}

int image_remove(const char *cache, const char *digest, uint64_t *freed, struct error *err)
{
    return remove_entry(cache, digest, false, freed, err);
}

int image_prune(const char *cache, bool all, uint64_t *freed, struct error *err)
{
    CLEANUP(strvec_release) struct strvec digests = STRVEC_INIT;
    if (find_digests(&digests, cache, err) < 0)
        return -1;
    for (size_t i = 0; i < digests.count; i++) {
        if (remove_entry(cache, digests.items[i], !all, freed, err) < 0 && err->code != EBUSY)
            return -1;
    }
    return 0;
}
