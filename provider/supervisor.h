// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_SUPERVISOR_H
#define PROVIDER_SUPERVISOR_H

#include <stdint.h>
#include <sys/types.h>

#include "provider/machine.h"

// What keeps a machine's monitor: `podman-machine-vmnet monitor NAME`.
struct supervisor {
    const char *name;

    // Starts the monitor, detached from the terminal, with its output in monitor.log, and
    // comes back at once. `pid` is the monitor's if it is a child of ours, else 0.
    int (*start)(const struct machine *m, int64_t timeout_ms, pid_t *pid, struct error *err);

    // Asks the monitor to stop the machine and itself; `hard`: without asking the guest. Comes
    // back at once; ESRCH when there is no monitor.
    int (*stop)(const struct machine *m, bool hard, struct error *err);

    // Takes away what start() left with the system, once the monitor is gone. Repeating it is
    // harmless.
    int (*clear)(const struct machine *m, struct error *err);

    // Has the machine started by itself at login, or no longer. ENOTSUP where nothing can.
    int (*autostart)(const struct machine *m, bool on, struct error *err);

    // Whether it is: asked of the system, not of the machine's record.
    bool (*autostarts)(const struct machine *m);
};

// A plain process of its own session: Linux, and macOS where launchd has no domain for us.
extern const struct supervisor supervisor_process;

// A launchd agent: "gui/UID", else "user/UID", else a plain process.
extern const struct supervisor supervisor_launchd;

// The supervisor for this machine on this host: launchd on macOS. For tests,
// PODMAN_MACHINE_VMNET_SUPERVISOR=launchd|process decides.
const struct supervisor *supervisor_for(const struct machine *m);

// What the monitor understands.
#define SUPERVISOR_SIGNAL_STOP SIGTERM
#define SUPERVISOR_SIGNAL_STOP_HARD SIGUSR1

#endif
