// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_GUEST_SESSION_H
#define PROVIDER_GUEST_SESSION_H

#include <stdint.h>

#include "provider/machine.h"
#include "provider/ssh.h"

// Logs in to the machine's guest at host:port with its own identity and pinned host key; codes
// as ssh_open(). `user` NULL: root.
int guest_open(struct ssh_session **session, const struct machine *m, const char *host,
               unsigned port, const char *user, int64_t timeout_ms, struct error *err);

// The ssh program's words for the same login; writes the machine's own known_hosts file first.
int guest_client_argv(struct strvec *argv, const struct machine *m, const char *host, unsigned port,
                      const char *user, struct error *err);

// Where podman's API listens in the guest, for root or for the user. The caller frees.
char *guest_socket(const struct machine *m, bool root);

#endif
