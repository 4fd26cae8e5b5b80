// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_HELPER_H
#define PROVIDER_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The program beside the VM that moves its packets. vmnet-run waits for the VM only (run.c,
// wait_for_command): when the helper ends, the VM runs on without a network, and nothing says so.
// The helper is a child of vmnet-run; before macOS 26 that child is sudo, which ends with it.
struct helper {
    const char *name; // NULL: there is none
    pid_t vm;
    int fd;             // can be read when it has ended; -1: not found yet, or cannot be watched
    int64_t look_at_ms; // when to look for it again
    unsigned looks;
    bool lost;
};

void helper_init(struct helper *helper, const char *name, pid_t vm);
void helper_release(struct helper *helper);

// Looks, if it is time to. True once: it has just been found to have ended. `readable`: what poll
// said of fd.
bool helper_has_ended(struct helper *helper, bool readable);

// Reads what `ps -A -o pid=,ppid=,stat=,comm=` says: the helper's process id; 0: no such child;
// -1: it has ended and nobody has taken notice.
pid_t helper_find(const char *processes, pid_t parent, const char *name);

#endif
