// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_CHECKUP_H
#define PROVIDER_CHECKUP_H

#include <stddef.h>
#include <stdint.h>

#include "provider/provider.h"

// What can be wrong with this host and its machines, each with one line of what to do.
enum verdict { VERDICT_GOOD, VERDICT_WARNING, VERDICT_BAD };

struct finding {
    const char *check; // "tools", "firewall": static text
    enum verdict verdict;
    char *what, *remedy; // remedy: NULL when there is nothing to do; owned
};

struct checkup {
    struct finding *findings;
    size_t count;
};

#define CHECKUP_INIT \
    {                \
        NULL, 0      \
    }
void checkup_release(struct checkup *checkup);

const char *verdict_name(enum verdict verdict); // "good", "warning", "bad"

// Appends a finding; takes both texts.
void checkup_add(struct checkup *checkup, const char *check, enum verdict verdict, char *what,
                 char *remedy);

// System, tools and their versions, disk, firewall, other networks, left jobs.
void checkup_host(struct checkup *checkup);

// Of that: the firewall, and the networks beside the machines' own.
void checkup_networks(struct checkup *checkup);

// An interface's IPv4 network; numbers in the host's byte order.
struct subnet {
    const char *interface;
    uint32_t address, mask;
};

// Whether one of them is in a network of the machines: those of vmnet's bridges, or, when there is
// none yet, the one that begins at `shared`.
void checkup_subnets(struct checkup *checkup, const struct subnet *subnets, size_t count,
                     uint32_t shared);

// Those that run: supervised, with a network, reachable, with the right time.
void checkup_machines(struct checkup *checkup);

// Whether socketfilterfw's words say that the firewall is on, or that a program is blocked.
bool checkup_firewall_is_on(const char *text);
bool checkup_is_blocked(const char *text);

// The machines of our jobs in what `launchctl list` says: its last column has our labels.
void checkup_jobs(struct strvec *machines, const char *text);

#endif
