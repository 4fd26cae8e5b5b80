// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_INTERRUPT_H
#define CMD_INTERRUPT_H

#include <stdbool.h>

#include "base/error.h"

// ctrl-C and SIGTERM while a verb does something that must be tidied up: from interrupt_watch()
// on they no longer end the process, and the verb asks. A signal also cuts sleeps and system
// calls short (no SA_RESTART).
void interrupt_watch(void);
bool interrupted(void);

// EINTR: main exits with 1, as podman does.
int interrupt_error(struct error *err);

// Takes back the answer, so that a second ctrl-C can be told from the first.
void interrupt_forget(void);

#endif
