// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_CATALOG_H
#define IMAGE_CATALOG_H

#include <stdint.h>

#include "base/error.h"

// Images known by a short name ("fedora-44"), pinned by digest for each architecture.
struct catalog_entry {
    const char *name; // "fedora-44"
    const char *arch; // "aarch64" or "x86_64"
    const char *url;
    const char *sha256; // 64 lower-case hex digits; NULL: not pinned, the user must give it
    uint64_t size;      // of the download in bytes; 0: not known
};

// ENOENT with the names that exist when there is no such name, or no such architecture.
int catalog_find(const struct catalog_entry **entry, const char *name, const char *arch,
                 struct error *err);

// The name that `init` without --image uses.
extern const char *const catalog_default;

// Not a row: it is looked up when it is asked for (image/releases.h).
extern const char *const catalog_latest;

#endif
