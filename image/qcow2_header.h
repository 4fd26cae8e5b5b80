// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_QCOW2_HEADER_H
#define IMAGE_QCOW2_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/inflate.h"

// What a qcow2 header says, after every field of it has been checked: the sizes can be added
// and shifted without a further thought.
struct qcow2_header {
    unsigned version;      // 2 or 3
    unsigned cluster_bits; // 9 to 21
    uint64_t virtual_size; // in bytes; not 0, a multiple of 512, at most INT64_MAX
    uint64_t l1_offset;    // of the active table, in the file and aligned
    uint64_t l1_count;     // of its entries that the virtual size needs; at most 32 MiB of them
    bool extended;         // L2 entries have 16 bytes, and subclusters
    enum inflate_method method;
};

// The header with its extensions lies in the first cluster: so many bytes at most.
#define QCOW2_HEADER_MAX (2 << 20)

// Reads the header from the first `length` bytes of a file of `file_size` bytes. Looks at
// nothing else: no I/O. EBADMSG, with what is wrong or what we do not read: a backing file,
// encryption, an external data file, an image marked corrupt, unknown
// incompatible features by their name.
int qcow2_header_parse(struct qcow2_header *header, const void *bytes, size_t length,
                       uint64_t file_size, const char *name, struct error *err);

// Big-endian numbers, as they are everywhere in qcow2.
uint32_t qcow2_be32(const void *at);
uint64_t qcow2_be64(const void *at);

#endif
