// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/launchd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/plist.h"

static const char label_prefix[] = "io.github.podman-machine-vmnet.";
static const int64_t exit_timeout_s = 180; // longer than ladder_longest_ms
static const int64_t open_files = 65536;   // a hypervisor that shares folders needs many

char *launchd_label(const char *machine)
{
    return xasprintf("%s%s", label_prefix, machine);
}

static void add_string(struct plist *plist, const char *key, const char *text)
{
    plist_key(plist, key);
    plist_string(plist, text);
}

static void add_limit(struct plist *plist, const char *key)
{
    plist_key(plist, key);
    plist_open(plist, "dict");
    plist_key(plist, "NumberOfFiles");
    plist_integer(plist, open_files);
    plist_close(plist, "dict");
}

// An agent is for sessions with a screen (Aqua, gui/UID) unless it says otherwise, and user/UID
// (Background) refuses it then. One that is for both would be started twice by a login.
static void add_sessions(struct plist *plist)
{
    plist_key(plist, "LimitLoadToSessionType");
    plist_open(plist, "array");
    plist_string(plist, "Aqua");
    plist_string(plist, "Background");
    plist_close(plist, "array");
}

static void add_environment(struct plist *plist, const struct strvec *environment)
{
    plist_key(plist, "EnvironmentVariables");
    plist_open(plist, "dict");
    for (size_t i = 0; i < environment->count; i++) {
        const char *entry = environment->items[i];
        const char *equals = strchr(entry, '=');
        if (!equals)
            continue;
        cleanup_free char *name = xstrndup(entry, (size_t)(equals - entry));
        add_string(plist, name, equals + 1);
    }
    plist_close(plist, "dict");
}

int launchd_plist(char **text, const struct launchd_job *job, struct error *err)
{
    cleanup_free char *label = launchd_label(job->machine);
    struct plist plist;
    plist_begin(&plist);
    add_string(&plist, "Label", label);
    plist_key(&plist, "ProgramArguments");
    plist_open(&plist, "array");
    plist_string(&plist, job->program);
    plist_string(&plist, "monitor");
    cleanup_free char *timeout = xasprintf("--timeout=%lld", (long long)job->timeout_s);
    plist_string(&plist, timeout);
    if (job->at_login)
        plist_string(&plist, "--at-login");
    plist_string(&plist, job->machine);
    plist_close(&plist, "array");
    add_environment(&plist, job->environment);
    add_string(&plist, "StandardOutPath", job->log);
    add_string(&plist, "StandardErrorPath", job->log);
    plist_key(&plist, "RunAtLoad");
    plist_bool(&plist, job->at_login);
    if (!job->at_login)
        add_sessions(&plist);
    // A machine that went down was told to, or has failed: starting it again hides both.
    plist_key(&plist, "KeepAlive");
    plist_bool(&plist, false);
    // Anything less is throttled: processor, disk and timers.
    add_string(&plist, "ProcessType", "Interactive");
    plist_key(&plist, "ExitTimeOut");
    plist_integer(&plist, exit_timeout_s);
    add_limit(&plist, "SoftResourceLimits");
    add_limit(&plist, "HardResourceLimits");
    return plist_end(&plist, text, err);
}

char *launchd_domain(bool gui, uid_t uid)
{
    return xasprintf("%s/%lu", gui ? "gui" : "user", (unsigned long)uid);
}

static void push_words(struct strvec *argv, const char *verb)
{
    strvec_push(argv, "launchctl");
    strvec_push(argv, verb);
}

static void push_target(struct strvec *argv, const char *domain, const char *machine)
{
    strvec_pushf(argv, "%s/%s%s", domain, label_prefix, machine);
}

void launchd_bootstrap_argv(struct strvec *argv, const char *domain, const char *plist)
{
    push_words(argv, "bootstrap");
    strvec_push(argv, domain);
    strvec_push(argv, plist);
}

void launchd_bootout_argv(struct strvec *argv, const char *domain, const char *machine)
{
    push_words(argv, "bootout");
    push_target(argv, domain, machine);
}

void launchd_enable_argv(struct strvec *argv, const char *domain, const char *machine)
{
    push_words(argv, "enable");
    push_target(argv, domain, machine);
}

void launchd_kickstart_argv(struct strvec *argv, const char *domain, const char *machine)
{
    push_words(argv, "kickstart");
    push_target(argv, domain, machine);
}

void launchd_kill_argv(struct strvec *argv, const char *domain, const char *machine,
                       const char *signal)
{
    push_words(argv, "kill");
    strvec_push(argv, signal);
    push_target(argv, domain, machine);
}

void launchd_print_argv(struct strvec *argv, const char *domain, const char *machine)
{
    push_words(argv, "print");
    push_target(argv, domain, machine);
}

void launchd_print_domain_argv(struct strvec *argv, const char *domain)
{
    push_words(argv, "print");
    strvec_push(argv, domain);
}

static void set_fact(struct launchd_state *state, const char *key, const char *value)
{
    char *end;
    if (strcmp(key, "state") == 0) {
        state->running = strcmp(value, "running") == 0;
    } else if (strcmp(key, "pid") == 0) {
        long pid = strtol(value, &end, 10);
        state->pid = pid > 0 ? (pid_t)pid : 0;
    } else if (strcmp(key, "last exit code") == 0) {
        // "0", "78: EX_CONFIG" or "(never exited)"
        long code = strtol(value, &end, 10);
        state->has_exit = end != value;
        state->last_exit = state->has_exit ? (int)code : 0;
    }
}

// "key = value", a block "key = {" ... "}", or something else. Only the job's own facts count:
// blocks inside it have states of their own.
int launchd_parse_print(struct launchd_state *state, const char *text, struct error *err)
{
    struct launchd_state found = {0};
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    strvec_split(&lines, text, '\n');
    int depth = 0;
    bool seen = false;
    for (size_t i = 0; i < lines.count; i++) {
        char *line = lines.items[i] + strspn(lines.items[i], " \t");
        line[strcspn(line, "\r")] = '\0';
        size_t length = strlen(line);
        if (strcmp(line, "}") == 0) {
            depth--;
            continue;
        }
        if (length > 0 && line[length - 1] == '{') {
            depth++;
            continue;
        }
        char *equals = strstr(line, " = ");
        if (depth != 1 || !equals)
            continue;
        *equals = '\0';
        seen = seen || strcmp(line, "state") == 0;
        set_fact(&found, line, equals + 3);
    }
    if (!seen)
        return error_set(err, EBADMSG, "launchctl did not describe a job");
    *state = found;
    return 0;
}
