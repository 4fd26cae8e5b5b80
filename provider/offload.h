// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_OFFLOAD_H
#define PROVIDER_OFFLOAD_H

#include <stdbool.h>

#include "provider/network_options.h"
#include "provider/version.h"

struct machine;

// Whether a machine's card and the bridge's end of it leave segmentation and checksums to each
// other. It is what makes krunkit on vmnet fast, but only where both ends and macOS can
// (vmnet-helper's docs/performance.md: macOS 26.2), and not beside a machine on the same bridge
// that has it otherwise: then sending falls to 1.5 Gbit/s (minikube#22958).
enum offload_bridge { OFFLOAD_BRIDGE_FREE, OFFLOAD_BRIDGE_ON, OFFLOAD_BRIDGE_OFF };

struct offload_facts {
    unsigned macos_major, macos_minor;
    bool hypervisor; // its card can do it
    struct version helper;
    enum offload_bridge bridge; // what the machines that run on it have
};

// The decision. `notice` is NULL, or one line for the user, who asked for something else or gets a
// slow bridge; the caller frees.
bool offload_plan(enum network_offload wanted, const struct offload_facts *facts, char **notice);

// What the other machines that run on this machine's bridge have: asked of their locks, and of the
// command lines that they were started with.
enum offload_bridge offload_ask_bridge(const struct machine *m);

#endif
