// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_FRONTEND_H
#define CMD_FRONTEND_H

#include <stdbool.h>

#include "base/error.h"

// Called as `podman`: what is about our machines is ours, everything else is for the podman that
// would have been called without us, which this process becomes.
//
// Returns 0 when the command line is ours (`machine VERB ...`, with podman's global options
// before it), and -1 with an error; otherwise it does not return. For a verb that tells of all
// machines it sets peer_is_asked.
int frontend_run(int argc, char **argv, struct error *err);

// Whether a long option ("memory") or a letter of a machine verb takes its value from the next
// word. The front-end has no option tables: they come with all that the verbs need. A test compares
// this with them.
bool frontend_takes_value(const char *verb, const char *name, char letter);

#endif
