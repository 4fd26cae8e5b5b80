// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_INFLATE_H
#define IMAGE_INFLATE_H

#include <stddef.h>

#include "base/error.h"

enum inflate_method {
    INFLATE_DEFLATE, // raw deflate, no zlib header: what qcow2 calls zlib
    INFLATE_ZSTD,    // one frame
};

// Unpacks one compressed cluster after the other; each worker has its own. Opaque.
struct inflater;
struct inflater *inflater_new(enum inflate_method method);
void inflater_free(struct inflater *inflater); // NULL is nothing to free

// Unpacks the stream that `packed` begins with into exactly `length` bytes. What follows the
// stream is ignored: qcow2 knows its end only to the next 512 bytes. EBADMSG when the stream
// is damaged, ends early, or gives fewer or more bytes.
int inflater_unpack(struct inflater *inflater, const void *packed, size_t packed_length,
                    void *bytes, size_t length, struct error *err);

#endif
