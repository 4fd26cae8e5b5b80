// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/plane.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "provider/machine.h"
#include "provider/relay.h"

// The relay of a monitor that was killed lets go of the port in its own time.
static const int64_t port_ms = 5000;
static const int64_t try_every_ms = 100;

void plane_init(struct plane *plane)
{
    *plane =
        (struct plane){.relay = {.fd = -1, .other = -1, .socket = MACHINE_SSH_SOCKET, .tcp = true},
                       .life = -1,
                       .alive = -1};
    report_listener_init(&plane->guest);
}

static void close_one(int *fd)
{
    cleanup_close_fd(fd);
    *fd = -1;
}

void plane_release(struct plane *plane)
{
    report_listener_release(&plane->guest);
    close_one(&plane->relay.fd);
    close_one(&plane->relay.other);
    close_one(&plane->life);
    close_one(&plane->alive);
}

void plane_in_helper(struct plane *plane, bool relay)
{
    report_listener_release(&plane->guest);
    close_one(&plane->life);
    if (relay)
        return;
    close_one(&plane->relay.fd);
    close_one(&plane->relay.other);
}

int plane_open(struct plane *plane, const struct machine *m, const struct provider *provider,
               struct error *err)
{
    int ends[2];
    if (process_pipe(ends, err) < 0)
        return -1;
    plane->alive = ends[0];
    plane->life = ends[1];
    if (provider->vsock != VSOCK_SOCKETS)
        return 0;
    cleanup_free char *path = machine_path(m->name, MACHINE_REPORT_SOCKET);
    if (report_listener_open(&plane->guest, path, err) < 0)
        return -1;
    cleanup_free char *sshd = machine_path(m->name, MACHINE_SSHD_SOCKET);
    if (relay_listen_at(&plane->relay.other, sshd, err) < 0)
        return -1;
    int64_t deadline = clock_monotonic_ms() + port_ms;
    while (relay_listen(&plane->relay.fd, (unsigned)m->ssh.port, err) < 0) {
        if (clock_monotonic_ms() >= deadline)
            return -1;
        clock_sleep_ms(try_every_ms);
    }
    return 0;
}
