// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_RESTARTS_H
#define PROVIDER_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

// How often a machine is started again that fails by itself: not for ever, lest one that cannot
// run keeps the host busy.
struct restarts {
    unsigned count;   // one after the other
    int64_t begun_ms; // this run, by the monotonic clock
};

// The run that began at `begun_ms` has failed: may there be another? A run that was long begins
// the count anew.
bool restarts_allow(struct restarts *restarts, int64_t now_ms);

#endif
