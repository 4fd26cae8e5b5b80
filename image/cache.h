// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_CACHE_H
#define IMAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/lock.h"
#include "image/watch.h"

// One image in the cache, under the digest of the file that it was made from:
//
//     DIGEST.raw        the disk, read-only
//     DIGEST.json       what it has to look like; without it the raw file counts for nothing
//     DIGEST.lock       flock, held while somebody fetches; never removed
//     DIGEST.download   (.part, .part.json) the file as it was fetched, until it is converted
//     DIGEST.tmp-*      half-made; whoever takes the lock next removes them
struct cache_entry {
    char *folder, *digest;
    char *prefix; // of temporary files: FOLDER/DIGEST
    char *raw, *record, *download;
    struct lock lock;
};

#define CACHE_ENTRY_INIT   \
    {                      \
        .lock = LOCK_INIT, \
    }

// Makes the folder if it is missing and waits for the entry's lock: two at once share the work.
int cache_enter(struct cache_entry *entry, const char *folder, const char *digest,
                const char *label, const struct watch *watch, struct error *err);
void cache_leave(struct cache_entry *entry);

// True when the image is there and is still what was recorded. One that has changed is
// removed, with a warning.
bool cache_find(const struct cache_entry *entry, const char *label, uint64_t *size);

// The same question without a lock and without a change. `created` in seconds since 1970.
bool cache_look(const char *folder, const char *digest, uint64_t *size, int64_t *created);

// Makes `temporary`, open as `fd`, the entry's raw image.
int cache_keep(const struct cache_entry *entry, const char *temporary, int fd, const char *source,
               uint64_t *size, struct error *err);

#endif
