// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_SETTLE_H
#define CMD_SETTLE_H

#include "provider/machine.h"

// What a guest is told at each start by the one who starts it: the proxies of this environment
// (none, when it has none), its swap, and after `set --rootful` where /run/docker.sock leads.
int settle_guest(struct machine *m, struct error *err);

// The text of the shell script for that; the caller frees. NULL: nothing is to be told.
char *settle_script(const struct machine *m);

#endif
