// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// An L2 entry has 8 bytes:
//
//     bit 63       this cluster has one reference (of no meaning for reading)
//     bit 62 = 0   stored as it is: bits 9-55 are its offset, 0 for nothing; bit 0 (version 3)
//                  means that it reads as zeros, whatever the offset
//     bit 62 = 1   compressed: the low bits are the byte offset of the stream, then come how
//                  many further 512-byte sectors it touches; where it ends in the last one is
//                  not said
//
// Extended entries have 8 more for the 32 subclusters: a bit for each that is stored (0-31) and
// for each that reads as zeros (32-63), never both. They mean nothing where it is compressed.

#include <errno.h>
#include <inttypes.h>

#include "image/qcow2_image.h"

static const uint64_t entry_copied = UINT64_C(1) << 63;
static const uint64_t entry_compressed = UINT64_C(1) << 62;
static const uint64_t entry_zero = 1;
static const uint64_t entry_offset = UINT64_C(0x00fffffffffffe00);
static const uint64_t sector = 512;
static const unsigned parts = 32;

static int bad_entry(const struct qcow2 *image, uint64_t cluster, const char *what,
                     struct error *err)
{
    return error_set(err, EBADMSG,
                     "qcow2 image '%s' is damaged or truncated: cluster %" PRIu64 " %s",
                     image->name, cluster, what);
}

static int locate_compressed(const struct qcow2 *image, uint64_t cluster, uint64_t entry,
                             struct qcow2_place *place, struct error *err)
{
    unsigned offset_bits = 62 - (image->header.cluster_bits - 8);
    uint64_t offset = entry & ((UINT64_C(1) << offset_bits) - 1);
    uint64_t further = (entry & (entry_compressed - 1)) >> offset_bits;
    if (offset >= image->file_size)
        return bad_entry(image, cluster, "lies behind the file's end", err);
    // The last sector of the file may be cut where its stream ends.
    uint64_t length = (further + 1) * sector - offset % sector;
    uint64_t there = image->file_size - offset;
    if (length > there && length - there >= sector)
        return bad_entry(image, cluster, "ends behind the file's end", err);
    place->kind = QCOW2_COMPRESSED;
    place->offset = offset;
    place->length = (size_t)(length < there ? length : there);
    return 0;
}

static int check_bits(const struct qcow2 *image, uint64_t cluster, uint64_t entry, uint64_t bitmap,
                      struct error *err)
{
    bool extended = image->header.extended;
    uint64_t known = entry_offset | entry_copied | (extended ? 0 : entry_zero);
    if ((entry & ~known) != 0)
        return bad_entry(image, cluster, "has reserved bits set", err);
    if ((entry & entry_zero) && image->header.version < 3)
        return bad_entry(image, cluster, "is a zero cluster, which version 2 does not know", err);
    if ((entry & entry_offset) % qcow2_cluster_size(image) != 0)
        return bad_entry(image, cluster, "is not aligned", err);
    if (extended && ((bitmap >> parts & bitmap & UINT32_MAX) != 0 ||
                     (!(entry & entry_offset) && (bitmap & UINT32_MAX) != 0)))
        return bad_entry(image, cluster, "contradicts itself about its subclusters", err);
    return 0;
}

// As far as the last part that is stored: an image may end there.
static size_t stored_length(const struct qcow2 *image, uint64_t cluster, uint32_t stored)
{
    uint64_t length = qcow2_cluster_size(image);
    uint64_t left = image->header.virtual_size - (cluster << image->header.cluster_bits);
    for (uint64_t part = length / parts; !(stored >> (parts - 1) & 1); stored <<= 1)
        length -= part;
    return (size_t)(left < length ? left : length);
}

int qcow2_locate(const struct qcow2 *image, const unsigned char *table, uint64_t cluster,
                 struct qcow2_place *place, struct error *err)
{
    bool extended = image->header.extended;
    size_t at = (size_t)(cluster % qcow2_table_clusters(image)) * (extended ? 16 : 8);
    uint64_t entry = qcow2_be64(table + at), bitmap = extended ? qcow2_be64(table + at + 8) : 0;
    if (entry & entry_compressed)
        return locate_compressed(image, cluster, entry, place, err);
    if (check_bits(image, cluster, entry, bitmap, err) < 0)
        return -1;

    uint64_t offset = entry & entry_offset;
    uint32_t stored = extended ? (uint32_t)bitmap : QCOW2_ALL_PARTS;
    *place = (struct qcow2_place){.kind = QCOW2_ZERO};
    if (offset == 0 || (entry & entry_zero) || stored == 0)
        return 0;
    place->kind = QCOW2_PLAIN;
    place->parts = stored;
    place->offset = offset;
    place->length = stored_length(image, cluster, stored);
    if (offset > image->file_size || place->length > image->file_size - offset)
        return bad_entry(image, cluster, "lies behind the file's end", err);
    return 0;
}
