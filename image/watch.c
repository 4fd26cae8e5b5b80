// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/watch.h"

#include <errno.h>
#include <stdio.h>

void watch_begin(struct watch *watch, const char *verb, const char *subject)
{
    snprintf(watch->label, sizeof(watch->label), "%s %s", verb, subject);
    progress_begin(&watch->progress, watch->label, watch->quiet);
}

int watch_check(const struct watch *watch, struct error *err)
{
    if (watch->interrupted && watch->interrupted())
        return error_set(err, EINTR, "interrupted");
    return 0;
}

int watch_step(struct watch *watch, uint64_t done, uint64_t total, struct error *err)
{
    progress_update(&watch->progress, done, total);
    return watch_check(watch, err);
}

void watch_end(struct watch *watch, uint64_t done)
{
    progress_end(&watch->progress, done);
}

void watch_abandon(struct watch *watch)
{
    progress_abandon(&watch->progress);
}
