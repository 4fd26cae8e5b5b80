// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_SETTINGS_H
#define CMD_SETTINGS_H

#include "base/error.h"
#include "base/strvec.h"
#include "cmd/options.h"
#include "provider/machine.h"

// What init decides and set may change of that which podman's machines do not have: the vmnet
// network, what becomes of a machine that fails, the guest's DNS servers, ports on localhost; and
// the import of certificates. As they are given; those that are not given stay as they are in the
// record.
struct settings {
    const char *network, *offload, *restart_policy; // NULL: not given; borrowed from argv
    struct option_bool isolated, localhost_ports, import_native_ca;
    struct strvec dns; // empty: not given; one "": none
};

void settings_release(struct settings *settings);

// Puts what is given into the record `m`, which is not saved. EINVAL: a value that cannot be, or a
// vmnet option for a machine that has no such network; `m` is then of no more use.
int settings_apply(struct machine *m, const struct settings *settings, struct error *err);

// Their rows in the option table of a verb whose `struct values` has a member `settings`.
#define SETTING_DNS                                                                                \
    {                                                                                              \
        .name = "dns", .kind = OPTION_STRINGS, .offset = offsetof(struct values, settings.dns),    \
        .value = "address",                                                                        \
        .help =                                                                                    \
            "DNS server of the guest, before those that DHCP gives (can be repeated; empty: none)" \
    }
#define SETTING_IMPORT_NATIVE_CA                                           \
    {                                                                      \
        .name = "import-native-ca", .kind = OPTION_BOOL,                   \
        .offset = offsetof(struct values, settings.import_native_ca),      \
        .help = "Import the host trusted CA certificates into the machine" \
    }
#define SETTING_LOCALHOST_PORTS                                                                 \
    {                                                                                           \
        .name = "localhost-ports", .kind = OPTION_BOOL,                                         \
        .offset = offsetof(struct values, settings.localhost_ports),                            \
        .help = "Forward the ports that containers publish to 127.0.0.1 of this host (default " \
                "for qemu)"                                                                     \
    }
#define SETTING_ISOLATED                                                                \
    {                                                                                   \
        .name = "isolated", .kind = OPTION_BOOL,                                        \
        .offset = offsetof(struct values, settings.isolated),                           \
        .help = "Let no traffic pass to the other machines on the same network (vmnet)" \
    }
#define SETTING_NETWORK                                                                            \
    {                                                                                              \
        .name = "network", .kind = OPTION_STRING,                                                  \
        .offset = offsetof(struct values, settings.network),                                       \
        .help = "Network (vmnet): shared, host, bridged:INTERFACE or broker:NAME (default shared)" \
    }
#define SETTING_OFFLOAD                                                                          \
    {                                                                                            \
        .name = "offload", .kind = OPTION_STRING,                                                \
        .offset = offsetof(struct values, settings.offload),                                     \
        .help =                                                                                  \
            "Let card and bridge leave segmentation and checksums to each other (vmnet): auto, " \
            "on or off (default auto)"                                                           \
    }
#define SETTING_RESTART_POLICY                                                                   \
    {                                                                                            \
        .name = "restart-policy", .kind = OPTION_STRING,                                         \
        .offset = offsetof(struct values, settings.restart_policy), .value = "policy",           \
        .help = "Start the machine again when it fails by itself: no or on-failure (default no)" \
    }

#endif
