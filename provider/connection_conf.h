// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_CONNECTION_CONF_H
#define PROVIDER_CONNECTION_CONF_H

#include <stdbool.h>

#include "provider/connection.h"

// The same two connections where podman before version 5 looks for them: as
// engine.service_destinations of containers.conf (podman 4.3.1, its pkg/domain and
// containers-common 0.49). That file is the user's; ours is one of its own beside it, for each
// machine: `folder`/containers.conf.d/podman-machine-vmnet-NAME.conf. podman 5 and later would show
// it as connections that cannot be changed, so only those who need it get it.

// Whether the podman on PATH is such a one.
bool connection_conf_is_wanted(void);

int connection_conf_set(const char *folder, const struct connection *connection, struct error *err);

// Absent is success.
int connection_conf_remove(const char *folder, const char *machine, struct error *err);

#endif
