// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_UNIT_CMD_PROGRAM_H
#define TESTS_UNIT_CMD_PROGRAM_H

#include "tests/support/support.h"

#include "base/strvec.h"
#include "provider/machine.h"

// The built program, run with the test's temporary HOME.
struct outcome {
    int status;         // exit status; 256 and more: killed by the signal status - 256
    char *out, *errors; // what it wrote
};

// `line` is split at blanks; in single quotes they are kept. `name` is its argv[0].
struct outcome program_run_as(void **state, const char *name, const char *line);
struct outcome program_run(void **state, const char *line);
void outcome_release(struct outcome *outcome);

// Fails the test unless the program does exactly this.
void program_gives(void **state, const char *line, int status, const char *out, const char *errors);

// A record on the disk, 4 CPUs, 2048 MiB, 100 GiB.
void put_machine(const char *name, const char *provider, int64_t created_ns, uint64_t port);

#endif
