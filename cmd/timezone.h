// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TIMEZONE_H
#define CMD_TIMEZONE_H

#include "base/error.h"

// What `--timezone VALUE` means: "local" is $TZ of this host, else what /etc/localtime points
// at; anything else is a name of the time zone database. `*zone` is NULL where this host has
// none; the caller frees. EINVAL for something that cannot be a zone's name.
int timezone_resolve(char **zone, const char *value, struct error *err);

#endif
