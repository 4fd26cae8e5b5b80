// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_WATCH_H
#define IMAGE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"

// What every long step does besides its work: it shows how far it is, and asks whether it may
// go on. One watch is used for the steps of a fetch in turn, by one thread.
struct watch {
    bool quiet;                // no progress
    bool (*interrupted)(void); // NULL: nobody interrupts
    char label[160];
    struct progress progress;
};

void watch_begin(struct watch *watch, const char *verb, const char *subject);
int watch_step(struct watch *watch, uint64_t done, uint64_t total, struct error *err); // EINTR
int watch_check(const struct watch *watch, struct error *err); // EINTR; draws nothing
void watch_end(struct watch *watch, uint64_t done);
void watch_abandon(struct watch *watch); // the step failed

#endif
