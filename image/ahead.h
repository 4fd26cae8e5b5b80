// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_AHEAD_H
#define IMAGE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/convert.h"
#include "image/draft.h"
#include "image/watch.h"

// Converts a download while it arrives. Its result is a draft that nobody looks at before the
// digest of the whole download is right. It is only ever a gain of time: whatever goes wrong,
// the file is converted in the ordinary way afterwards, which also finds the words for it.
struct ahead {
    const char *prefix, *label; // borrowed
    struct draft draft;
    struct converter *converter; // NULL: not begun, or given up
    int fd;                      // of the download, our own
    uint64_t told;
    bool given_up;
};

#define AHEAD_INIT                     \
    {                                  \
        .draft = DRAFT_INIT, .fd = -1, \
    }

// For struct download: the context is the struct ahead.
void ahead_arrived(void *context, int fd, uint64_t have, uint64_t total);
void ahead_restart(void *context);

// All of it is there and right. Gives the finished draft, or -1 when there is none.
int ahead_finish(struct ahead *ahead, struct draft *draft, struct watch *watch, struct error *err);
void ahead_release(struct ahead *ahead);

#endif
