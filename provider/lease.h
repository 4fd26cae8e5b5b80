// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_LEASE_H
#define PROVIDER_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"

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

// Appends the addresses of the leases that still run at `now` (seconds since 1970): those for the
// MAC, newest first, then those for a DUID with the host name `name`. A guest that was moved to
// another network has several, and two guests may have one name, so there are up to LEASE_MOST and
// the pinned host key decides. ENOENT: none yet, or no file.
enum { LEASE_MOST = 4 };
int lease_find(struct strvec *addresses, const char *file, const char *mac, const char *name,
               int64_t now, struct error *err);

// The same of a text in memory.
void lease_search(struct strvec *addresses, const char *text, size_t length, const char *mac,
                  const char *name, int64_t now);

#endif
