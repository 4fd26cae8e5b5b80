// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PLANE_H
#define PROVIDER_PLANE_H

#include "provider/relay.h"
#include "provider/report.h"

struct machine;

// The monitor's end of the control plane: the listener for the guest's reports, the relay's port,
// and a pipe that tells helpers when the monitor is gone, however it went. qemu's row has the pipe
// only: its ssh port is qemu's own, and an address in its network is none for the host.
struct plane {
    struct report_listener guest;
    struct relay relay; // to sshd, at the machine's ssh port and a unix socket; fd -1: none
    int life, alive;    // `alive` can be read as soon as nobody has `life` any more
};

void plane_init(struct plane *plane);
int plane_open(struct plane *plane, const struct machine *m, const struct provider *provider,
               struct error *err);
void plane_release(struct plane *plane);

// In a helper, after fork: only `alive` stays, and the relay's port if it is to serve it.
void plane_in_helper(struct plane *plane, bool relay);

#endif
