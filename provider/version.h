// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_VERSION_H
#define PROVIDER_VERSION_H

#include <stdbool.h>

// A tool's version; zeros: not known.
struct version {
    unsigned major, minor, patch;
};

// Reads the first "N.N" or "N.N.N" of a text, as in "krunkit 1.2.1" and "version: v0.13.0-3-gabc".
struct version version_parse(const char *text);

// What `program --version` says; zeros if it says nothing of the kind.
struct version version_of(const char *program);

bool version_known(const struct version *version);
bool version_at_least(const struct version *version, unsigned major, unsigned minor,
                      unsigned patch);

// "1.2.1", or "unknown". The caller frees.
char *version_text(const struct version *version);

#endif
