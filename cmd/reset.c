// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// reset: removes every machine of ours; called as podman, podman's own as well, by its own reset.
// Unlike podman's, ours deletes no folder that holds something else.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/process.h"
#include "cmd/command.h"
#include "cmd/peer.h"
#include "cmd/rm.h"
#include "cmd/table.h"
#include "cmd/target.h"

struct values {
    struct option_bool force;
};

static void add_own(struct strbuf *table, const struct strvec *names)
{
    struct error ignored;
    for (size_t i = 0; i < names->count; i++) {
        CLEANUP(machine_release) struct machine m = MACHINE_INIT;
        bool known = machine_load(&m, names->items[i], &ignored) == 0;
        strbuf_addf(table, "%s\t%s\n", names->items[i], known ? m.provider : "?");
    }
}

static void add_podmans(struct strbuf *table)
{
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    if (peer_is_asked)
        peer_machine_names(&names);
    for (size_t i = 0; i < names.count; i++) {
        cleanup_free char *provider = NULL;
        peer_has_machine(names.items[i], &provider);
        strbuf_addf(table, "%s\t%s\n", names.items[i], provider ? provider : "?");
    }
}

static int confirm(const struct strvec *names, bool *yes, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf table = STRBUF_INIT;
    strbuf_adds(&table, "NAME\tPROVIDER\n");
    add_own(&table, names);
    add_podmans(&table);
    cleanup_free char *aligned = table_align(table.text);
    printf("Warning: this command will delete all existing Podman machines\n"
           "and all of the configuration and data directories for Podman machines\n\n"
           "The following machine(s) will be deleted:\n\n%s\n",
           aligned);
    return target_confirm("Are you sure you want to continue? [y/N] ", yes, err);
}

static int reset_podman(struct error *err)
{
    cleanup_free char *podman = peer_is_asked ? peer_find() : NULL;
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT, names = STRVEC_INIT;
    if (podman)
        peer_machine_names(&names);
    if (names.count == 0)
        return 0;
    strvec_pushv(&words, (const char *const[]){podman, "machine", "reset", "--force", NULL});
    return process_run(&words, NULL, err);
}

// As podman's multierror prints it.
static int report(const struct strvec *errors, struct error *err)
{
    if (errors->count == 0)
        return 0;
    error_set(err, EIO, "%zu error%s occurred:\n", errors->count, errors->count > 1 ? "s" : "");
    for (size_t i = 0; i < errors->count; i++)
        error_append(err, "\t* %s\n", errors->items[i]);
    return error_append(err, "\n");
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT, names = STRVEC_INIT;
    CLEANUP(strvec_release) struct strvec errors = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        machine_names(&names, err) < 0)
        return -1;
    bool yes = values.force.value;
    if (!yes && confirm(&names, &yes, err) < 0)
        return -1;
    if (!yes)
        return 0;
    for (size_t i = 0; i < names.count; i++)
        if (rm_machine(names.items[i], err) < 0)
            strvec_push(&errors, err->message);
    if (reset_podman(err) < 0)
        strvec_push(&errors, err->message);
    return report(&errors, err);
}

static const struct option_spec options[] = {
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, force),
     .help = "Do not prompt before reset"},
    {.name = NULL},
};

const struct command command_reset = {
    .name = "reset",
    .operands = "[options]",
    .summary = "Remove all machines",
    .details = "Remove all machines, their configurations and data",
    .acts = true,
    .options = options,
    .run = run,
};
