// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_STATUS_H
#define PROVIDER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// What the monitor publishes while it runs: status.json, replaced atomically at each change.
// It is only believed while the monitor's lock is held.
enum phase {
    PHASE_STARTING,     // the hypervisor is being started
    PHASE_BOOTING,      // it runs; nothing has answered yet
    PHASE_SSH,          // the guest's address is known; waiting for its sshd
    PHASE_PROVISIONING, // logged in; first-boot work is under way
    PHASE_READY,        // every registered API socket has answered
    PHASE_STOPPING,
    PHASE_FAILED, // with the reason in `detail`
};

struct status {
    enum phase phase;
    char *detail;       // NULL, or words for people; owned
    int64_t changed_ns; // wall clock
    int64_t monitor_pid, vm_pid;
    char *host;    // where sshd answers: an address; NULL: not known yet; owned
    uint64_t port; // and its port
    char *address; // the guest's own, as it reports; NULL: not known, or none; owned
};

#define STATUS_INIT \
    {               \
        0           \
    }

const char *phase_name(enum phase phase); // "starting" ... "failed"

int status_write(const char *machine, const struct status *status, struct error *err);
int status_read(struct status *status, const char *machine, struct error *err); // ENOENT: none
void status_release(struct status *status);

void status_set_phase(struct status *status, enum phase phase, const char *detail); // as of now
void status_set_host(struct status *status, const char *host, uint64_t port);
// Whether it is another one than before. NULL: none.
bool status_set_address(struct status *status, const char *address);

// Removes what an earlier run has left. The clock cannot tell it from what the next one says: it
// may be set back.
int status_forget(const char *machine, struct error *err);

// How the VM ended last: last-exit.json.
struct last_exit {
    int64_t at_ns;
    int wait_status; // as waitpid gives it
    bool expected;   // we were asked to stop it
    char *log;       // last lines of vm.log; owned
};

#define LAST_EXIT_INIT \
    {                  \
        0              \
    }

int last_exit_write(const char *machine, const struct last_exit *last, struct error *err);

// Fills it for an end of now, with the last lines of vm.log, and writes it.
void last_exit_now(struct last_exit *last, const char *machine, int wait_status, bool expected);
int last_exit_read(struct last_exit *last, const char *machine, struct error *err); // ENOENT: none
void last_exit_release(struct last_exit *last);

#endif
