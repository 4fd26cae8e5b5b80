// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"

// containers.conf, as far as machines are concerned: the defaults of init, found where podman finds
// them (contract 0.5).
struct config {
    uint64_t cpus, memory_mib, disk_gib; // 0: not said
    char *image, *user, *provider;       // NULL: not said
    char *timezone;
    bool import_native_ca;
    struct strvec volumes;
    bool volumes_given;
};

#define CONFIG_INIT \
    {               \
        0           \
    }

// Reads all of its files and exports `[engine] env`, where the environment has no such variable
// yet. No file at all is an empty configuration. COMMAND_PLAIN with podman's text for a broken
// one.
int config_load(struct config *config, struct error *err);
void config_release(struct config *config);

#endif
