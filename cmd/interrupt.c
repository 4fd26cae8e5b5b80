// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

// All that a handler may touch.
static volatile sig_atomic_t received;

static void on_signal(int number)
{
    received = number;
}

void interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupted(void)
{
    return received != 0;
}

int interrupt_error(struct error *err)
{
    return error_set(err, EINTR, "interrupted");
}

void interrupt_forget(void)
{
    received = 0;
}
