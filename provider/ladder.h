// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_LADDER_H
#define PROVIDER_LADDER_H

#include <stdbool.h>
#include <stdint.h>

#include "provider/provider.h"

// The stop ladder: from asking the guest to cutting the power. Every rung is tried only if the
// VM is still there, which is asked of its lock.
//
//   1. the guest is asked: over vsock where the row has it, else `systemctl poweroff` over ssh
//   2. the hypervisor's own button: QMP system_powerdown, REST Stop
//   3. SIGTERM to the hypervisor: a power cut for krunkit (it has no handler, 1.3.1), a clean
//      stop for vfkit >= 0.6.2, flushed disks but no guest shutdown for qemu
//   4. SIGKILL to its process group
//
// At least 90 s pass between asking and force, the limit that systemd gives its own services.
// All rungs together take at most 150 s.
struct ladder {
    const struct machine *m;
    const struct provider *provider;
    bool hard;   // straight to rung 3: the machine is about to be removed
    bool booted; // the guest was up, so it can hear us; else the wait before force is short
};

// 0 when the VM is gone. ETIMEDOUT if even SIGKILL left it there.
int ladder_run(const struct ladder *ladder, struct error *err);

// The longest that ladder_run() may take, for those who wait for it.
extern const int64_t ladder_longest_ms;

#endif
