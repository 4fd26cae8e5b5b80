// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

// Fills from the kernel's generator (getentropy), which cannot fail once it is seeded.
void random_bytes(void *bytes, size_t length);

// A locally administered unicast MAC address, "52:54:...": lower case, two digits each. The
// caller frees.
char *random_mac(void);

// A random UUID (RFC 9562 version 4) in lower case. The caller frees.
char *random_uuid(void);

#endif
