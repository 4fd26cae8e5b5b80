// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PATHS_H
#define PROVIDER_PATHS_H

#include "base/error.h"

// Where things live (DESIGN section 4). All results are absolute; the caller frees.
// Relative or empty XDG variables count as unset, as the XDG specification says.
char *paths_data(void);        // ${XDG_DATA_HOME:-~/.local/share}/podman-machine-vmnet
char *paths_cache(void);       // ${XDG_CACHE_HOME:-~/.cache}/podman-machine-vmnet
char *paths_image_cache(void); // <cache>/images
char *paths_machines(void);    // <data>/machines
char *paths_runtime(void);     // <runtime>/podman: sockets
char *paths_connections(void); // $PODMAN_CONNECTIONS_CONF or podman-connections.json
char *paths_known_hosts(void); // ~/.ssh/known_hosts
char *paths_home(void);        // $HOME, else the password database

#endif
