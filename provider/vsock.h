// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_VSOCK_H
#define PROVIDER_VSOCK_H

#include "provider/hypervisor.h"

// The vsock devices that krunkit and vfkit have in common: each joins a port of guest.h to a
// unix socket in the runtime folder.

// Fills tools->vsock. `connects`: the hypervisor can also lead the host to the guest, not only the
// guest to the host.
void vsock_plan(struct tools *tools, const struct machine *m, bool connects);

// Appends the devices that tools->vsock names. Pure.
void vsock_append(struct strvec *argv, const struct machine *m, const struct tools *tools);

// Removes the sockets of an earlier run: no hypervisor takes over one that is there. For a machine
// whose VM does not run.
int vsock_clear(const struct machine *m, struct error *err);

#endif
