// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TOML_H
#define CMD_TOML_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

// Reads TOML 1.0, the language of containers.conf, into JSON values: tables become objects, dates
// and times strings. EBADMSG with the line's number for a text that is not TOML.
//
// By hand, because no C library for it is packaged for both Debian 12 (there are only ones for
// C++) and Homebrew; what is strict here is what podman's own reader refuses too: a key given
// twice, a value without an end, an escape that there is not.
int toml_parse(json_t **root, const char *text, size_t length, struct error *err);

#endif
