// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_NETWORK_H
#define PROVIDER_NETWORK_H

#include "provider/hypervisor.h"

// One way to where the guest's sshd may answer now.
struct way {
    const char *name; // "lease": for messages
    bool local;       // a port of this host that leads there

    // Appends to `hosts`, likeliest first; one port at all of them. ENOENT: none known yet, ask
    // again.
    int (*find)(const struct machine *m, struct strvec *hosts, unsigned *port, struct error *err);
};

struct network {
    const char *name; // "vmnet", "user"

    // Likewise; after the hypervisor's. `hypervisor` is what it is for.
    int (*probe)(struct tools *tools, const struct machine *m, const struct hypervisor *hypervisor,
                 struct error *err);

    // Appends the wrapper's words (vmnet-run … --), if there is a wrapper, and says where the
    // card plugs in. `port->offload` comes in as what was decided for this start; a network that
    // cannot clears it. Pure.
    int (*append)(const struct machine *m, const struct tools *tools, struct strvec *argv,
                  struct network_port *port, struct error *err);

    // The program that the wrapper starts beside the VM, without which there is no network; NULL:
    // none.
    const char *helper;

    // The ways to the guest's sshd, best first; the last has no `find`.
    const struct way *ways;

    // The host side must choose a free loopback port before each start.
    bool needs_port;

    bool user_mode; // the guest has no address of its own
};

extern const struct network network_vmnet, network_user;

#endif
