// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_SETTLE_H
#define CMD_SETTLE_H

#include "provider/machine.h"

// At login there is no environment that would say which proxies the user wants.
enum settle_proxies { SETTLE_PROXIES, SETTLE_KEEP_PROXIES };

// What a guest is told at each start by the one who starts it: the proxies of this environment
// (none, when it has none; or it keeps those that it has), its swap, and what `set` has changed:
// where /run/docker.sock leads, and its DNS servers. A guest that cannot take the latter is only
// warned of. `patience_ms`: for each answer of its sshd, which under software emulation may take a
// minute.
int settle_guest(struct machine *m, enum settle_proxies proxies, int64_t patience_ms,
                 struct error *err);

// The text of the shell script for that; the caller frees.
char *settle_script(const struct machine *m, enum settle_proxies proxies);

#endif
