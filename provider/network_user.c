// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// qemu's own user-mode network: no wrapper, no privileges, the guest's sshd behind a port on
// the host's loopback.

#include "provider/network.h"

#include <errno.h>

#include "base/alloc.h"
#include "provider/machine.h"

static int user_probe(struct tools *tools, const struct machine *m,
                      const struct hypervisor *hypervisor, struct error *err)
{
    (void)tools, (void)m, (void)hypervisor, (void)err;
    return 0;
}

static int user_append(const struct machine *m, const struct tools *tools, struct strvec *argv,
                       struct network_port *port, struct error *err)
{
    (void)tools, (void)argv;
    if (m->ssh.port == 0 || m->ssh.port > 65535)
        return error_set(err, EINVAL, "no ssh port was chosen for machine '%s'", m->name);
    *port = (struct network_port){.fd = -1, .ssh = (unsigned)m->ssh.port};
    return 0;
}

static int find_port(const struct machine *m, struct strvec *hosts, unsigned *port,
                     struct error *err)
{
    if (m->ssh.port == 0)
        return error_set(err, ENOENT, "no ssh port was chosen for machine '%s'", m->name);
    strvec_push(hosts, "127.0.0.1");
    *port = (unsigned)m->ssh.port;
    return 0;
}

static const struct way ways[] = {
    {.name = "port", .local = true, .find = find_port},
    {.name = NULL},
};

const struct network network_user = {
    .name = "user",
    .probe = user_probe,
    .append = user_append,
    .ways = ways,
    .needs_port = true,
    .user_mode = true,
};
