// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_FORMAT_H
#define CMD_FORMAT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cmd/value.h"

// podman's rules for --format (contract B.14), around the templates.

// "json", "{{json}}", "{{ json. }}": asks for JSON. "{{json .}}" is an ordinary template.
bool format_is_json(const char *text);

// Runs the template `text` of the verb `name` for each of `rows`, a list. With "table " in front
// the blanks become columns and `headers`, a list of one map, comes first; without a type there
// is no header. Two characters \t and \n mean TAB and newline. Appends to `out`, which keeps
// what was written before an error.
int format_run(const char *name, const char *text, struct value headers, struct value rows,
               struct strbuf *out, struct error *err);

// The same for a single thing, with no rows to go through.
int format_run_one(const char *name, const char *text, struct value top, struct strbuf *out,
                   struct error *err);

#endif
