// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_STATE_H
#define PROVIDER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "provider/machine.h"
#include "provider/status.h"

// What a machine is doing now, asked of its locks and never of a stored word: a kill -9, a
// crash or a reboot cannot leave it wrong.
enum machine_state { MACHINE_STOPPED, MACHINE_STARTING, MACHINE_RUNNING };

struct machine_now {
    enum machine_state state;
    bool supervised;      // the monitor is alive; false with a VM that runs: the monitor was killed
    struct status status; // what the monitor published; zero when nothing runs
    struct last_exit last_exit; // at_ns 0: it has never run
    int64_t last_up_ns;         // when it last ended; 0: never
};

#define MACHINE_NOW_INIT \
    {                    \
        0                \
    }

int machine_ask(struct machine_now *now, const char *name, struct error *err);
void machine_now_release(struct machine_now *now);

const char *
machine_state_name(enum machine_state state); // podman's: "stopped", "starting", "running"

#endif
