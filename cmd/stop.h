// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_STOP_H
#define CMD_STOP_H

#include <stdbool.h>

#include "base/error.h"

// Stops the machine and comes back when monitor and VM are gone. One that is stopped is a
// success. `hard`: without asking the guest, for a machine that is about to be removed.
int stop_machine(const char *name, bool hard, struct error *err);

#endif
