// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_MDNS_H
#define PROVIDER_MDNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// One question of multicast DNS (RFC 6762): the IPv4 address of `host`.local, asked once on every
// network of this host, the first answer taken. It is what the guest's avahi says, if there is one;
// two machines can claim a name, so it only says where to look. ENOENT: no answer in time. The
// caller frees. For tests, PODMAN_MACHINE_VMNET_MDNS=ADDRESS:PORT is asked instead.
int mdns_find(char **address, const char *host, int64_t timeout_ms, struct error *err);

// The message that asks, as it goes out. Its length, or 0: the name cannot be asked for.
enum { MDNS_QUESTION_SIZE = 12 + 1 + 63 + 1 + 5 + 1 + 4 };
size_t mdns_question(unsigned char question[MDNS_QUESTION_SIZE], uint16_t id, const char *host);

// Whether a message answers it; then `address` gets four bytes.
int mdns_answer(unsigned char address[4], const unsigned char *message, size_t length,
                const char *host);

#endif
