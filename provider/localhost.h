// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_LOCALHOST_H
#define PROVIDER_LOCALHOST_H

#include <sys/types.h>

#include "base/json.h"
#include "provider/machine.h"

// The guest's published ports (published.h) on this host: 127.0.0.1:PORT leads to the guest's PORT,
// by OpenSSH, whose one connection also brings the word of changes. A port that something else has
// here, or that we may not have, is left alone, told of in the log, and tried again every
// now and then.

// Does that as a process, and a process group, of its own, until `life` can be read; a connection
// that ends is made again. Never returns.
_Noreturn void localhost_run(const struct machine *m, int life);

// Ends such a process with all that it has started; then the variable is 0, as it may be before.
void localhost_end(pid_t *pid, const char *machine);

// What it does now, as an array of {Port, Protocol, Address, Forwarded, Reason}; empty when it does
// not run. The caller drops the reference.
json_t *localhost_ports(const char *machine);

#endif
