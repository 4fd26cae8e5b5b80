// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_MONITOR_H
#define PROVIDER_MONITOR_H

#include <stdint.h>

#include "base/error.h"

// What the supervisor keeps alive for each running machine (DESIGN section 3): starts the VM,
// or takes over one whose monitor was killed; publishes status.json; registers the machine
// when its guest has proved itself; keeps podman's API socket on the host; walks the stop
// ladder on SIGTERM; writes last-exit.json when the VM ends. Returns when the VM is gone:
// 0 if that was asked for.
int monitor_run(const char *name, int64_t ready_timeout_ms, struct error *err);

#endif
