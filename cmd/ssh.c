// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// ssh: becomes the system's ssh with the pinned host key, so that exit status, signals and
// terminal are its own business.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "cmd/command.h"
#include "cmd/guest.h"
#include "cmd/target.h"

struct values {
    const char *username;
};

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;

    // The first word is a machine only if there is one of that name (podman 6).
    bool named = operands.count && machine_exists(operands.items[0]);
    const char *name = named ? operands.items[0] : default_machine;
    const char *const *command = (const char *const *)operands.items + (named ? 1 : 0);
    size_t count = operands.count - (named ? 1 : 0);
    if (count && strcmp(command[0], "--") == 0) { // ssh itself would pass over it
        command++;
        count--;
    }
    if (machine_load(&m, name, err) < 0 || guest_ssh_words(&words, &m, values.username, err) < 0)
        return -1;
    if (count) {
        strvec_push(&words, "--"); // what follows is the command's, whatever it looks like
        strvec_pushv(&words, command);
    } else {
        if (isatty(STDIN_FILENO))
            strvec_push(&words, "-t");
        printf("Connecting to vm %s. To close connection, use `~.` or `exit`\n", name);
    }
    fflush(stdout);
    return process_exec(&words, err);
}

static const struct option_spec options[] = {
    {.name = "username",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, username),
     .help = "Username to use when ssh-ing into the VM."},
    {.name = NULL},
};

const struct command command_ssh = {
    .name = "ssh",
    .operands = "[options] [NAME] [COMMAND [ARG ...]]",
    .summary = "SSH into an existing machine",
    .details = "SSH into a managed virtual machine",
    .most = COMMAND_ANY,
    .stop_at_operand = true,
    .options = options,
    .run = run,
};
