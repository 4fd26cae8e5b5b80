// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The monitor as a launchd agent, so that it survives the terminal, is told of logout and
// shutdown (SIGTERM, then ExitTimeOut) and can begin at login.
//
// A session with a screen has the domain gui/UID. Over plain ssh there may be only user/UID, or
// neither; then the monitor is a plain process, which does everything but begin at login.
//
// launchd forgets a job in its own time: a bootstrap that follows a bootout too closely fails with
// EIO or EALREADY, although nothing is wrong. So a bootout is waited for, and such a bootstrap is
// tried again, for longer than the 5 s that macOS 26 was seen to take (headroom#1289). EIO is also
// what some versions say of a disabled job (openclaw#849) and of a domain that is not there
// (vaultsync#89). What can be asked is asked by `launchctl print`; what is on the disk is the
// property list in the machine's folder, written anew by each start.

#include "provider/supervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/process.h"
#include "provider/launchd.h"
#include "provider/paths.h"

extern char **environ;

// launchctl's exit statuses: errno values of macOS, and some of launchd's own above 100.
enum {
    LAUNCHD_EIO = 5,
    LAUNCHD_EEXIST = 17,
    LAUNCHD_EINPROGRESS = 36,
    LAUNCHD_EALREADY = 37,
    LAUNCHD_DISABLED = 119,
};

static const int64_t launchctl_ms = 60000; // a bootout waits for the job
static const int64_t gone_ms = 15000;      // a job that is told to go, and its monitor with it
static const int64_t look_every_ms = 100;
static const int64_t first_pause_ms = 200; // doubled at each try
static const unsigned most_tries = 7;
static const int64_t login_timeout_s = 1800;

// Runs launchctl. 0 with its exit status, whatever it is.
static int call(const struct strvec *argv, struct strbuf *out, int *status, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    int wait_status;
    if (process_call(argv, launchctl_ms, out, &words, &wait_status, err) < 0)
        return -1;
    *status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    while (words.length && strchr("\r\n ", words.text[words.length - 1]))
        strbuf_truncate(&words, words.length - 1);
    if (*status != 0)
        error_set(err, ECHILD, "launchctl %s: exit status %d: %s", argv->items[1], *status,
                  words.text);
    return 0;
}

// What launchd knows of the job. ENOENT: nothing in this domain, or there is no launchctl.
static int ask(struct launchd_state *state, const char *domain, const char *machine,
               struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    int status;
    launchd_print_argv(&argv, domain, machine);
    if (call(&argv, &out, &status, err) < 0)
        return -1;
    if (status != 0)
        return error_set(err, ENOENT, "launchd has no job for machine \"%s\" in %s", machine,
                         domain);
    return launchd_parse_print(state, out.text, err);
}

// Unloads the job, and waits until launchd has forgotten it.
static int unload(const char *domain, const char *machine, struct error *err)
{
    struct launchd_state state;
    int64_t deadline = clock_monotonic_ms() + gone_ms;
    if (ask(&state, domain, machine, err) < 0 && err->code == ENOENT)
        return 0;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    launchd_bootout_argv(&argv, domain, machine);
    for (;;) {
        int status;
        if (call(&argv, NULL, &status, err) < 0)
            return -1;
        if (ask(&state, domain, machine, err) < 0 && err->code == ENOENT)
            return 0;
        if (clock_monotonic_ms() >= deadline)
            return error_set(err, ETIMEDOUT,
                             "launchd does not let go of the job of machine \"%s\" in %s", machine,
                             domain);
        clock_sleep_ms(look_every_ms);
    }
}

static bool is_passing(int status)
{
    return status == LAUNCHD_EIO || status == LAUNCHD_EEXIST || status == LAUNCHD_EINPROGRESS ||
           status == LAUNCHD_EALREADY;
}

static bool is_there(const char *domain)
{
    struct error ignored;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    int status;
    launchd_print_domain_argv(&argv, domain);
    return call(&argv, &out, &status, &ignored) == 0 && status == 0;
}

// After a bootstrap that failed with this status: makes room for the next. -1: there is no use.
static int prepare_again(const char *domain, const char *machine, int status, struct error *err)
{
    CLEANUP(strvec_release) struct strvec enable = STRVEC_INIT;
    int ignored;
    if (status != LAUNCHD_DISABLED && !is_passing(status))
        return -1; // no such domain, or a job that launchd does not take
    if (status == LAUNCHD_EIO && !is_there(domain))
        return -1;
    struct error stuck;
    launchd_enable_argv(&enable, domain, machine);
    if (((status == LAUNCHD_DISABLED || status == LAUNCHD_EIO) &&
         call(&enable, NULL, &ignored, &stuck) < 0) ||
        unload(domain, machine, &stuck) < 0) {
        *err = stuck;
        return -1;
    }
    return 0;
}

static int load(const char *domain, const char *machine, const char *plist, struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    launchd_bootstrap_argv(&argv, domain, plist);
    int64_t pause_ms = first_pause_ms;
    for (unsigned tries = 1;; tries++) {
        int status;
        if (call(&argv, NULL, &status, err) < 0)
            return -1;
        if (status == 0)
            return 0;
        log_info("%s", err->message);
        if (tries == most_tries || prepare_again(domain, machine, status, err) < 0)
            return -1;
        clock_sleep_ms(pause_ms);
        pause_ms *= 2;
    }
}

static int run_in(const char *domain, const char *machine, const char *plist, struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    int status;
    if (load(domain, machine, plist, err) < 0)
        return -1;
    launchd_kickstart_argv(&argv, domain, machine);
    if (call(&argv, NULL, &status, err) < 0)
        return -1;
    if (status == 0)
        return 0;
    struct error ignored;
    unload(domain, machine, &ignored); // it must not run in two places
    return -1;
}

static char *domain_at(unsigned index)
{
    return index < 2 ? launchd_domain(index == 0, getuid()) : NULL;
}

// launchd gives a job next to nothing: what decides where our files are and which programs we
// find must be what the user has here.
static void collect_environment(struct strvec *environment)
{
    static const char *const names[] = {"HOME",    "PATH", "TMPDIR", "USER",
                                        "LOGNAME", "LANG", "LC_ALL"};
    static const char *const prefixes[] = {"XDG_", "PODMAN_", "CONTAINERS_"};
    for (char **entry = environ; *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        bool wanted = false;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            wanted |= strlen(names[i]) == length && strncmp(*entry, names[i], length) == 0;
        for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
            wanted |= strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0;
        if (wanted)
            strvec_push(environment, *entry);
    }
}

static int write_plist(const struct machine *m, const char *path, int64_t timeout_s, bool at_login,
                       struct error *err)
{
    CLEANUP(strvec_release) struct strvec environment = STRVEC_INIT;
    cleanup_free char *executable = platform_executable();
    cleanup_free char *log = machine_path(m->name, MACHINE_MONITOR_LOG);
    cleanup_free char *text = NULL;
    if (!executable)
        return error_set(err, ENOENT, "cannot find our own executable");
    // The list outlives this version of the program.
    cleanup_free char *self = process_lasting_path(executable, platform_program_dirs);
    collect_environment(&environment);
    const struct launchd_job job = {
        .machine = m->name,
        .program = self,
        .timeout_s = timeout_s,
        .log = log,
        .at_login = at_login,
        .environment = &environment,
    };
    if (launchd_plist(&text, &job, err) < 0)
        return -1;
    // launchd refuses a list that others may write.
    return file_write_atomic(path, text, strlen(text), 0600, err);
}

static int start(const struct machine *m, int64_t timeout_ms, pid_t *pid, struct error *err)
{
    cleanup_free char *plist = machine_path(m->name, MACHINE_LAUNCHD_PLIST);
    cleanup_free char *log = machine_path(m->name, MACHINE_MONITOR_LOG);
    if (write_plist(m, plist, timeout_ms / 1000, false, err) < 0)
        return -1;
    if (unlink(log) < 0 && errno != ENOENT) // launchd appends
        return error_errno(err, "cannot remove '%s'", log);

    cleanup_free char *gui = domain_at(0), *user = domain_at(1);
    const char *const domains[] = {gui, user};
    // Also from the domain that is not used this time: two jobs would run two monitors.
    for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
        if (unload(domains[i], m->name, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
        if (run_in(domains[i], m->name, plist, err) == 0) {
            log_debug("the monitor runs in launchd's domain %s", domains[i]);
            *pid = 0;
            return 0;
        }
        log_info("launchd cannot keep the monitor in %s: %s", domains[i], err->message);
    }
    log_info("going on without launchd");
    return supervisor_process.start(m, timeout_ms, pid, err);
}

static int stop(const struct machine *m, bool hard, struct error *err)
{
    for (unsigned i = 0; i < 2; i++) {
        cleanup_free char *domain = domain_at(i);
        CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
        struct launchd_state state;
        int status;
        if (ask(&state, domain, m->name, err) < 0 || !state.running)
            continue;
        launchd_kill_argv(&argv, domain, m->name, hard ? "SIGUSR1" : "SIGTERM");
        if (call(&argv, NULL, &status, err) == 0 && status == 0)
            return 0;
        log_info("%s", err->message);
    }
    return supervisor_process.stop(m, hard, err);
}

static int clear(const struct machine *m, struct error *err)
{
    for (unsigned i = 0; i < 2; i++) {
        cleanup_free char *domain = domain_at(i);
        if (unload(domain, m->name, err) < 0)
            return -1;
    }
    cleanup_free char *plist = machine_path(m->name, MACHINE_LAUNCHD_PLIST);
    if (unlink(plist) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", plist);
    return 0;
}

static char *agent_path(const struct machine *m)
{
    cleanup_free char *folder = paths_launch_agents();
    cleanup_free char *label = launchd_label(m->name);
    return xasprintf("%s/%s.plist", folder, label);
}

// A job that was once disabled would be passed over at login.
static void enable_at_login(const struct machine *m)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    struct error err;
    int status;
    cleanup_free char *gui = domain_at(0);
    launchd_enable_argv(&argv, gui, m->name);
    if (call(&argv, NULL, &status, &err) < 0 || status != 0)
        log_warn("%s", err.message);
}

static int autostart(const struct machine *m, bool on, struct error *err)
{
    cleanup_free char *folder = paths_launch_agents();
    cleanup_free char *path = agent_path(m);
    if (!on)
        return unlink(path) < 0 && errno != ENOENT ? error_errno(err, "cannot remove '%s'", path)
                                                   : 0;
    if (file_make_dirs(folder, 0755, err) < 0)
        return -1;
    if (write_plist(m, path, login_timeout_s, true, err) < 0)
        return -1;
    enable_at_login(m);
    return 0;
}

static bool autostarts(const struct machine *m)
{
    cleanup_free char *path = agent_path(m);
    return file_exists(path);
}

const struct supervisor supervisor_launchd = {
    .name = "launchd",
    .start = start,
    .stop = stop,
    .clear = clear,
    .autostart = autostart,
    .autostarts = autostarts,
};
