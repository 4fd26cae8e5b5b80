// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PATHS_H
#define PROVIDER_PATHS_H

#include "base/error.h"

// Where things live (DESIGN section 4). All results are absolute; the caller frees.
// Relative or empty XDG variables count as unset, as the XDG specification says.
char *paths_data(void);              // ${XDG_DATA_HOME:-~/.local/share}/podman-machine-vmnet
char *paths_cache(void);             // ${XDG_CACHE_HOME:-~/.cache}/podman-machine-vmnet
char *paths_image_cache(void);       // <cache>/images
char *paths_machines(void);          // <data>/machines
char *paths_connections(void);       // $PODMAN_CONNECTIONS_CONF or podman-connections.json
char *paths_containers_config(void); // ${XDG_CONFIG_HOME:-~/.config}/containers
char *paths_known_hosts(void);       // ~/.ssh/known_hosts
char *paths_home(void);              // $HOME, else the password database

// podman's reserved ssh ports, which we keep clear of (contract B.6).
char *paths_podman_ports(void);

// Where podman looks for sockets of those who want to know of machine events (contract B.1).
char *paths_events(void);

// What podman-mac-helper makes /var/run/docker.sock lead to (contract D.6).
char *paths_podman_socket_link(void);

// Where launchd looks for what to load at login.
char *paths_launch_agents(void);

// The folder of sockets: <runtime>/podman, or a short one below /tmp where a socket's path would
// not fit into sockaddr_un (103 bytes on macOS, the same here for all systems) or has characters
// that hypervisors and DOCKER_HOST would not take as they stand.
char *paths_runtime(void);

// Makes that folder, 0700. EPERM if somebody else owns it or can write to it.
int paths_make_runtime(struct error *err);

#endif
