// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/frontend.h"
#include "cmd/program.h"

// argv -> row -> run. The only place that prints the error of a verb and picks the exit status.

// podman's statuses (contract 0.1).
enum { STATUS_EARLY = 1, STATUS_ERROR = 125 };

// What may stand before the verb. The connection options are podman's: they say which engine
// to talk to, so for a machine verb they are taken and mean nothing.
struct root_values {
    struct option_bool debug, help, remote, version, noout;
    const char *ignored, *out;
};

#define IGNORED(name, letter)                                                                \
    {                                                                                        \
        name, letter, OPTION_STRING, offsetof(struct root_values, ignored), NULL, NULL, NULL \
    }
static const struct option_spec root_options[] = {
    IGNORED("config", 0),
    IGNORED("connection", 'c'),
    IGNORED("context", 0),
    {"debug", 'D', OPTION_BOOL, offsetof(struct root_values, debug), NULL, NULL, NULL},
    {"help", 'h', OPTION_BOOL, offsetof(struct root_values, help), NULL, "Show this help", NULL},
    IGNORED("host", 'H'),
    IGNORED("identity", 0),
    {"noout", 0, OPTION_BOOL, offsetof(struct root_values, noout), NULL, NULL, NULL},
    {"out", 0, OPTION_STRING, offsetof(struct root_values, out), NULL, NULL, NULL},
    {"remote", 'r', OPTION_BOOL, offsetof(struct root_values, remote), NULL, NULL, NULL},
    IGNORED("ssh", 0),
    IGNORED("tls-ca", 0),
    IGNORED("tls-cert", 0),
    IGNORED("tls-details", 0),
    IGNORED("tls-key", 0),
    IGNORED("url", 0),
    {"version", 'v', OPTION_BOOL, offsetof(struct root_values, version), NULL, "Print the version",
     NULL},
    {0},
};
#undef IGNORED

static const struct command root = {
    .name = "",
    .summary = "Manage a virtual machine",
    .details = "Manage a virtual machine with a network interface of its own. Virtual machines are "
               "used to run Podman.",
    .most = COMMAND_ANY,
    .stop_at_operand = true,
    .options = root_options,
};

static void print_help(void)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    strbuf_addf(&out,
                "%s\n\nDescription:\n  %s\n\nUsage:\n  %s [options] [command]\n\n"
                "Available Commands:\n",
                root.summary, root.details, command_program);
    for (size_t i = 0; commands[i]; i++) {
        if (!commands[i]->hidden)
            strbuf_addf(&out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    }
    options_describe(&out, root_options, NULL);
    fwrite(out.text, 1, out.length, stdout);
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// Levenshtein distance, letter case aside. Words longer than any verb are far from all.
static size_t distance(const char *a, const char *b)
{
    size_t row[33], length = strlen(b);
    if (strlen(a) >= ARRAY_SIZE(row) || length >= ARRAY_SIZE(row))
        return ARRAY_SIZE(row);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t above = row[j];
            bool same = strncasecmp(a + i - 1, b + j - 1, 1) == 0;
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + !same);
            diagonal = above;
        }
    }
    return row[length];
}

// As cobra: a prefix, or at most two letters away. Half of a short verb is never a slip of the
// finger: `cp` must not suggest `rm`.
static bool resembles(const char *typed, const char *name)
{
    if (strncasecmp(name, typed, strlen(typed)) == 0)
        return true;
    size_t away = distance(typed, name), length = strlen(name);
    return away <= 2 && 2 * away <= (strlen(typed) > length ? strlen(typed) : length);
}

static int unknown_command(const char *typed, struct error *err)
{
    error_set(err, EINVAL, "unrecognized command `%s %s`", command_program, typed);
    bool any = false;
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden || !resembles(typed, commands[i]->name))
            continue;
        error_append(err, "%s\t%s\n", any ? "" : "\n\nDid you mean this?\n", commands[i]->name);
        any = true;
    }
    return error_append(err, "\nTry '%s --help' for more information", command_program);
}

// podman's --out and --noout: stdout goes to a file, or nowhere.
static int redirect(const struct root_values *values, struct error *err)
{
    const char *path = values->noout.value ? "/dev/null" : values->out;
    if (path && !freopen(path, "w", stdout)) {
        error_errno(err, "cannot write to '%s'", path);
        err->code = COMMAND_PLAIN;
        return -1;
    }
    return 0;
}

// `machine` tells that this word has been read already: we can stand where `podman machine VERB`
// is called, under whatever name.
static int run_command(int argc, char **argv, bool machine, const struct command **command,
                       struct error *err)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    struct root_values values = {0};
    if (options_parse(&root, argc, argv, &values, &words, err) < 0)
        return -1;
    if (values.debug.value)
        log_set_level(LOG_LEVEL_DEBUG);
    if (redirect(&values, err) < 0)
        return -1;
    if (values.version.value) {
        printf("podman-machine-vmnet version %s\n", PROJECT_VERSION);
        return 0;
    }
    if (values.help.value) {
        print_help();
        return 0;
    }
    if (words.count == 0) {
        print_help();
        return error_set(err, EINVAL, "missing command '%s COMMAND'", command_program);
    }
    if (!machine && strcmp(words.items[0], "machine") == 0)
        return run_command((int)words.count, words.items, true, command, err);
    *command = command_find(words.items[0]);
    if (!*command)
        return unknown_command(words.items[0], err);
    return (*command)->run(*command, (int)words.count, words.items, err);
}

// A full disk must not look like success where what is lost was asked for. But a script must not
// take a machine that was made for one that was not.
static int finish_output(const struct command *command, bool helped, struct error *err)
{
    errno = EIO;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    error_errno(err, "cannot write to standard output");
    if (!command || !command->acts || helped)
        return -1;
    log_warn("%s", err->message);
    return 0;
}

// Descriptors 0, 1 and 2 must be there before anything else is opened: a file must not become
// somebody's stdout.
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    rlim_t wanted = limit.rlim_max;
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
        limit.rlim_cur = 10240; // macOS reports no limit and takes no more than OPEN_MAX
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int report(const struct error *err)
{
    if (err->code == COMMAND_PLAIN) {
        fprintf(stderr, "%s\n", err->message);
        return STATUS_EARLY;
    }
    fprintf(stderr, "Error: %s\n", err->message);
    return err->code == EINTR ? STATUS_EARLY : STATUS_ERROR;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    if (argc > 0 && program_is_podman(argv[0])) {
        command_program = "podman machine";
        if (frontend_run(argc, argv, &err) < 0)
            return report(&err);
    }
    open_standard_descriptors();
    raise_descriptor_limit();
    signal(SIGPIPE, SIG_DFL); // a parent may have ignored it: `list | head` ends quietly
    umask(077);               // keys, sockets and disks; what others may read gets its mode by hand

    const struct command *command = NULL;
    int result = run_command(argc, argv, false, &command, &err);
    bool helped = result < 0 && err.code == COMMAND_DONE;
    if (result == 0 || helped)
        result = finish_output(command, helped, &err);
    return result == 0 ? 0 : report(&err);
}
