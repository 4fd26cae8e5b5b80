// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_DOCUMENTS_H
#define CLOUDINIT_DOCUMENTS_H

#include "base/error.h"
#include "cloudinit/seed.h"

// The three documents of a NoCloud seed, as JSON, which is YAML. The caller frees *text. They
// expect a seed that seed_check() accepts; EINVAL when a string is not UTF-8.
int document_user_data(const struct seed *seed, char **text, struct error *err);
int document_meta_data(const struct seed *seed, char **text, struct error *err);
int document_network_config(const struct seed *seed, char **text, struct error *err);

#endif
