// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/process.h"

static const int64_t look_every_ms = 20;

static int start(const struct machine *m, int64_t timeout_ms, pid_t *pid, struct error *err)
{
    cleanup_free char *self = platform_executable();
    if (!self)
        return error_set(err, ENOENT, "cannot find our own executable");
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, self);
    strvec_push(&argv, "monitor");
    strvec_pushf(&argv, "--timeout=%lld", (long long)(timeout_ms / 1000));
    strvec_push(&argv, m->name);

    cleanup_free char *log = machine_path(m->name, MACHINE_MONITOR_LOG);
    cleanup_close int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cleanup_close int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (log_fd < 0 || null_fd < 0)
        return error_errno(err, "cannot open '%s'", log);

    cleanup_free char *shown = strvec_quote(&argv);
    log_debug("running %s", shown);
    pid_t child = process_fork();
    if (child < 0)
        return error_errno(err, "cannot start the monitor");
    if (child == 0) {
        // Its own session: neither ctrl-C nor the terminal's end reaches it.
        setsid();
        if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(log_fd, STDOUT_FILENO) < 0 ||
            dup2(log_fd, STDERR_FILENO) < 0 || chdir("/") < 0)
            _exit(127);
        struct error failed;
        process_exec(&argv, &failed);
        log_error("%s", failed.message);
        _exit(127);
    }
    *pid = child;
    return 0;
}

static int stop(const struct machine *m, bool hard, struct error *err)
{
    cleanup_free char *lock = machine_path(m->name, MACHINE_MONITOR_LOCK);
    // The id is the monitor's only while the monitor holds its lock, and comes a moment after it.
    int64_t deadline = clock_monotonic_ms() + lock_glance_ms;
    pid_t pid;
    while ((pid = lock_is_held(lock) ? lock_read_pid(lock) : 0) <= 0 && lock_is_held(lock) &&
           clock_monotonic_ms() < deadline)
        clock_sleep_ms(look_every_ms);
    if (pid <= 0)
        return error_set(err, ESRCH, "machine \"%s\" has no monitor", m->name);
    if (kill(pid, hard ? SUPERVISOR_SIGNAL_STOP_HARD : SUPERVISOR_SIGNAL_STOP) < 0)
        return error_errno(err, "cannot signal the monitor of machine \"%s\" (process %ld)",
                           m->name, (long)pid);
    return 0;
}

static int clear(const struct machine *m, struct error *err)
{
    (void)m, (void)err;
    return 0;
}

static int autostart(const struct machine *m, bool on, struct error *err)
{
    if (!on)
        return 0;
    return error_set(err, ENOTSUP,
                     "machine \"%s\" cannot be started at login on this system: have "
                     "`podman-machine-vmnet start %s` run by a systemd user unit of your own",
                     m->name, m->name);
}

static bool autostarts(const struct machine *m)
{
    (void)m;
    return false;
}

const struct supervisor supervisor_process = {
    .name = "process",
    .start = start,
    .stop = stop,
    .clear = clear,
    .autostart = autostart,
    .autostarts = autostarts,
};
