// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// __complete: what can stand where the cursor is, for the shells' completion scripts. podman's own
// scripts (cobra's) ask in this way, so they complete our machines too: the last argument is the
// word so far; a line for each candidate, then `:` and what the shell shall do.

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/peer.h"
#include "cmd/program.h"
#include "provider/machine.h"

enum directive { FILES = 0, NO_SPACE = 2, NO_FILES = 4 };

struct completion {
    const char *word; // so far
    bool descriptions;
    struct strbuf out;
};

static void offer(struct completion *c, const char *text, const char *description)
{
    if (strncmp(text, c->word, strlen(c->word)) != 0)
        return;
    bool told = c->descriptions && description && *description;
    strbuf_addf(&c->out, "%s%s%s\n", text, told ? "\t" : "", told ? description : "");
}

static void offer_machines(struct completion *c, const char *suffix)
{
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    struct error ignored;
    machine_names(&names, &ignored);
    if (program_is_podman(command_program)) // "podman machine"
        peer_machine_names(&names);
    for (size_t i = 0; i < names.count; i++) {
        cleanup_free char *text = xasprintf("%s%s", names.items[i], suffix);
        offer(c, text, NULL);
    }
}

static void offer_verbs(struct completion *c)
{
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            offer(c, commands[i]->name, commands[i]->summary);
}

static void offer_options(struct completion *c, const struct command *command)
{
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
        cleanup_free char *text = xasprintf("--%s", spec->name);
        if (spec->help && !spec->deprecated)
            offer(c, text, spec->help);
    }
    offer(c, "--help", "Show this help");
}

static enum directive offer_value(struct completion *c, const char *name)
{
    static const char *const files[] = {"identity", "image",     "image-path", "ignition-path",
                                        "playbook", "user-data", "volume"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (strcmp(name, files[i]) == 0)
            return FILES;
    if (strcmp(name, "provider") == 0)
        for (size_t i = 0; platform_providers[i]; i++)
            offer(c, platform_providers[i], NULL);
    if (strcmp(name, "format") == 0)
        offer(c, "json", NULL);
    if (strcmp(name, "for") == 0) {
        offer(c, "ready", NULL);
        offer(c, "stopped", NULL);
    }
    return NO_FILES;
}

static const struct option_spec *valued_option(const struct command *command, const char *word)
{
    for (const struct option_spec *spec = command->options; spec && spec->name; spec++) {
        bool same = word[1] == '-' ? strcmp(word + 2, spec->name) == 0
                                   : word[1] && word[1] == spec->letter && !word[2];
        if (word[0] == '-' && same && spec->kind != OPTION_BOOL)
            return spec;
    }
    return NULL;
}

static enum directive offer_operand(struct completion *c, const char *verb, size_t given)
{
    static const char *const named[] = {"start", "stop", "rm", "set", "ssh", "wait", "env", "logs"};
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        if (strcmp(verb, named[i]) == 0 && given == 0)
            offer_machines(c, "");
    if (strcmp(verb, "inspect") == 0)
        offer_machines(c, "");
    if (strcmp(verb, "os") == 0 && given == 0) {
        offer(c, "apply", "Apply an OCI image to existing VM");
        offer(c, "upgrade", "Upgrade the guest's packages");
    } else if (strcmp(verb, "os") == 0) {
        offer_machines(c, "");
    }
    if (strcmp(verb, "shellenv") == 0) {
        offer(c, "bash", NULL);
        offer(c, "zsh", NULL);
        offer(c, "fish", NULL);
    }
    if (strcmp(verb, "cp") != 0)
        return NO_FILES;
    offer_machines(c, ":");
    return c->out.length ? NO_SPACE : FILES;
}

static enum directive complete(struct completion *c, size_t count, char **words)
{
    const char *word = c->word;
    const struct command *command = count ? command_find(words[0]) : NULL;
    if (count == 0) {
        offer_verbs(c);
        return NO_FILES;
    }
    if (!command)
        return NO_FILES;
    const struct option_spec *option = valued_option(command, words[count - 1]);
    if (option && count > 1)
        return offer_value(c, option->name);
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    if (equals) {
        cleanup_free char *name = xstrndup(word + 2, (size_t)(equals - word - 2));
        c->word = equals + 1;
        return offer_value(c, name);
    }
    if (word[0] == '-') {
        offer_options(c, command);
        return NO_FILES;
    }
    size_t given = 0;
    for (size_t i = 1; i < count; i++) {
        if (words[i][0] != '-')
            given++;
        else if (valued_option(command, words[i]))
            i++;
    }
    return offer_operand(c, command->name, given);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    (void)err;
    struct completion c = {.out = STRBUF_INIT, .word = ""};
    c.descriptions = self == &command_complete;
    size_t count = (size_t)argc - 1;
    char **words = argv + 1;
    if (count && strcmp(words[0], "machine") == 0 && count > 1) {
        words++;
        count--;
    }
    if (count)
        c.word = words[--count];
    enum directive directive = complete(&c, count, words);
    strbuf_addf(&c.out, ":%d\n", directive);
    output_write(&c.out);
    strbuf_release(&c.out);
    return 0;
}

const struct command command_complete = {
    .name = "__complete",
    .summary = "Request shell completion choices for the specified command-line",
    .hidden = true,
    .most = COMMAND_ANY,
    .run = run,
};

const struct command command_complete_plain = {
    .name = "__completeNoDesc",
    .summary = "Request shell completion choices for the specified command-line",
    .hidden = true,
    .most = COMMAND_ANY,
    .run = run,
};
