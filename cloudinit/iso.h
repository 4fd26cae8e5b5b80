// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_ISO_H
#define CLOUDINIT_ISO_H

#include <stddef.h>

#include "base/error.h"

struct iso_file {
    const char *name, *text;
};

// Writes an ISO 9660 volume with these files in its root, under their exact names (Rock Ridge
// and Joliet): atomically, mode 0600.
int iso_write(const char *path, const char *label, const struct iso_file *files, size_t count,
              struct error *err);

#endif
