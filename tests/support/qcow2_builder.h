// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_QCOW2_BUILDER_H
#define TESTS_QCOW2_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

// Makes small qcow2 images byte by byte, right ones and, by poking, every kind of wrong one.
// The first cluster is the header, the L1 table follows, then tables and data as they come.
struct qcow2_builder {
    unsigned version, cluster_bits;
    uint64_t virtual_size, l1_offset, l1_count;
    bool zstd;
    struct strbuf file;
};

enum { // offsets of header fields
    QCOW2_BACKING_OFFSET = 8,
    QCOW2_BACKING_LENGTH = 16,
    QCOW2_CLUSTER_BITS = 20,
    QCOW2_SIZE = 24,
    QCOW2_CRYPT = 32,
    QCOW2_L1_COUNT = 36,
    QCOW2_L1_OFFSET = 40,
    QCOW2_INCOMPATIBLE = 72,
    QCOW2_REFCOUNT_ORDER = 96,
    QCOW2_HEADER_LENGTH = 100,
    QCOW2_COMPRESSION = 104,
};

void builder_begin(struct qcow2_builder *b, unsigned version, unsigned cluster_bits,
                   uint64_t virtual_size, bool zstd);
void builder_release(struct qcow2_builder *b);

void builder_plain(struct qcow2_builder *b, uint64_t cluster, const void *bytes);
void builder_packed(struct qcow2_builder *b, uint64_t cluster, const void *bytes);
void builder_zero(struct qcow2_builder *b, uint64_t cluster);

// `length` bytes of the builder's compression, whatever their size is.
void builder_packed_length(struct qcow2_builder *b, uint64_t cluster, const void *bytes,
                           size_t length);
// A stream as it is given.
void builder_stream(struct qcow2_builder *b, uint64_t cluster, const void *stream, size_t length);
void builder_entry(struct qcow2_builder *b, uint64_t cluster, uint64_t entry);
uint64_t builder_get_entry(struct qcow2_builder *b, uint64_t cluster);

void builder_poke32(struct qcow2_builder *b, uint64_t offset, uint32_t value);
void builder_poke64(struct qcow2_builder *b, uint64_t offset, uint64_t value);
uint64_t builder_peek64(const struct qcow2_builder *b, uint64_t offset);
void builder_extension(struct qcow2_builder *b, uint32_t type, const void *bytes, uint32_t length);

// An open file, unlinked already, that holds what was built.
int builder_open(const struct qcow2_builder *b);

#endif
