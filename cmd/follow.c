// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/follow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "cmd/interrupt.h"
#include "provider/ladder.h"
#include "provider/state.h"

static const int64_t look_every_ms = 100;
// From the supervisor's "yes" to the monitor's first word; launchd may think for seconds.
static const int64_t monitor_begins_ms = 15000;

// One line on a terminal, redrawn; a line for each step without one.
struct line {
    enum follow_how how;
    bool terminal;
    int64_t begun_ms, drawn_ms;
    char *shown;
};

static void line_release(struct line *line)
{
    if (line->terminal && line->shown)
        fputs("\r\033[K", stderr);
    free(line->shown);
}

static void show(struct line *line, char *text)
{
    cleanup_free char *owned = text;
    int64_t now = clock_monotonic_ms();
    bool changed = !line->shown || strcmp(line->shown, text) != 0;
    if (line->how != FOLLOW_PEOPLE ||
        (!changed && (!line->terminal || now - line->drawn_ms < 1000)))
        return;
    if (line->terminal)
        fprintf(stderr, "\r%s (%lld s)\033[K", text, (long long)((now - line->begun_ms) / 1000));
    else
        fprintf(stderr, "%s\n", text);
    line->drawn_ms = now;
    free(line->shown);
    line->shown = steal_string(&owned);
}

static char *describe(const struct status *status)
{
    switch (status->phase) {
    case PHASE_STARTING:
        return xstrdup("Starting the VM");
    case PHASE_BOOTING:
        return xstrdup("Booting");
    case PHASE_SSH:
        if (!status->host && status->address)
            return xasprintf("Booting: waiting for ssh of %s", status->address);
        return xasprintf("Booting: waiting for ssh at %s port %llu",
                         status->host ? status->host : "?", (unsigned long long)status->port);
    case PHASE_PROVISIONING:
        return xasprintf("Setting up the guest%s%s", status->detail ? ": " : "",
                         status->detail ? status->detail : "");
    case PHASE_READY:
        return xstrdup("Ready");
    default:
        return xstrdup("Stopping");
    }
}

// The same for programs; what is told is told once.
static void show_json(struct line *line, const char *name, const struct status *status)
{
    cleanup_json json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:I}", "machine", name, "phase", phase_name(status->phase),
                  "detail", status->detail ? status->detail : "", "host",
                  status->host ? status->host : "", "port", (json_int_t)status->port);
    cleanup_free char *text = json_compact(object);
    if (line->how != FOLLOW_JSON || (line->shown && strcmp(line->shown, text) == 0))
        return;
    puts(text);
    fflush(stdout);
    free(line->shown);
    line->shown = steal_string(&text);
}

int follow_stop(const char *name, int64_t timeout_ms, struct error *err)
{
    cleanup_free char *monitor = machine_path(name, MACHINE_MONITOR_LOCK);
    cleanup_free char *vm = machine_path(name, MACHINE_VM_LOCK);
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    for (;;) {
        bool supervised = lock_is_held(monitor), running = lock_is_held(vm);
        if (!supervised && !running)
            return 0;
        // A monitor that goes by itself goes after its VM.
        if (!supervised)
            return error_set(err, ECHILD, "the monitor of machine \"%s\" ended before its VM",
                             name);
        if (interrupted())
            return interrupt_error(err);
        if (clock_monotonic_ms() >= deadline)
            return error_set(err, ETIMEDOUT, "machine \"%s\" did not stop: process %ld is left",
                             name, (long)lock_read_pid(running ? vm : monitor));
        clock_sleep_ms(look_every_ms);
    }
}

static int give_up_on_interrupt(const struct machine *m, const struct supervisor *supervisor,
                                pid_t monitor, struct error *err)
{
    struct error ignored;
    fprintf(stderr, "\nInterrupted: stopping machine \"%s\"\n", m->name);
    // A monitor that has only just been forked has no lock yet, and nothing to tidy.
    if (supervisor->stop(m, false, &ignored) < 0 && monitor > 0) {
        kill(monitor, SIGTERM);
        waitpid(monitor, NULL, 0);
    }
    interrupt_forget();
    // A second ctrl-C ends only our waiting: the monitor goes on stopping.
    follow_stop(m->name, ladder_longest_ms, &ignored);
    return interrupt_error(err);
}

static int report_failure(const struct machine *m, const char *reason, struct error *err)
{
    struct error ignored;
    cleanup_free char *serial = machine_path(m->name, MACHINE_SERIAL_LOG);
    cleanup_free char *log = machine_path(m->name, MACHINE_MONITOR_LOG);
    follow_stop(m->name, ladder_longest_ms, &ignored);
    return error_set(err, EIO,
                     "machine did not transition into running state: %s\n"
                     "The guest's console is in '%s', what was done in '%s'",
                     reason, serial, log);
}

static int report_monitor_gone(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_MONITOR_LOG);
    cleanup_free char *tail = file_tail(path, 3);
    return error_set(err, ECHILD, "the monitor of machine \"%s\" ended%s%s", m->name,
                     *tail ? ": " : "", tail);
}

int follow_start(const struct machine *m, const struct supervisor *supervisor, pid_t monitor,
                 enum follow_how how, struct error *err)
{
    CLEANUP(line_release)
    struct line line = {
        .how = how,
        .terminal = how == FOLLOW_PEOPLE && isatty(STDERR_FILENO) == 1,
        .begun_ms = clock_monotonic_ms(),
    };
    cleanup_free char *lock = machine_path(m->name, MACHINE_MONITOR_LOCK);
    int64_t must_have_begun = clock_monotonic_ms() + monitor_begins_ms;
    for (;;) {
        CLEANUP(status_release) struct status status = STATUS_INIT;
        struct error ignored;
        // In this order: a monitor that fails publishes why before it lets go of its lock.
        int wait_status = -1;
        bool gone = (monitor && waitpid(monitor, &wait_status, WNOHANG) == monitor) ||
                    (!lock_is_held(lock) && clock_monotonic_ms() > must_have_begun);
        bool fresh = status_read(&status, m->name, &ignored) == 0;
        if (fresh)
            show_json(&line, m->name, &status);
        if (fresh && status.phase == PHASE_READY && !gone)
            return 0;
        if (fresh && status.phase == PHASE_FAILED)
            return report_failure(m, status.detail ? status.detail : "unknown reason", err);
        if (gone && wait_status == 0)
            return error_set(err, ECANCELED, "machine \"%s\" was stopped while it was starting",
                             m->name);
        if (gone)
            return report_monitor_gone(m, err);
        if (interrupted())
            return give_up_on_interrupt(m, supervisor, monitor, err);
        if (fresh)
            show(&line, describe(&status));
        clock_sleep_ms(look_every_ms);
    }
}

int follow_api_socket(const char *name, int64_t timeout_ms)
{
    cleanup_free char *path = machine_path(name, MACHINE_API_SOCKET);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return -1;
    strcpy(address.sun_path, path);
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    while (!interrupted() && clock_monotonic_ms() < deadline) {
        cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            return 0;
        clock_sleep_ms(look_every_ms);
    }
    return -1;
}
