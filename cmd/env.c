// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// env: what a shell needs for its tools to reach a machine.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/shell.h"
#include "cmd/target.h"
#include "provider/state.h"

struct values {
    const char *shell;
};

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    enum shell shell;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        shell_find(&shell, values.shell, err) < 0 ||
        machine_load(&m, target_name(&operands), err) < 0 || machine_ask(&now, m.name, err) < 0)
        return -1;
    cleanup_free char *socket = machine_path(m.name, MACHINE_API_SOCKET);
    cleanup_free char *url = xasprintf("unix://%s", socket);
    // ssh may lead through this host while the machine has an address of its own.
    const char *host = now.status.address ? now.status.address : now.status.host;
    shell_export(&out, shell, "DOCKER_HOST", url);
    shell_export(&out, shell, "CONTAINER_HOST", url);
    // Published ports are on the machine's own address; testcontainers would look at localhost.
    if (now.state == MACHINE_RUNNING && host && strcmp(host, "127.0.0.1") != 0)
        shell_export(&out, shell, "TESTCONTAINERS_HOST_OVERRIDE", host);
    shell_export(&out, shell, "TESTCONTAINERS_DOCKER_SOCKET_OVERRIDE", "/var/run/docker.sock");
    output_write(&out);
    return 0;
}

static const struct option_spec options[] = {
    {.name = "shell",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, shell),
     .help = "Shell to speak: bash, zsh or fish (default: $SHELL)"},
    {.name = NULL},
};

const struct command command_env = {
    .name = "env",
    .operands = "[options] [MACHINE]",
    .summary = "Print shell variables that lead tools to a machine",
    .details =
        "Print the variables by which docker, compose and testcontainers find a machine, for "
        "a shell to evaluate",
    .examples = "env myvm",
    .most = 1,
    .options = options,
    .run = run,
};
