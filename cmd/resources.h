// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_RESOURCES_H
#define CMD_RESOURCES_H

#include <stdint.h>

#include "base/error.h"

// What this host has, against what a machine is to get. EINVAL with podman's texts.
int resources_check_cpus(uint64_t cpus, struct error *err);
int resources_check_memory(uint64_t mib, struct error *err);
int resources_check_disk(uint64_t gib, struct error *err);

#endif
