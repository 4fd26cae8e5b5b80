// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/state.h"

#include <errno.h>

#include "base/lock.h"
#include "base/log.h"

const char *machine_state_name(enum machine_state state)
{
    static const char *const names[] = {
        [MACHINE_STOPPED] = "stopped",
        [MACHINE_STARTING] = "starting",
        [MACHINE_RUNNING] = "running",
    };
    return names[state];
}

static enum machine_state state_of_phase(enum phase phase)
{
    switch (phase) {
    case PHASE_READY:
    case PHASE_STOPPING:
    case PHASE_FAILED: // the monitor is taking the VM down
        return MACHINE_RUNNING;
    default:
        return MACHINE_STARTING;
    }
}

int machine_ask(struct machine_now *now, const char *name, struct error *err)
{
    cleanup_free char *monitor = machine_path(name, MACHINE_MONITOR_LOCK);
    cleanup_free char *vm = machine_path(name, MACHINE_VM_LOCK);
    struct machine_now answer = MACHINE_NOW_INIT;

    // How it ended last is only told: a file that cannot be read must not keep anybody from
    // stopping or removing the machine.
    if (last_exit_read(&answer.last_exit, name, err) < 0 && err->code != ENOENT)
        log_warn("%s", err->message);
    answer.last_up_ns = answer.last_exit.at_ns;
    answer.supervised = lock_is_held(monitor);
    if (answer.supervised) {
        // A monitor that has only just begun has published nothing yet; what an earlier one
        // left is told apart by the process id.
        int64_t pid = lock_read_pid(monitor);
        if (status_read(&answer.status, name, err) == 0 && answer.status.monitor_pid == pid)
            answer.state = state_of_phase(answer.status.phase);
        else {
            status_release(&answer.status);
            answer.state = MACHINE_STARTING;
        }
    } else if (lock_is_held(vm)) {
        answer.state = MACHINE_RUNNING;
    }
    *now = answer;
    return 0;
}

void machine_now_release(struct machine_now *now)
{
    status_release(&now->status);
    last_exit_release(&now->last_exit);
    *now = (struct machine_now)MACHINE_NOW_INIT;
}
