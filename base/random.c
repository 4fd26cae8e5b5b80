// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/random.h"

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"

void random_bytes(void *bytes, size_t length)
{
    // getentropy gives at most 256 bytes a call.
    for (char *at = bytes; length > 0;) {
        size_t chunk = length < 256 ? length : 256;
        if (getentropy(at, chunk) < 0)
            abort();
        at += chunk;
        length -= chunk;
    }
}

char *random_mac(void)
{
    unsigned char b[6];
    random_bytes(b, sizeof(b));
    b[0] = (unsigned char)((b[0] | 0x02) & 0xfe);
    return xasprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
}

char *random_uuid(void)
{
    unsigned char b[16];
    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    return xasprintf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                     b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                     b[13], b[14], b[15]);
}
