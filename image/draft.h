// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_DRAFT_H
#define IMAGE_DRAFT_H

#include "base/error.h"
#include "image/source.h"
#include "image/watch.h"

// A raw image in the making. It is gone when it is released, unless somebody renamed it.
struct draft {
    char *path;
    int fd;
};

#define DRAFT_INIT \
    {              \
        NULL, -1   \
    }

// A new empty file "PREFIX.tmp-XXXXXX".
int draft_open(struct draft *draft, const char *prefix, struct error *err);
void draft_release(struct draft *draft);

// Fills a new draft "PREFIX.tmp-XXXXXX" with the disk in `source`: converted, unpacked, cloned or
// copied. Neither synced nor given a name. EBADMSG, ENOSPC, EINTR.
int draft_make(struct draft *draft, const char *prefix, const struct source *source,
               struct watch *watch, struct error *err);

#endif
