// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// ssh: becomes the system's ssh with the pinned host key, so that exit status, signals and
// terminal are its own business.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/process.h"
#include "cmd/command.h"
#include "cmd/target.h"
#include "provider/guest_session.h"
#include "provider/reach.h"
#include "provider/state.h"

static const int64_t login_ms = 30000;

struct values {
    const char *username;
};

// Where the guest's sshd answers: as the monitor proved it, else as the network says.
static int find_guest(const struct machine *m, char **host, unsigned *port, struct error *err)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    const struct provider *provider;
    if (machine_ask(&now, m->name, err) < 0)
        return -1;
    bool reachable = now.state == MACHINE_RUNNING ||
                     (now.state == MACHINE_STARTING && now.status.phase == PHASE_PROVISIONING);
    if (!reachable)
        return error_set(err, ENOTCONN, "vm \"%s\" is not running", m->name);
    if (now.status.host) {
        *host = xstrdup(now.status.host);
        *port = (unsigned)now.status.port;
        return 0;
    }
    if (target_provider(&provider, m, err) < 0)
        return -1;
    // Not known to the monitor yet, or there is none: the first way that leads to the guest.
    struct ssh_session *session;
    if (reach_open(&session, m, provider, NULL, login_ms, host, port, err) < 0)
        return -1;
    ssh_free(session);
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    cleanup_free char *host = NULL;
    unsigned port;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;

    // The first word is a machine only if there is one of that name (podman 6).
    bool named = operands.count && machine_exists(operands.items[0]);
    const char *name = named ? operands.items[0] : default_machine;
    bool has_command = operands.count > (named ? 1U : 0U);
    if (machine_load(&m, name, err) < 0 || find_guest(&m, &host, &port, err) < 0)
        return -1;

    const char *user = values.username ? values.username : m.rootful ? "root" : m.ssh.user;
    if (guest_client_argv(&words, &m, host, port, user, err) < 0)
        return -1;
    if (has_command) {
        strvec_pushv(&words, (const char *const *)operands.items + (named ? 1 : 0));
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
