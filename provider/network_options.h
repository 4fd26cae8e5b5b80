// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_NETWORK_OPTIONS_H
#define PROVIDER_NETWORK_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

// How a machine of a vmnet row is wired; part of its record.
enum network_mode {
    NETWORK_SHARED,  // macOS' NAT, all machines on one bridge
    NETWORK_HOST,    // the host and the machines, no way out
    NETWORK_BRIDGED, // on the network of an interface of the host
    NETWORK_BROKER,  // a network that vmnet-broker keeps (macOS 26)
};

enum network_offload { OFFLOAD_AUTO, OFFLOAD_ON, OFFLOAD_OFF };

struct network_options {
    enum network_mode mode;
    char *name;    // bridged: the interface; broker: the network; else NULL; owned
    bool isolated; // no traffic to other machines on the bridge
    enum network_offload offload;
};

#define NETWORK_OPTIONS_INIT \
    {                        \
        0                    \
    }
void network_options_release(struct network_options *options);

// "shared", "host", "bridged:en0" or "broker:NAME". EINVAL with what there is. Isolation and
// offload are left as they are.
int network_options_parse(struct network_options *options, const char *text, struct error *err);

// "auto", "on" or "off".
int network_offload_parse(enum network_offload *offload, const char *text, struct error *err);
const char *network_offload_text(enum network_offload offload);

// EINVAL: together they make no sense.
int network_options_check(const struct network_options *options, struct error *err);

// As network_options_parse() takes it. The caller frees.
char *network_options_text(const struct network_options *options);

// Whether both are on one bridge.
bool network_options_share(const struct network_options *a, const struct network_options *b);

json_t *network_options_to_json(const struct network_options *options);
int network_options_from_json(struct network_options *options, const json_t *root,
                              struct error *err); // NULL: the defaults

#endif
