// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_SHELL_H
#define CMD_SHELL_H

#include "base/error.h"
#include "base/strbuf.h"

// Text that a user's shell will evaluate.
enum shell { SHELL_POSIX, SHELL_FISH };

// `name` NULL or "": the user's own, by $SHELL. EINVAL for one that we cannot speak.
int shell_find(enum shell *shell, const char *name, struct error *err);

// The text in quotes, whatever is in it.
void shell_quote(struct strbuf *out, enum shell shell, const char *text);

// A line that exports a variable.
void shell_export(struct strbuf *out, enum shell shell, const char *name, const char *value);

#endif
