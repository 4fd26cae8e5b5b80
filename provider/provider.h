// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PROVIDER_H
#define PROVIDER_PROVIDER_H

#include "provider/network.h"

// How the host reaches the guest's vsock ports (vsock.h).
enum vsock {
    VSOCK_NONE,
    VSOCK_SOCKETS, // the hypervisor joins them to unix sockets of ours
    VSOCK_VHOST,   // Linux does, where it has vhost-vsock for us: vsock(7)
};

// A row: hypervisor x network. Who keeps the monitor alive (launchd or a plain process) is the
// host's business, not the row's.
struct provider {
    const char *name;
    const struct hypervisor *hypervisor;
    const struct network *network;
    bool agent_vsock; // qemu-guest-agent can listen on vsock 1234
    enum vsock vsock;
    bool rootful_default; // the vmnet rows: network speed is the point
};

// NULL: no such row. Names are matched exactly, as podman's --provider does.
const struct provider *provider_find(const char *name);

// The rows by index, NULL at the end.
const struct provider *provider_at(unsigned index);

// Whether the row can run on this system at all (platform_providers).
bool provider_is_native(const struct provider *provider);

// EINVAL: the machine's size is more than the hypervisor takes.
int provider_check_size(const struct provider *provider, const struct machine *m,
                        struct error *err);

// Everything that start needs to know before it runs something, found on this host. It also
// makes what the command line relies on: the runtime folder, the link for a path that cannot be
// said, a variable store. A control socket that nobody answers is removed; one that is answered is
// EBUSY. EINVAL: the machine's size is more than the hypervisor takes; ENOTSUP: this host or a
// tool is too old (preflight.h).
int provider_probe(const struct provider *provider, const struct machine *m, struct tools *tools,
                   struct error *err);

// What start needs besides: the machine's folders on this host, and how they are shared. ENOENT and
// its like when one is not there.
int provider_share(const struct provider *provider, const struct machine *m, struct tools *tools,
                   struct error *err);

// The full command line: the network's words, then the hypervisor's. Pure. EINVAL when the
// machine's size is more than the hypervisor takes.
int provider_command(const struct provider *provider, const struct machine *m,
                     const struct tools *tools, struct strvec *argv, struct error *err);

#endif
