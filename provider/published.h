// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PUBLISHED_H
#define PROVIDER_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "provider/machine.h"

// What containers publish in the guest, root's and the user's.
struct published_port {
    unsigned port;
    char *protocol; // "tcp", "udp", "sctp"
    char *address;  // where the guest itself reaches it: "127.0.0.1" for one on all addresses
};

// By port and protocol, one for each; where it is published at several addresses, the loopback's.
struct published {
    struct published_port *ports;
    size_t count;
    bool cut; // there are more than PUBLISHED_MOST
};

enum { PUBLISHED_MOST = 256 };

#define PUBLISHED_INIT \
    {                  \
        0              \
    }
void published_release(struct published *published);

// The shell command, for root in the guest, that prints a line of JSON for published_parse() now
// and after every change, until its stdin ends. The caller frees. podman's events wake it, so that
// it sleeps in between, and sees containers of pods and of `podman kube play` as well as others.
char *published_command(const struct machine *m);

// EBADMSG: not such a line. Of a side that does not answer there is nothing.
int published_parse(struct published *published, const char *line, size_t length,
                    struct error *err);

#endif
