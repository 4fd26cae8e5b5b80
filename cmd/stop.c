// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// stop: asks the monitor, which walks the ladder; walks it itself for a VM whose monitor was
// killed. Success is said only after both are gone.

#include "cmd/stop.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "cmd/command.h"
#include "cmd/events.h"
#include "cmd/follow.h"
#include "cmd/interrupt.h"
#include "cmd/target.h"
#include "provider/ladder.h"
#include "provider/state.h"
#include "provider/supervisor.h"

// The monitor's own bookkeeping, on top of the ladder.
static const int64_t grace_ms = 20000;

static int stop_orphan(const char *name, bool hard, struct error *err)
{
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    const struct provider *provider = NULL;
    if (machine_lock(&lock, name, -1, err) < 0)
        return -1;
    // A start may have taken it over while we waited for the lock.
    if (machine_ask(&now, name, err) < 0 || now.supervised)
        return now.supervised ? stop_machine(name, hard, err) : -1;
    // Forced removal must work with a record that cannot be read.
    if (machine_load(&m, name, err) < 0 || target_provider(&provider, &m, err) < 0) {
        if (!hard)
            return -1;
        machine_release(&m);
        m.name = xstrdup(name);
    }
    cleanup_free char *log = machine_path(name, MACHINE_VM_LOG);
    const struct ladder ladder = {.m = &m, .provider = provider, .hard = hard, .booted = true};
    if (ladder_run(&ladder, err) < 0)
        return -1;
    static const enum machine_file left[] = {MACHINE_API_SOCKET, MACHINE_CONTROL_SOCKET,
                                             MACHINE_SSHD_SOCKET, MACHINE_CONTEXT_ID,
                                             MACHINE_STATUS};
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        cleanup_free char *path = machine_path(name, left[i]);
        unlink(path);
    }
    CLEANUP(last_exit_release)
    struct last_exit last = {.at_ns = clock_wall_ns(), .expected = true, .log = file_tail(log, 20)};
    return last_exit_write(name, &last, err);
}

int stop_machine(const char *name, bool hard, struct error *err)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    if (machine_ask(&now, name, err) < 0)
        return -1;
    if (now.state == MACHINE_STOPPED)
        return 0;
    if (!now.supervised)
        return stop_orphan(name, hard, err);

    // Without the machine's lock: a start that is under way holds it, and is what we end.
    const struct machine m = {.name = (char *)name};
    const struct supervisor *supervisor = supervisor_for(&m);
    if (supervisor->stop(&m, hard, err) < 0 && err->code != ESRCH)
        return -1;
    if (follow_stop(name, ladder_longest_ms + grace_ms, err) < 0 &&
        (err->code != ECHILD || stop_orphan(name, hard, err) < 0))
        return -1;
    return supervisor->clear(&m, err);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, NULL, &operands, err) < 0)
        return -1;
    const char *name = target_name(&operands);
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    interrupt_watch();
    if (stop_machine(name, false, err) < 0)
        return -1;
    printf("Machine \"%s\" stopped successfully\n", name);
    events_publish(name, "stop");
    return 0;
}

static const struct option_spec options[] = {{.name = NULL}};

const struct command command_stop = {
    .name = "stop",
    .operands = "[MACHINE]",
    .summary = "Stop an existing machine",
    .details = "Stop a managed virtual machine",
    .most = 1,
    .acts = true,
    .options = options,
    .run = run,
};
