// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_AGENT_H
#define CLOUDINIT_AGENT_H

#include "cloudinit/seed.h"

// agent.py, made at build time by embed.sh.
extern const char agent_body[];

// The program that gives the host its ways over vsock into this guest, to be kept at
// seed->vsock->program. The caller frees.
char *agent_script(const struct seed *seed);

#endif
