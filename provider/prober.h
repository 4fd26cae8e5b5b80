// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PROBER_H
#define PROVIDER_PROBER_H

#include <jansson.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "provider/provider.h"

// Waiting for the guest (readiness.h) in a process of its own, which tells the monitor of each
// step through a pipe: phase, host, port, detail; at last PHASE_READY, or PHASE_FAILED with why. A
// step with an address alone tells where a guest is that does not report.
// Never returns.
void prober_run(int fd, const struct machine *m, const struct provider *provider,
                int64_t timeout_ms);

// The next step in what has come through the pipe, which it is taken from; NULL: none that is
// complete. The caller drops the reference.
json_t *prober_next(struct strbuf *unread);

#endif
