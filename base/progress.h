// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

// What a person sees while something takes longer than a second. On a terminal: one line,
// redrawn at most ten times a second, with bytes, rate and time left. Without one: a plain
// line at the start and at the end. Quiet: nothing. All of it goes to stderr.
struct progress {
    const char *label; // borrowed: "Downloading fedora-44"
    bool quiet, terminal, started;
    int64_t begun_ms, drawn_ms;
    uint64_t first; // bytes that were there before we began (a resumed download)
};

void progress_begin(struct progress *progress, const char *label, bool quiet);

// `done` and `total` in bytes; total 0: unknown. Cheap enough to call for every cluster.
void progress_update(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress, uint64_t done);
void progress_abandon(struct progress *progress); // after an error: only leaves the drawn line

// "1.5 GiB", for people. At most 16 characters, `text` must have room for that and a NUL.
void progress_size(char text[17], uint64_t bytes);

#endif
