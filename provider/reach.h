// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_REACH_H
#define PROVIDER_REACH_H

#include <stdint.h>

#include "provider/provider.h"
#include "provider/ssh.h"

// Logs in to the guest by the first of its network's ways that leads to it; a place counts only
// when the pinned host key answers there. `user` NULL: root. The caller frees `host`, which is
// where it answered. Codes as ssh_open() and way.find, of the way that came farthest; the message
// names all that were tried.
int reach_open(struct ssh_session **session, const struct machine *m,
               const struct provider *provider, const char *user, int64_t timeout_ms, char **host,
               unsigned *port, struct error *err);

// A TCP connection to the guest's sshd by those ways that are not a port of this host.
int reach_connect(int *fd, const struct machine *m, const struct provider *provider,
                  struct error *err);

// The guest's own address where it does not report: the first that leads to it, proved by its host
// key. ENOENT and what was tried, if none does. The caller frees.
int reach_address(char **address, const struct machine *m, const struct provider *provider,
                  int64_t timeout_ms, struct error *err);

// The port of this host that will lead to the guest's sshd, known before the guest runs; for
// networks with needs_port. The caller frees `host`.
int reach_port(char **host, unsigned *port, const struct machine *m,
               const struct provider *provider, struct error *err);

#endif
