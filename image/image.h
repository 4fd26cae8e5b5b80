// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// Where a disk image comes from, and how its content is known to be right.
struct image_ref {
    char *source;  // URL (http, https, file) or an absolute path of a file; owned
    char *sha256;  // 64 lower-case hex digits of the file as it is fetched, or NULL; owned
    char *label;   // what people are shown: the catalog name or the last part of the source; owned
    uint64_t size; // in bytes of the file as it is fetched; 0: not known
};

// Resolves what a user gave as --image: NULL or "" (the default), a catalog name, a URL, a
// path (taken relative to the working folder). `sha256` is the user's own digest or NULL. A
// catalog name goes before a file of that name; "./NAME" is the file.
// Refuses, before anything is fetched and with what to do: an unknown name, a missing file,
// a URL with no digest known for it, a digest that is not 64 hex digits, docker:// references.
// "fedora-latest" alone asks a server: Fedora's list of releases (image/releases.h).
// ENOENT: no such name or file; EINVAL: the rest.
int image_resolve(struct image_ref *ref, const char *image, const char *sha256, const char *arch,
                  struct error *err);
void image_ref_release(struct image_ref *ref);

struct image_options {
    const char *cache; // folder of verified raw images; made if missing (0700)
    bool quiet;        // no progress
    // Asked often; true ends the fetch with EINTR, and what was downloaded is kept for the
    // next time. May be NULL. It is called from the calling thread.
    bool (*interrupted)(void);
};

// Makes sure that a verified raw image of `ref` is in the cache and gives its path, its
// size in bytes and its digest (of the fetched file; for a local file computed here). What is
// already there is neither downloaded nor converted again. Two at once share one download:
// a flock in the cache is held meanwhile. The caller frees `raw` and `digest`.
//
// EBADMSG: not an image we can boot, or the digest is wrong, with what was found instead;
// ENOSPC; ENOENT, EACCES, ECONNREFUSED, ETIMEDOUT, EIO: the download or the file, with the
// server's words; EINTR.
int image_fetch(const struct image_ref *ref, const struct image_options *options, char **raw,
                char **digest, uint64_t *virtual_size, struct error *err);

// Converts a local image of any format that image_fetch() takes into the sparse raw file
// `target`, which is replaced if it exists (temporary + rename). Nothing is cached or synced; of
// the options, `cache` is not used. EBADMSG, ENOSPC, ENOENT, EINVAL, EINTR.
int image_convert(const char *path, const char *target, const struct image_options *options,
                  uint64_t *virtual_size, struct error *err);

// Lays down a machine's disk: a clone of `raw`, or a copy of its data extents where the file
// system cannot clone, then grown sparsely to `size` bytes. `disk` is replaced if it exists
// (temporary + rename), mode 0600. EINVAL if `size` is below the image's. A raw image of zero
// bytes is accepted (podman's own tests init from /dev/null): the disk is then all zeros.
int image_install(const char *raw, const char *disk, uint64_t size, struct error *err);

// One entry of the cache. Owns its strings.
struct image_cached {
    char *digest;       // of the file that it was made from
    char *source;       // where that came from; NULL: not known
    char *path;         // of the raw image; NULL: not ready
    uint64_t size;      // of the disk in bytes; 0: not ready
    uint64_t allocated; // what it takes, unfinished files included
    int64_t created;    // seconds since 1970; 0: not ready
    bool ready;         // false: a download or conversion that was not finished
};

struct image_list {
    struct image_cached *items;
    size_t count;
};

// What is in the cache, by digest. A folder that is not there is empty. Takes no lock.
int image_list(struct image_list *list, const char *cache, struct error *err);
void image_list_release(struct image_list *list);

// Removes an entry, and adds what it took to `freed`. No machine needs it: a machine's disk is
// its own. EBUSY while another process fetches it.
int image_remove(const char *cache, const char *digest, uint64_t *freed, struct error *err);

// Removes what is unfinished or spoilt, and with `all` everything. What another process is
// working on is left alone.
int image_prune(const char *cache, bool all, uint64_t *freed, struct error *err);

#endif
