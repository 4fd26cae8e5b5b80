// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_FOLLOW_H
#define CMD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "provider/machine.h"
#include "provider/supervisor.h"

enum follow_how {
    FOLLOW_PEOPLE, // a line of progress on stderr
    FOLLOW_QUIET,
    FOLLOW_JSON, // an object a line on stdout, one for each step
};

// Follows status.json from the moment that the supervisor was told to start the monitor, before
// which it must have been forgotten (status_forget): what is read is this run's. Tells of it as
// asked, until the machine is ready (0) or has failed and is down again.
// `monitor` is the monitor's pid if it is our child, else 0. ctrl-C stops the machine: EINTR.
int follow_start(const struct machine *m, const struct supervisor *supervisor, pid_t monitor,
                 enum follow_how how, struct error *err);

// Waits until neither monitor nor VM is left. ETIMEDOUT with what is; ECHILD: the monitor was
// killed, and nobody ends the VM.
int follow_stop(const char *name, int64_t timeout_ms, struct error *err);

// Waits until podman's API socket on the host takes a connection. 0, or -1 after the time.
int follow_api_socket(const char *name, int64_t timeout_ms);

#endif
