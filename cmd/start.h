// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_START_H
#define CMD_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct start_options {
    bool quiet, no_info;
    bool exist_ok; // a machine that runs is as good, once it is ready
    bool json;     // progress for programs on stdout, and nothing else there
    bool update_connection, update_connection_given;
    uint64_t timeout_s;
};

// Long enough for a first boot that downloads packages under software emulation; a VM that
// dies ends the wait at once, and so does ctrl-C.
extern const uint64_t start_default_timeout_s;

// --format's value: NULL or "json". EINVAL for others.
int start_check_format(const char *format, struct error *err);

// What `start` does, and `init --now` after init.
int start_machine(const char *name, const struct start_options *options, struct error *err);

#endif
