// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

// Appends `value` as Go's encoding/json writes it: `indent` blanks a level (0: on one line), and
// with `html` the characters <, > and & as \u003c and so on. jansson spells control characters
// in another way and cannot do the last.
void output_json(struct strbuf *out, const json_t *value, unsigned indent, bool html);

// Everything that a verb has to say, on stdout. main checks that it got there.
void output_write(const struct strbuf *text);

#endif
