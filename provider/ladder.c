// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/ladder.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "provider/machine.h"
#include "provider/reach.h"
#include "provider/vsock.h"

const int64_t ladder_longest_ms = 150000;

static const int64_t look_every_ms = 100;
static const int64_t ssh_ms = 10000;
static const int64_t after_asking_ms = 90000;
static const int64_t after_button_ms = 30000;
static const int64_t after_button_unbooted_ms = 15000;
static const int64_t after_sigterm_ms = 10000;
static const int64_t after_sigkill_ms = 5000;

static bool wait_until_gone(const char *vm_lock, int64_t timeout_ms)
{
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    while (lock_is_held(vm_lock)) {
        if (clock_monotonic_ms() >= deadline)
            return false;
        clock_sleep_ms(look_every_ms);
    }
    return true;
}

static int ask_over_ssh(const struct ladder *ladder, struct error *err)
{
    cleanup_free char *host = NULL;
    unsigned port;
    struct ssh_session *session;
    // One that has not got as far as a login would only cost the time.
    if (!ladder->booted)
        return error_set(err, ENOTCONN, "it has not booted yet");
    if (reach_open(&session, ladder->m, ladder->provider, NULL, ssh_ms, &host, &port, err) < 0)
        return -1;
    int status = 0;
    // The guest may be down before it has said that the command ended.
    int result = ssh_run(session, "systemctl poweroff", NULL, &status, err);
    ssh_free(session);
    if (result == 0 && status != 0)
        return error_set(err, ECHILD, "systemctl poweroff: exit status %d", status);
    return 0;
}

static int ask_guest(const struct ladder *ladder, struct error *err)
{
    if (vsock_is_there(ladder->m, ladder->provider)) {
        if (vsock_shutdown(ladder->m, ladder->provider, err) == 0)
            return 0;
        log_info("cannot ask the guest over vsock: %s", err->message);
    }
    return ask_over_ssh(ladder, err);
}

static bool send_signal(const char *vm_lock, int number, bool group)
{
    // The id is the VM's only while the VM holds its lock.
    pid_t pid = lock_is_held(vm_lock) ? lock_read_pid(vm_lock) : 0;
    if (pid <= 0)
        return false;
    log_info("sending signal %d to process %ld", number, (long)pid);
    return kill(group ? -pid : pid, number) == 0;
}

int ladder_run(const struct ladder *ladder, struct error *err)
{
    cleanup_free char *vm_lock = machine_path(ladder->m->name, MACHINE_VM_LOCK);
    struct error why;
    if (!lock_is_held(vm_lock))
        return 0;

    if (!ladder->hard) {
        int64_t patience_ms = ladder->booted ? after_asking_ms : after_button_unbooted_ms;
        if (ask_guest(ladder, &why) == 0) {
            log_info("asked the guest to power off");
            if (wait_until_gone(vm_lock, after_asking_ms))
                return 0;
            patience_ms = after_button_ms;
        } else {
            log_info("cannot ask the guest to power off: %s", why.message);
        }
        if (ladder->provider->hypervisor->power_off(ladder->m, &why) == 0) {
            log_info("pressed the VM's power button");
            if (wait_until_gone(vm_lock, patience_ms))
                return 0;
        } else {
            log_info("cannot press the VM's power button: %s", why.message);
        }
        log_warn("machine \"%s\" did not shut down when asked, ending the hypervisor",
                 ladder->m->name);
    }
    if (send_signal(vm_lock, SIGTERM, false) && wait_until_gone(vm_lock, after_sigterm_ms))
        return 0;
    if (send_signal(vm_lock, SIGKILL, true) && wait_until_gone(vm_lock, after_sigkill_ms))
        return 0;
    if (!lock_is_held(vm_lock))
        return 0;
    return error_set(err, ETIMEDOUT, "the VM of machine \"%s\" (process %ld) does not end",
                     ladder->m->name, (long)lock_read_pid(vm_lock));
}
