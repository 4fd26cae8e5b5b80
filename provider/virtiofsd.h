// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_VIRTIOFSD_H
#define PROVIDER_VIRTIOFSD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct tools;

// virtiofsd, which serves one folder to one qemu: the one in Rust (1.0 and later). Its predecessor
// in C, of QEMU until 7.2, works for root alone and is passed over. In the folder that
// CONTAINERS_HELPER_BINARY_DIR names, as podman has it, or where other tools are. False: none.
// `*read_only`: it can refuse writes by itself (1.12 and later). The caller frees.
bool virtiofsd_find(char **program, bool *read_only);

// One process for each share with a socket. Each ends by itself when its qemu does.
struct sharers {
    pid_t *pids; // 0: has ended
    size_t count;
    int64_t ended_ms; // when one did by itself; 0: none
};

#define SHARERS_INIT \
    {                \
        NULL, 0, 0   \
    }

// Starts them, in process groups of their own, each listening from the start; what they say goes
// to `log_fd`. On an error none is left.
int sharers_start(struct sharers *sharers, const struct tools *tools, int log_fd,
                  struct error *err);

// Takes notice, if the child that was waited for is one of them.
void sharers_take_end(struct sharers *sharers, pid_t pid);

// True once: one has ended some time ago, so not because its qemu did, which would be seen by now.
bool sharers_are_lost(struct sharers *sharers);

// Kills those that are left, and forgets all.
void sharers_release(struct sharers *sharers);

#endif
