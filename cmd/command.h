// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "cmd/options.h"

enum {
    COMMAND_ANY = INT_MAX, // as many operands as you like
};

// What main makes of an err->code that is no errno value.
enum {
    COMMAND_DONE = 0,   // no error: help was asked for and has been printed; exits 0
    COMMAND_PLAIN = -1, // the message is printed as it is, without "Error: "; exits 1
};

// A verb. Its row stands at the bottom of its file; main.c lists the rows by hand, in the
// order that help shows them. Parsing, help and completion all come from the row.
struct command {
    const char *name;                  // "list"
    const char *alias;                 // "ls", or NULL
    const char *operands;              // "[options] [MACHINE]": the usage line after the name
    const char *summary;               // one line for the list of verbs
    const char *details;               // the description in --help; NULL: the summary
    const char *examples;              // lines after the program's name; NULL: none
    unsigned least, most;              // operands; most may be COMMAND_ANY
    bool hidden;                       // not in help
    bool acts;                         // it prints what it has done, not what was asked for
    bool stop_at_operand;              // options only before the first operand (ssh)
    const struct option_spec *options; // ends with a row without a name

    // argv[0] is the verb as typed; options_parse() takes it from there. Returns 0, or -1: main
    // prints the error and exits 125, or 1 when err->code is EINTR. The codes below are not
    // errno values and mean something to main alone.
    int (*run)(const struct command *self, int argc, char **argv, struct error *err);
};

extern const struct command command_init, command_start, command_stop, command_rm, command_list,
    command_inspect, command_info, command_set, command_ssh, command_cp, command_image, command_os,
    command_reset, command_wait, command_env, command_logs, command_doctor, command_shellenv,
    command_complete, command_complete_plain, command_monitor;

// All of them, up to NULL, and the one of this name or alias (NULL: none).
extern const struct command *const commands[];
const struct command *command_find(const char *name);

// How messages call the program: "podman machine" when we are called as podman, else
// "podman-machine-vmnet". Set once, by main.
extern const char *command_program;

#endif
