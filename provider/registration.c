// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/registration.h"

#include "provider/connection.h"
#include "provider/connection_conf.h"
#include "provider/known_hosts.h"
#include "provider/paths.h"
#include "provider/ssh.h"

// For a podman that does not read podman-connections.json.
static int set_conf(const struct connection *connection, struct error *err)
{
    cleanup_free char *folder = paths_containers_config();
    return connection_conf_is_wanted() ? connection_conf_set(folder, connection, err)
                                       : connection_conf_remove(folder, connection->machine, err);
}

int registration_set(const struct machine *m, const char *host, unsigned port, struct error *err)
{
    cleanup_free char *connections = paths_connections();
    cleanup_free char *known_hosts = paths_known_hosts();
    cleanup_free char *host_key_path = machine_path(m->name, MACHINE_HOST_KEY);
    cleanup_free char *host_key = NULL;
    const struct connection connection = {
        .machine = m->name,
        .host = host,
        .port = port,
        .user = m->ssh.user,
        .uid = (unsigned)m->ssh.uid,
        .identity = m->ssh.identity,
        .rootful = m->rootful,
    };
    if (ssh_key_public(&host_key, host_key_path, err) < 0 ||
        known_hosts_set(known_hosts, m->name, host, port, host_key, err) < 0 ||
        connection_add(connections, &connection, err) < 0)
        return -1;
    return set_conf(&connection, err);
}

int registration_check(const struct machine *m, struct error *err)
{
    cleanup_free char *connections = paths_connections();
    return connection_check_own(connections, m->name, m->ssh.identity, err);
}

// By the record where it can be read, else by the key that init makes.
static char *identity_of(const char *machine)
{
    struct error ignored;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    if (machine_load(&m, machine, &ignored) == 0)
        return steal_string(&m.ssh.identity);
    return machine_path(machine, MACHINE_KEY);
}

int registration_remove(const char *machine, struct error *err)
{
    cleanup_free char *identity = identity_of(machine);
    cleanup_free char *connections = paths_connections();
    cleanup_free char *known_hosts = paths_known_hosts();
    cleanup_free char *folder = paths_containers_config();
    if (connection_remove(connections, machine, identity, err) < 0 ||
        connection_conf_remove(folder, machine, err) < 0)
        return -1;
    return known_hosts_remove(known_hosts, machine, err);
}
