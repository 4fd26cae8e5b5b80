// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_IDENTITY_H
#define CMD_IDENTITY_H

#include "provider/machine.h"
#include "provider/provider.h"

// What makes a new guest this machine's: the keys of both sides, and the seed that carries them.
int identity_make_keys(const struct machine *m, struct error *err);
int identity_write_seed(const struct machine *m, const struct provider *provider,
                        struct error *err);

#endif
