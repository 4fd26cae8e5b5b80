// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_API_H
#define PROVIDER_API_H

#include "provider/provider.h"

// Keeps podman's API socket on the host, as a process of its own that ends when it cannot (start it
// again) or when `life` can be read. Rows with vsock: the hypervisor makes the socket, and nothing
// of ours stands between it and podman; where nobody answers there, and on other rows, OpenSSH
// forwards it to the guest at host:port. Never returns.
void api_run(const struct machine *m, const struct provider *provider, const char *host,
             unsigned port, int life);

#endif
