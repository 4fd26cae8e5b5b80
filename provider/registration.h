// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_REGISTRATION_H
#define PROVIDER_REGISTRATION_H

#include "provider/machine.h"

// What makes a machine reachable for podman: its two system connections, once more where an old
// podman looks for them (connection_conf.h) if that is the one on PATH, and its host key in the
// user's known_hosts under the address and port that they name. Repeating it is harmless.
int registration_set(const struct machine *m, const char *host, unsigned port, struct error *err);

// What registration_set() would refuse for sure, asked before something slow: a connections file
// that cannot be used, or an entry of that name that is not this machine's.
int registration_check(const struct machine *m, struct error *err);

// Takes both away, where they are this machine's; absent is success.
int registration_remove(const char *machine, struct error *err);

#endif
