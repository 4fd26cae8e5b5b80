// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/command.h"

#include <string.h>

// Help shows them in this order. A new verb is a row here and a file in meson.build.
const struct command *const commands[] = {
    &command_init,     &command_start,
    &command_stop,     &command_rm,
    &command_list,     &command_inspect,
    &command_info,     &command_set,
    &command_ssh,      &command_cp,
    &command_os,       &command_image,
    &command_reset,    &command_wait,
    &command_env,      &command_logs,
    &command_doctor,   &command_shellenv,
    &command_complete, &command_complete_plain,
    &command_monitor,  NULL,
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0 ||
            (commands[i]->alias && strcmp(commands[i]->alias, name) == 0))
            return commands[i];
    }
    return NULL;
}
