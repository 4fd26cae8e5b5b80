// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_RELAY_H
#define PROVIDER_RELAY_H

#include "provider/provider.h"

// A port on 127.0.0.1 that leads to the guest's sshd: to the hypervisor's unix socket (vsock), or
// where nothing answers there, over TCP to wherever the guest is now. So one address holds for all
// of a machine's life, and tools that say `localhost:PORT` reach the guest and not this host.

// Listens. EADDRINUSE. The caller closes.
int relay_listen(int *fd, unsigned port, struct error *err);

// Serves until `life` can be read (the other end of the pipe is gone) or the listener fails; the
// connections that are open then go on. For a process of its own.
void relay_run(int fd, int life, const struct machine *m, const struct provider *provider);

#endif
