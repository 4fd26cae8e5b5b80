// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TARGET_H
#define CMD_TARGET_H

#include <stdbool.h>

#include "base/strvec.h"
#include "provider/machine.h"
#include "provider/provider.h"

// The machine that a verb is about when it names none, as podman's.
extern const char *const default_machine;

// The first operand, or the default machine when there is none or it is empty.
const char *target_name(const struct strvec *operands);

// " NAME", or "" for the default machine: how hints name it. The caller frees.
char *target_hint(const char *name);

// The provider row of a record. EINVAL when this program has no such row.
int target_provider(const struct provider **provider, const struct machine *m, struct error *err);

// Reads a yes or no from stdin as podman does: the first character of the line decides. EOF is
// an error with podman's text.
int target_confirm(const char *question, bool *yes, struct error *err);

#endif
