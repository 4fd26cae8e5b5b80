// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_VOLUMES_H
#define CLOUDINIT_VOLUMES_H

#include "cloudinit/seed.h"

// volumes.sh, made at build time by embed.sh.
extern const char volumes_body[];

// The script that mounts seed->volumes, to be kept at seed->volumes->program. The caller frees.
char *volumes_script(const struct seed *seed);

#endif
