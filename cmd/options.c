// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/text.h"

// Not getopt_long: it accepts abbreviations that pflag refuses, takes `--bool value` and
// `-m=4096` differently, and its errors are its own. Scripts and Podman Desktop know pflag's
// grammar and match on its texts.

const char *command_program = "podman-machine-vmnet";

// Accepted everywhere, whatever the verb. --storage-opt is podman's and means nothing here.
struct global_values {
    struct option_bool help;
    const char *log_level;
    struct strvec storage;
};

static const struct option_spec global_options[] = {
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct global_values, help)},
    {.name = "log-level",
     .kind = OPTION_STRING,
     .offset = offsetof(struct global_values, log_level)},
    {.name = "storage-opt",
     .kind = OPTION_STRINGS,
     .offset = offsetof(struct global_values, storage)},
    {0},
};

struct parser {
    const struct command *command;
    char *values;
    struct global_values global;
    struct strvec seen; // names of OPTION_STRINGS options that were given
};

static void parser_release(struct parser *parser)
{
    strvec_release(&parser->global.storage);
    strvec_release(&parser->seen);
}

// An option and the place of its value.
struct target {
    const struct option_spec *spec;
    char *value;
};

static bool find_in(struct target *target, const struct option_spec *specs, char *values,
                    const char *name, size_t length, char letter)
{
    for (const struct option_spec *spec = specs; spec && spec->name; spec++) {
        bool match = name ? strncmp(spec->name, name, length) == 0 && !spec->name[length]
                          : spec->letter == letter;
        if (match) {
            *target = (struct target){spec, values + spec->offset};
            return true;
        }
    }
    return false;
}

static bool find_option(struct parser *parser, struct target *target, const char *name,
                        size_t length, char letter)
{
    return find_in(target, parser->command->options, parser->values, name, length, letter) ||
           find_in(target, global_options, (char *)&parser->global, name, length, letter);
}

static int set_value(struct parser *parser, const struct target *target, const char *text,
                     struct error *err)
{
    const struct option_spec *spec = target->spec;
    const char *reason = NULL, *function = "ParseUint";
    switch (spec->kind) {
    case OPTION_BOOL: {
        struct option_bool *flag = (void *)target->value;
        function = "ParseBool";
        reason = text_parse_bool(text, &flag->value);
        flag->given = true;
        break;
    }
    case OPTION_UINT: {
        struct option_uint *number = (void *)target->value;
        reason = text_parse_uint(text, &number->value);
        number->given = true;
        break;
    }
    case OPTION_STRING:
        *(const char **)(void *)target->value = text;
        break;
    case OPTION_STRINGS: {
        struct strvec *list = (void *)target->value;
        if (!strvec_contains(&parser->seen, spec->name)) {
            strvec_release(list);
            strvec_push(&parser->seen, spec->name);
        }
        strvec_push(list, text);
        break;
    }
    }
    if (reason) {
        CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
        text_quote(&quoted, text);
        char letter[] = "-x, ";
        letter[1] = spec->letter;
        return error_set(
            err, EINVAL, "invalid argument %s for \"%s--%s\" flag: strconv.%s: parsing %s: %s",
            quoted.text, spec->letter ? letter : "", spec->name, function, quoted.text, reason);
    }
    if (spec->deprecated)
        fprintf(stderr, "Flag --%s has been deprecated, %s\n", spec->name, spec->deprecated);
    return 0;
}

// `--name`, `--name=value`, `--name value`: moves *next past a value it takes.
static int parse_long(struct parser *parser, const char *word, char ***next, struct error *err)
{
    const char *name = word + 2;
    if (*name == '-' || *name == '=')
        return error_set(err, EINVAL, "bad flag syntax: %s", word);

    size_t length = strcspn(name, "=");
    struct target target;
    if (!find_option(parser, &target, name, length, 0))
        return error_set(err, EINVAL, "unknown flag: --%.*s", (int)length, name);
    if (name[length] == '=')
        return set_value(parser, &target, name + length + 1, err);
    if (target.spec->kind == OPTION_BOOL)
        return set_value(parser, &target, "true", err);
    if (!**next)
        return error_set(err, EINVAL, "flag needs an argument: --%s", target.spec->name);
    return set_value(parser, &target, *(*next)++, err);
}

// `-q`, `-qn`, `-m4096`, `-m=4096`, `-m 4096`.
static int parse_letters(struct parser *parser, const char *word, char ***next, struct error *err)
{
    for (const char *at = word + 1; *at; at++) {
        CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
        struct target target;
        text_quote_char(&quoted, (unsigned char)*at);
        if (!find_option(parser, &target, NULL, 0, *at))
            return error_set(err, EINVAL, "unknown shorthand flag: %s in -%s", quoted.text, at);
        if (at[1] == '=' && at[2])
            return set_value(parser, &target, at + 2, err);
        if (target.spec->kind == OPTION_BOOL) {
            if (set_value(parser, &target, "true", err) < 0)
                return -1;
            continue;
        }
        if (at[1])
            return set_value(parser, &target, at + 1, err);
        if (!**next)
            return error_set(err, EINVAL, "flag needs an argument: %s in -%s", quoted.text, at);
        return set_value(parser, &target, *(*next)++, err);
    }
    return 0;
}

static int parse_words(struct parser *parser, char **next, struct strvec *operands,
                       struct error *err)
{
    bool options = true;
    while (*next) {
        const char *word = *next++;
        int result = 0;
        if (!options || word[0] != '-' || !word[1]) {
            strvec_push(operands, word);
            options = options && !parser->command->stop_at_operand;
        } else if (strcmp(word, "--") == 0) {
            options = false;
        } else if (word[1] == '-') {
            result = parse_long(parser, word, &next, err);
        } else {
            result = parse_letters(parser, word, &next, err);
        }
        if (result < 0)
            return -1;
    }
    return 0;
}

static char *command_path(const struct command *command)
{
    return xasprintf("%s%s%s", command_program, *command->name ? " " : "", command->name);
}

static int check_count(const struct command *command, size_t count, struct error *err)
{
    unsigned least = command->least, most = command->most;
    if (count >= least && count <= most)
        return 0;
    if (most == 0) {
        cleanup_free char *path = command_path(command);
        return error_set(err, EINVAL, "`%s` takes no arguments", path);
    }
    if (least == most)
        return error_set(err, EINVAL, "accepts %u arg(s), received %zu", least, count);
    if (least == 0)
        return error_set(err, EINVAL, "accepts at most %u arg(s), received %zu", most, count);
    if (most == COMMAND_ANY)
        return error_set(err, EINVAL, "requires at least %u arg(s), only received %zu", least,
                         count);
    return error_set(err, EINVAL, "accepts between %u and %u arg(s), received %zu", least, most,
                     count);
}

static int set_log_level(const char *name, struct error *err)
{
    enum log_level level;
    if (log_level_parse(name, &level)) {
        log_set_level(level);
        return 0;
    }
    CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT;
    text_quote(&quoted, name);
    return error_set(err, COMMAND_PLAIN,
                     "Log Level %s is not supported, choose from: trace, debug, info, warn, "
                     "warning, error, fatal, panic",
                     quoted.text);
}

int options_parse(const struct command *command, int argc, char **argv, void *values,
                  struct strvec *operands, struct error *err)
{
    CLEANUP(parser_release) struct parser parser = {.command = command, .values = values};
    if (parse_words(&parser, argv + (argc > 0), operands, err) < 0) {
        cleanup_free char *path = command_path(command);
        return error_append(err, "\nSee '%s --help'", path);
    }
    if (parser.global.help.value) {
        options_help(command, values);
        return error_set(err, COMMAND_DONE, "help was printed");
    }
    if (parser.global.log_level && set_log_level(parser.global.log_level, err) < 0)
        return -1;
    return check_count(command, operands->count, err);
}

static void add_default(struct strbuf *out, const struct option_spec *spec, const char *value)
{
    switch (spec->kind) {
    case OPTION_BOOL:
        if (((const struct option_bool *)(const void *)value)->value)
            strbuf_adds(out, " (default true)");
        break;
    case OPTION_UINT: {
        uint64_t number = ((const struct option_uint *)(const void *)value)->value;
        if (number)
            strbuf_addf(out, " (default %llu)", (unsigned long long)number);
        break;
    }
    case OPTION_STRING: {
        const char *text = *(const char *const *)(const void *)value;
        if (text && *text) {
            strbuf_adds(out, " (default ");
            text_quote(out, text);
            strbuf_addc(out, ')');
        }
        break;
    }
    case OPTION_STRINGS: {
        const struct strvec *list = (const void *)value;
        for (size_t i = 0; i < list->count; i++)
            strbuf_addf(out, "%s%s", i ? "," : " (default [", list->items[i]);
        if (list->count)
            strbuf_adds(out, "])");
        break;
    }
    }
}

static char *option_label(const struct option_spec *spec)
{
    static const char *const words[] = {"", "uint", "string", "stringArray"};
    char letter[] = "    ";
    if (spec->letter)
        memcpy(letter, (char[]){'-', spec->letter, ',', ' '}, 4);
    const char *value = spec->value ? spec->value : words[spec->kind];
    return xasprintf("  %s--%s%s%s", letter, spec->name, *value ? " " : "", value);
}

static int compare_names(const void *a, const void *b)
{
    const struct option_spec *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

void options_describe(struct strbuf *out, const struct option_spec *specs, const void *defaults)
{
    const struct option_spec *rows[64];
    size_t count = 0, widest = 0;
    for (const struct option_spec *spec = specs; spec && spec->name; spec++) {
        if (!spec->help || spec->deprecated || count == ARRAY_SIZE(rows))
            continue;
        cleanup_free char *label = option_label(spec);
        if (strlen(label) > widest)
            widest = strlen(label);
        rows[count++] = spec;
    }
    if (count == 0)
        return;
    qsort(rows, count, sizeof(rows[0]), compare_names);
    strbuf_adds(out, "\nOptions:\n");
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *label = option_label(rows[i]);
        strbuf_addf(out, "%-*s   %s", (int)widest, label, rows[i]->help);
        if (defaults)
            add_default(out, rows[i], (const char *)defaults + rows[i]->offset);
        strbuf_addc(out, '\n');
    }
}

// podman's own layout: summary, description, usage, aliases, examples, options.
void options_help(const struct command *command, const void *defaults)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf options = STRBUF_INIT;
    options_describe(&options, command->options, defaults);

    cleanup_free char *path = command_path(command);
    strbuf_addf(&out, "%s\n\nDescription:\n  %s\n\nUsage:\n  %s", command->summary,
                command->details ? command->details : command->summary, path);
    if (command->operands)
        strbuf_addf(&out, " %s", command->operands);
    strbuf_addc(&out, '\n');
    if (command->alias)
        strbuf_addf(&out, "\nAliases:\n  %s, %s\n", command->name, command->alias);
    if (command->examples) {
        CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
        strvec_split(&lines, command->examples, '\n');
        strbuf_adds(&out, "\nExamples:\n");
        for (size_t i = 0; i < lines.count; i++)
            strbuf_addf(&out, "  %s %s\n", command_program, lines.items[i]);
    }
    strbuf_add(&out, options.text, options.length);
    fwrite(out.text, 1, out.length, stdout);
}
