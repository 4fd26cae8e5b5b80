// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_API_H
#define PROVIDER_API_H

#include "provider/provider.h"

// Keeps podman's API socket on the host, as a process of its own that ends when it cannot (start it
// again) or when `life` can be read: a relay over vsock (relay.h) where there is one; where
// podman does not answer that way, and on other rows, OpenSSH forwards to the guest at host:port.
// Never returns.
void api_run(const struct machine *m, const struct provider *provider, const char *host,
             unsigned port, int life);

#endif
