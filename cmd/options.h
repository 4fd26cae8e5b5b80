// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strvec.h"

struct command;

// Options as podman's (pflag) take them: `--f=v`, `--f v`, bundled letters, bool only as
// `--f` or `--f=true`, whole numbers in Go's ParseUint base 0, the last one wins, operands and
// options mixed. One table per verb gives parsing, --help and completion.
enum option_kind {
    OPTION_BOOL,    // struct option_bool
    OPTION_UINT,    // struct option_uint
    OPTION_STRING,  // const char *, borrowed from argv; NULL: not given
    OPTION_STRINGS, // struct strvec; the first given replaces the default
};

struct option_bool {
    bool value, given;
};

struct option_uint {
    uint64_t value;
    bool given;
};

struct option_spec {
    const char *name; // "cpus"; NULL ends the table
    char letter;      // 'm', or 0
    enum option_kind kind;
    size_t offset;          // of the value in the verb's own struct
    const char *value;      // how help calls the value; NULL: from the kind ("uint", "string")
    const char *help;       // NULL: hidden
    const char *deprecated; // podman's text after "Flag --x has been deprecated, ", or NULL
};

// Fills `values` (already holding the defaults) and `operands` (copies). EINVAL with podman's
// texts and its second line "See '… --help'" (contract 0.1); wrong operand counts have no such
// line. `--help`/`-h` prints help on stdout and gives -1 with COMMAND_DONE. `--log-level` is
// taken everywhere and acted on here; a level that does not exist is COMMAND_PLAIN.
int options_parse(const struct command *command, int argc, char **argv, void *values,
                  struct strvec *operands, struct error *err);

// The help text of a verb, on stdout. `defaults` is a values struct as the verb starts with.
void options_help(const struct command *command, const void *defaults);

// The "Options:" part of it, appended; nothing when all rows are hidden.
void options_describe(struct strbuf *out, const struct option_spec *specs, const void *defaults);

#endif
