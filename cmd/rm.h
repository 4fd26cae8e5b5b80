// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_RM_H
#define CMD_RM_H

#include "base/error.h"

// What `rm --force` does.
int rm_machine(const char *name, struct error *err);

#endif
