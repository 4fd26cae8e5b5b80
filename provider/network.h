// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_NETWORK_H
#define PROVIDER_NETWORK_H

#include "provider/hypervisor.h"

struct network {
    const char *name; // "vmnet", "user"
    int (*probe)(struct tools *tools, const struct machine *m, struct error *err);

    // Appends the wrapper's words (vmnet-run … --), if there is a wrapper, and says where the
    // card plugs in. `port->offload` comes in as what the record asks for and the hypervisor can
    // do; a network that cannot clears it. Pure.
    int (*append)(const struct machine *m, const struct tools *tools, struct strvec *argv,
                  struct network_port *port, struct error *err);

    // Where the guest's sshd answers now. ENOENT: not known yet, ask again. The caller frees
    // `host`.
    int (*address)(const struct machine *m, char **host, unsigned *port, struct error *err);

    // The host side must choose a free loopback port before each start.
    bool needs_port;
};

extern const struct network network_vmnet, network_user;

#endif
