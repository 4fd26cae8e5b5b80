// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_PACK_H
#define CLOUDINIT_PACK_H

#include "base/error.h"

// Text as cloud-init's `encoding: gz+b64`, one line, the same for the same text. The caller
// frees *packed. For long texts:
// cloud-init reads YAML character by character, in Python, several times per boot.
int pack_text(const char *text, char **packed, struct error *err);

#endif
