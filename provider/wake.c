// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "provider/supervisor.h"

// A handler can reach nothing else: the write end of the pipe that wakes the loop.
static int wake_fd = -1;

static void on_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    if (write(wake_fd, &byte, 1) < 0)
        byte = 0; // a full pipe wakes the loop too
    errno = saved;
}

int wake_open(int *read_end, struct error *err)
{
    static const int numbers[] = {SIGCHLD, SIGINT, SUPERVISOR_SIGNAL_STOP,
                                  SUPERVISOR_SIGNAL_STOP_HARD};
    int ends[2];
    if (pipe(ends) < 0)
        return error_errno(err, "cannot make a pipe");
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    wake_fd = ends[1];
    *read_end = ends[0];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return 0;
}
