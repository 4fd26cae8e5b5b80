// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_SOURCE_H
#define IMAGE_SOURCE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/digest.h"
#include "image/format.h"
#include "image/watch.h"

// The image as it was fetched or given.
struct source {
    const char *path;  // borrowed
    const char *name;  // as messages call it; borrowed
    const char *label; // as the progress calls it; borrowed
    int fd;            // -1: not open
    struct stat st;
    enum image_format format;
};

// Opens, and refuses what can be told without unpacking anything.
int source_open(struct source *source, struct error *err);
void source_release(struct source *source);

uint64_t source_size(const struct source *source);
int source_digest(const struct source *source, char hex[DIGEST_HEX], struct watch *watch,
                  struct error *err);

// EBUSY when the file is not what it was when it was opened.
int source_check_unchanged(const struct source *source, struct error *err);

#endif
