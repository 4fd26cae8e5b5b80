// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_READINESS_H
#define PROVIDER_READINESS_H

#include <stdint.h>

#include "provider/provider.h"
#include "provider/status.h"

// Waits until a machine is ready: the pinned host key was proved, login works, first-boot
// provisioning is over and succeeded, and `GET /_ping` over a forwarded channel to each
// registered socket answered 200. If sshd refuses that channel although the socket is there,
// the SELinux rules are applied over ssh and it is tried again, once. Every volume that was asked
// for is mounted; what is wrong with others is the detail of the report of PHASE_READY. Then it is
// registered (registration.h).
struct readiness {
    const struct machine *m;
    const struct provider *provider;
    int64_t timeout_ms;

    // Called at each step forward; host and detail may be NULL.
    void (*report)(void *context, enum phase phase, const char *host, unsigned port,
                   const char *detail);
    void *context;
};

// ETIMEDOUT with what was last seen; EIO with provisioning's own reason, or a volume's; EACCES when
// a socket is refused for good.
int readiness_wait(const struct readiness *readiness, struct error *err);

#endif
