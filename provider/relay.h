// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_RELAY_H
#define PROVIDER_RELAY_H

#include "provider/machine.h"
#include "provider/provider.h"

// What leads this host's programs into the guest, through its vsock ports: a port on 127.0.0.1 to
// sshd, so that one address holds for all of a machine's life and tools that say `localhost:PORT`
// reach the guest, and podman's API socket.
//
// The hypervisors lose the end of what a client sends, while it still waits for the answer
// (`docker run -i` does so): libkrun 1.18 resets the connection (vsock/unix.rs, process_event),
// vfkit 0.6.4 does not tell the guest (pkg/vf/vsock.go: the framework's connection has no
// CloseWrite). So what the host sends is in pieces, each after its length as four bytes, the
// highest first; a piece of no length is the end. What the guest sends is as it is.

struct relay {
    int fd;                   // listens
    int other;                // so does this one; -1: none
    enum machine_file socket; // of the hypervisor's, or what would be it (vsock.h)
    bool tcp; // it is sshd, which speaks first; where it does not, over TCP to where the guest is
};

// Listens on 127.0.0.1. EADDRINUSE. The caller closes.
int relay_listen(int *fd, unsigned port, struct error *err);

// Listens at a unix socket that only we can connect to, in place of what is at the path. The caller
// closes.
int relay_listen_at(int *fd, const char *path, struct error *err);

// Serves until `life` can be read (the other end of the pipe is gone) or the listener fails; the
// connections that are open then go on. For a process of its own.
void relay_run(const struct relay *relay, int life, const struct machine *m,
               const struct provider *provider);

#endif
