// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The names in comments are those of docs/interop/qcow2 in QEMU, which is the specification.

#include "image/qcow2_header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

enum { HEADER_V2 = 72, HEADER_V3 = 104, MIN_CLUSTER_BITS = 9, MAX_CLUSTER_BITS = 21 };
enum { MIN_EXTENDED_CLUSTER_BITS = 14 }; // a subcluster has 512 bytes then
enum { FEATURE_DIRTY, FEATURE_CORRUPT, FEATURE_EXTERNAL_DATA, FEATURE_COMPRESSION, FEATURE_L2 };
enum { FEATURE_NAME_LENGTH = 46, FEATURE_ENTRY = 48 };

static const uint32_t extension_end = 0;
static const uint32_t extension_features = 0x6803f857;
// QEMU refuses larger ones too; at 64 KiB clusters this is a disk of 2 PiB.
static const uint64_t largest_l1 = 32 << 20;

struct source {
    const unsigned char *bytes;
    size_t length;
    const char *name;
};

uint32_t qcow2_be32(const void *at)
{
    const unsigned char *b = at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

uint64_t qcow2_be64(const void *at)
{
    const unsigned char *b = at;
    return (uint64_t)qcow2_be32(b) << 32 | qcow2_be32(b + 4);
}

static int refuse_features(uint64_t features, const struct source *source, const char *table,
                           size_t table_length, struct error *err)
{
    static const char *const known[] = {
        [FEATURE_CORRUPT] = "is marked corrupt: repair it with 'qemu-img check -r all'",
        [FEATURE_EXTERNAL_DATA] =
            "keeps its data in another file: convert it with 'qemu-img convert -O qcow2'",
    };
    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(features >> bit & 1) || bit == FEATURE_DIRTY || bit == FEATURE_COMPRESSION ||
            bit == FEATURE_L2)
            continue;
        if (bit < ARRAY_SIZE(known))
            return error_set(err, EBADMSG, "qcow2 image '%s' %s", source->name, known[bit]);
        for (size_t at = 0; at + FEATURE_ENTRY <= table_length; at += FEATURE_ENTRY) {
            if (table[at] == 0 && (unsigned char)table[at + 1] == bit)
                return error_set(err, EBADMSG,
                                 "qcow2 image '%s' needs the unknown feature '%.*s' (bit %u)",
                                 source->name, FEATURE_NAME_LENGTH, table + at + 2, bit);
        }
        return error_set(err, EBADMSG, "qcow2 image '%s' needs an unknown feature (bit %u)",
                         source->name, bit);
    }
    return 0;
}

// Finds the feature name table among the extensions; *table stays NULL without one.
static int walk_extensions(const struct source *source, size_t at, size_t end, const char **table,
                           size_t *table_length, struct error *err)
{
    while (end - at >= 8) {
        uint32_t type = qcow2_be32(source->bytes + at);
        size_t length = qcow2_be32(source->bytes + at + 4);
        at += 8;
        if (type == extension_end)
            return 0;
        size_t padded = (length + 7) / 8 * 8;
        if (length > end - at)
            return error_set(err, EBADMSG,
                             "qcow2 image '%s' is damaged: header extension 0x%08" PRIx32
                             " leaves the first cluster",
                             source->name, type);
        if (type == extension_features) {
            *table = (const char *)source->bytes + at;
            *table_length = length;
        }
        at += padded < end - at ? padded : end - at;
    }
    return 0;
}

static int refuse_backing_file(const struct source *source, uint64_t offset, uint32_t length,
                               struct error *err)
{
    int shown = 0;
    if (offset <= source->length && length <= source->length - offset && length <= 1023)
        shown = (int)length;
    return error_set(err, EBADMSG,
                     "qcow2 image '%s' is only the difference to a backing file%s%.*s%s: give an "
                     "image of its own, made with 'qemu-img convert -O qcow2'",
                     source->name, shown ? " '" : "", shown,
                     shown ? (const char *)source->bytes + offset : "", shown ? "'" : "");
}

static int refuse_encryption(const struct source *source, uint32_t method, struct error *err)
{
    const char *how = method == 1 ? "AES" : method == 2 ? "LUKS" : "unknown method";
    return error_set(err, EBADMSG, "qcow2 image '%s' is encrypted (%s): give one that is not",
                     source->name, how);
}

static int damaged(const struct source *source, const char *what, uint64_t value, struct error *err)
{
    return error_set(err, EBADMSG, "qcow2 image '%s' is damaged or truncated: %s %" PRIu64,
                     source->name, what, value);
}

// Version 3 has more fields, which say what else the reader must know.
static int parse_features(struct qcow2_header *header, const struct source *source,
                          struct error *err)
{
    const unsigned char *bytes = source->bytes;
    size_t cluster = (size_t)1 << header->cluster_bits;
    size_t end = source->length < cluster ? source->length : cluster;
    size_t header_length = HEADER_V2;
    uint64_t features = 0;
    if (header->version == 3) {
        if (source->length < HEADER_V3)
            return damaged(source, "its size in bytes is", source->length, err);
        features = qcow2_be64(bytes + 72);
        header_length = qcow2_be32(bytes + 100);
        if (header_length < HEADER_V3 || header_length > end || header_length % 8 != 0)
            return damaged(source, "header length", header_length, err);
        if (qcow2_be32(bytes + 96) > 6)
            return damaged(source, "refcount order", qcow2_be32(bytes + 96), err);
    }
    header->extended = features >> FEATURE_L2 & 1;
    if (header->extended && header->cluster_bits < MIN_EXTENDED_CLUSTER_BITS)
        return damaged(source, "extended L2 entries with cluster bits", header->cluster_bits, err);
    const char *table = NULL;
    size_t table_length = 0;
    // An external data file, a corrupt mark and the like are told before the extensions, which
    // they may have changed.
    if (refuse_features(features & ((1 << (FEATURE_L2 + 1)) - 1), source, NULL, 0, err) < 0 ||
        walk_extensions(source, header_length, end, &table, &table_length, err) < 0 ||
        refuse_features(features, source, table, table_length, err) < 0)
        return -1;

    unsigned method = header_length > HEADER_V3 ? bytes[HEADER_V3] : 0;
    bool said = features >> FEATURE_COMPRESSION & 1;
    if (method > 1)
        return error_set(err, EBADMSG, "qcow2 image '%s' uses an unknown compression (%u)",
                         source->name, method);
    if (said != (method != 0))
        return damaged(source, "its header contradicts itself about compression type", method, err);
    header->method = method ? INFLATE_ZSTD : INFLATE_DEFLATE;
    return 0;
}

static int parse_sizes(struct qcow2_header *header, const struct source *source, uint64_t file_size,
                       struct error *err)
{
    const unsigned char *bytes = source->bytes;
    uint64_t cluster = UINT64_C(1) << header->cluster_bits;
    header->virtual_size = qcow2_be64(bytes + 24);
    if (header->virtual_size == 0)
        return error_set(err, EBADMSG, "qcow2 image '%s' is empty: its virtual size is 0",
                         source->name);
    if (header->virtual_size > INT64_MAX || header->virtual_size % 512 != 0)
        return damaged(source, "virtual size", header->virtual_size, err);

    // One L1 entry stands for one L2 table, which is a cluster of entries of 8 or 16 bytes.
    unsigned span_bits = header->cluster_bits + header->cluster_bits - (header->extended ? 4 : 3);
    uint64_t needed = ((header->virtual_size - 1) >> span_bits) + 1;
    uint64_t l1_count = qcow2_be32(bytes + 36);
    header->l1_offset = qcow2_be64(bytes + 40);
    if (l1_count > largest_l1 / 8)
        return damaged(source, "too large an L1 table, entries", l1_count, err);
    if (l1_count < needed)
        return damaged(source, "too small an L1 table, entries", l1_count, err);
    if (header->l1_offset < cluster || header->l1_offset % cluster != 0)
        return damaged(source, "offset of the L1 table", header->l1_offset, err);
    if (header->l1_offset > file_size || l1_count * 8 > file_size - header->l1_offset)
        return damaged(source, "the L1 table lies behind the file's end, at", header->l1_offset,
                       err);
    header->l1_count = needed;
    return 0;
}

int qcow2_header_parse(struct qcow2_header *header, const void *bytes, size_t length,
                       uint64_t file_size, const char *name, struct error *err)
{
    const struct source source = {.bytes = bytes, .length = length, .name = name};
    if (length < HEADER_V2)
        return error_set(err, EBADMSG, "qcow2 image '%s' is truncated: it has %zu bytes", name,
                         length);
    if (memcmp(bytes, "QFI\xfb", 4) != 0)
        return error_set(err, EBADMSG, "'%s' is not a qcow2 image", name);
    struct qcow2_header found = {
        .version = qcow2_be32(source.bytes + 4),
        .cluster_bits = qcow2_be32(source.bytes + 20),
    };
    if (found.version != 2 && found.version != 3)
        return error_set(err, EBADMSG, "'%s' is qcow version %u: only versions 2 and 3 are read",
                         name, found.version);
    if (found.cluster_bits < MIN_CLUSTER_BITS || found.cluster_bits > MAX_CLUSTER_BITS)
        return damaged(&source, "cluster bits", found.cluster_bits, err);
    if (qcow2_be64(source.bytes + 8) != 0)
        return refuse_backing_file(&source, qcow2_be64(source.bytes + 8),
                                   qcow2_be32(source.bytes + 16), err);
    if (qcow2_be32(source.bytes + 32) != 0)
        return refuse_encryption(&source, qcow2_be32(source.bytes + 32), err);
    if (parse_features(&found, &source, err) < 0 ||
        parse_sizes(&found, &source, file_size, err) < 0)
        return -1;
    *header = found;
    return 0;
}
