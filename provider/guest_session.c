// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/guest_session.h"

#include "base/alloc.h"
#include "provider/guest.h"

static int host_key_of(char **line, const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_HOST_KEY);
    return ssh_key_public(line, path, err);
}

int guest_open(struct ssh_session **session, const struct machine *m, const char *host,
               unsigned port, const char *user, int64_t timeout_ms, struct error *err)
{
    cleanup_free char *host_key = NULL;
    if (host_key_of(&host_key, m, err) < 0)
        return -1;
    const struct ssh_target target = {
        .host = host,
        .port = port,
        .user = user ? user : "root",
        .identity = m->ssh.identity,
        .host_key = host_key,
        .timeout_ms = timeout_ms,
    };
    return ssh_open(session, &target, err);
}

int guest_client_argv(struct strvec *argv, const struct machine *m, const char *host, unsigned port,
                      const char *user, struct error *err)
{
    cleanup_free char *host_key = NULL;
    cleanup_free char *known_hosts = machine_path(m->name, MACHINE_KNOWN_HOSTS);
    if (host_key_of(&host_key, m, err) < 0 || ssh_write_known_hosts(known_hosts, host_key, err) < 0)
        return -1;
    const struct ssh_target target = {
        .host = host,
        .port = port,
        .user = user ? user : "root",
        .identity = m->ssh.identity,
        .host_key = host_key,
    };
    ssh_client_argv(argv, &target, known_hosts);
    return 0;
}

char *guest_socket(const struct machine *m, bool root)
{
    return root ? xstrdup(GUEST_ROOT_SOCKET)
                : xasprintf(GUEST_USER_SOCKET_FORMAT, (unsigned)m->ssh.uid);
}
