// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/vsock.h"

#include <errno.h>
#include <unistd.h>

#include "provider/guest.h"
#include "provider/machine.h"

void vsock_plan(struct tools *tools, const struct machine *m, bool connects)
{
    tools->vsock.report = machine_path(m->name, MACHINE_REPORT_SOCKET);
    if (!connects)
        return;
    tools->vsock.ssh = machine_path(m->name, MACHINE_SSH_SOCKET);
    tools->vsock.api = machine_path(m->name, MACHINE_PODMAN_SOCKET);
    tools->vsock.shutdown = machine_path(m->name, MACHINE_SHUTDOWN_SOCKET);
}

// "listen": the host listens, on a socket that is ours, and the guest connects. "connect": the
// hypervisor makes the socket, and the guest listens.
static void add_device(struct strvec *argv, unsigned port, const char *path, const char *who)
{
    if (!path)
        return;
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-vsock,port=%u,socketURL=%s,%s", port, path, who);
}

void vsock_append(struct strvec *argv, const struct machine *m, const struct tools *tools)
{
    add_device(argv, GUEST_VSOCK_REPORT, tools->vsock.report, "listen");
    add_device(argv, GUEST_VSOCK_SSH, tools->vsock.ssh, "connect");
    add_device(argv, m->rootful ? GUEST_VSOCK_API_ROOT : GUEST_VSOCK_API_USER, tools->vsock.api,
               "connect");
    add_device(argv, GUEST_VSOCK_CONTROL, tools->vsock.shutdown, "connect");
}

int vsock_clear(const struct machine *m, struct error *err)
{
    static const enum machine_file files[] = {MACHINE_REPORT,     MACHINE_REPORT_SOCKET,
                                              MACHINE_SSH_SOCKET, MACHINE_PODMAN_SOCKET,
                                              MACHINE_API_SOCKET, MACHINE_SHUTDOWN_SOCKET};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        cleanup_free char *path = machine_path(m->name, files[i]);
        if (unlink(path) < 0 && errno != ENOENT)
            return error_errno(err, "cannot remove '%s'", path);
    }
    return 0;
}
