// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// cp: scp to or from a machine, with its pinned host key.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/process.h"
#include "cmd/command.h"
#include "cmd/events.h"
#include "cmd/guest.h"

struct values {
    struct option_bool quiet;
};

// NULL: the word is a path of this host. The caller frees. A single letter is a drive of Windows
// for podman, and so no machine here either.
static char *machine_of(const char *word)
{
    const char *colon = strchr(word, ':');
    if (!colon || colon - word < 2 || word[0] == '.' || word[0] == '/')
        return NULL;
    return xstrndup(word, (size_t)(colon - word));
}

static int scp_words(struct strvec *argv, const struct machine *m, const char *const *sides,
                     size_t remote, struct error *err)
{
    CLEANUP(strvec_release) struct strvec ssh = STRVEC_INIT;
    if (guest_ssh_words(&ssh, m, NULL, err) < 0)
        return -1;
    // ssh OPTIONS -p PORT USER@HOST
    size_t options = ssh.count - 3;
    const char *destination = ssh.items[ssh.count - 1], *host = strchr(destination, '@') + 1;
    bool brackets = strchr(host, ':') != NULL;
    strvec_push(argv, "scp");
    for (size_t i = 1; i < options; i++)
        strvec_push(argv, ssh.items[i]);
    strvec_pushv(argv, (const char *const[]){"-r", "-P", ssh.items[ssh.count - 2], "--", NULL});
    for (size_t i = 0; i < 2; i++) {
        if (i == remote)
            strvec_pushf(argv, "%.*s%s%s%s:%s", (int)(host - destination), destination,
                         brackets ? "[" : "", host, brackets ? "]" : "", strchr(sides[i], ':') + 1);
        else
            strvec_push(argv, sides[i]);
    }
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT, words = STRVEC_INIT;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    const char *const *sides = (const char *const *)operands.items;
    cleanup_free char *from = machine_of(sides[0]);
    cleanup_free char *to = machine_of(sides[1]);
    for (size_t i = 0; i < 2; i++) {
        const char *name = i ? to : from;
        const char *path = name ? sides[i] + strlen(name) + 1 : sides[i];
        if (!*path)
            return error_set(err, EINVAL,
                             "invalid arguments \"%s\", \"%s\": you must specify paths", sides[0],
                             sides[1]);
    }
    if (from && to)
        return error_set(err, EINVAL, "copying between two machines is unsupported");
    if (!from && !to)
        return error_set(err, EINVAL,
                         "a machine name must prefix either the source path or destination path");
    if (machine_load(&m, from ? from : to, err) < 0 ||
        scp_words(&words, &m, sides, from ? 0 : 1, err) < 0)
        return -1;
    int status;
    fflush(stdout);
    if (process_pass(&words, values.quiet.value, &status, err) < 0)
        return -1;
    if (status != 0) {
        cleanup_free char *how = process_describe_status(status);
        return error_set(err, ECHILD, "copy failed: %s", how);
    }
    puts("Copy successful");
    events_publish(m.name, "copy");
    return 0;
}

static const struct option_spec options[] = {
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Suppress copy status output"},
    {.name = NULL},
};

const struct command command_cp = {
    .name = "cp",
    .operands = "[options] SRC_PATH DEST_PATH",
    .summary = "Securely copy contents between the virtual machine",
    .details = "Securely copy files or directories between the virtual machine and your host",
    .examples = "cp ~/ca.crt podman-machine-default:/etc/containers/certs.d/ca.crt",
    .least = 2,
    .most = 2,
    .acts = true,
    .options = options,
    .run = run,
};
