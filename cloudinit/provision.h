// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_PROVISION_H
#define CLOUDINIT_PROVISION_H

#include "cloudinit/seed.h"

// provision.sh and the part of it in playbook.sh, made at build time by embed.sh.
extern const char provision_body[];
extern const char playbook_body[];

// The provisioning script of this guest, to be kept at seed->provision_program. The caller frees.
char *provision_script(const struct seed *seed);

#endif
