// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_DOCKER_SOCKET_H
#define CMD_DOCKER_SOCKET_H

// /var/run/docker.sock on macOS, as podman shares it (contract D.6): podman-mac-helper, once
// installed, makes it a link to podman's own place, and that is a link to the API socket of the
// machine that was started last.
enum docker_claim {
    DOCKER_NOT_INSTALLED, // there is no podman-mac-helper
    DOCKER_TAKEN,         // something else answers there, or the helper could not do it
    DOCKER_OURS,
};

// The places; the fixed ones are podman's.
struct docker_places {
    const char *plist;  // the helper's, which tells that it is installed
    const char *link;   // <data>/containers/podman/machine/podman.sock
    const char *docker; // /var/run/docker.sock
    const char *helper; // the helper's socket
};

enum docker_claim docker_socket_claim(const struct docker_places *places, const char *api_socket);

// The same at the places where they are for this user.
enum docker_claim docker_socket_claim_here(const char *api_socket);

#endif
