// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_HOST_H
#define PROVIDER_HOST_H

#include <stdbool.h>

// Whether this is macOS, and which, as 26 and 2 for "26.2"; zeros elsewhere. For tests with
// stand-ins of Apple's tools, PODMAN_MACHINE_VMNET_MACOS=26.2 makes any system say so.
bool host_is_pretended(void);
bool host_is_macos(void);
void host_macos_version(unsigned *major, unsigned *minor);

#endif
