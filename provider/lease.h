// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_LEASE_H
#define PROVIDER_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// macOS's bootpd writes the leases it gave to /var/db/dhcpd_leases:
//
//     {
//             name=podman
//             ip_address=192.168.64.5
//             hw_address=1,52:54:0:ab:c:d
//             identifier=1,52:54:0:ab:c:d
//             lease=0x6a1b2c3d
//     }
//
// Normal there, and no error: bytes without their leading zero, a DUID (`ff,…`) in place of the
// MAC, several entries for one MAC, entries that ended long ago, keys that we do not know.

// The address of the newest lease that still runs at `now` (seconds since 1970) for the MAC;
// if none has the MAC, for a DUID with the host name `name`. ENOENT: none yet, or no file.
// The caller frees.
int lease_find(char **address, const char *file, const char *mac, const char *name, int64_t now,
               struct error *err);

// The same of a text in memory. NULL: none. The caller frees.
char *lease_search(const char *text, size_t length, const char *mac, const char *name, int64_t now);

#endif
