// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_VSOCK_H
#define PROVIDER_VSOCK_H

#include "provider/machine.h"
#include "provider/provider.h"

// The guest's vsock ports of guest.h, from the host. krunkit and vfkit have a device for each that
// joins it to a unix socket in the runtime folder. qemu's are Linux's own, by the VM's context id,
// which is chosen anew for each run and kept in the machine's folder while the VM runs.

// Fills tools->vsock. `connects`: the hypervisor can also lead the host to the guest, not only the
// guest to the host.
void vsock_plan(struct tools *tools, const struct machine *m, bool connects);

// Appends the devices that tools->vsock names. Pure.
void vsock_append(struct strvec *argv, const struct machine *m, const struct tools *tools);

// Fills tools->vhost where the row is for it and this host has it; no error where not, since ssh
// does as well. Only for a VM that is about to start.
void vsock_claim(struct tools *tools, const struct machine *m, const struct provider *provider);

// Whether that qemu has the device for it: some are built without.
bool vsock_known_to(const char *qemu);

// Removes what an earlier run has left: sockets, which no hypervisor takes over, and what tells of
// the guest. For a machine whose VM does not run.
int vsock_clear(const struct machine *m, struct error *err);

// Whether the VM that runs can be reached so.
bool vsock_is_there(const struct machine *m, const struct provider *provider);

// Connects to the port that `socket`, one of the runtime folder's, is or would be joined to. Only
// an answer proves that the guest listens. The caller closes.
int vsock_connect(int *fd, const struct machine *m, const struct provider *provider,
                  enum machine_file socket, struct error *err);

// The guest's own way to be shut down: 0 when it said that it will. Within 22 s.
int vsock_shutdown(const struct machine *m, const struct provider *provider, struct error *err);

#endif
