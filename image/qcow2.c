// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The disk is an array of clusters. The L1 table has one offset for each L2 table; an L2
// table is one cluster of entries, one for each cluster of the disk:
//
//     bit 63       this cluster has one reference (of no meaning for reading)
//     bit 62 = 0   stored as it is: bits 9-55 are its offset, 0 for nothing; bit 0 (version 3)
//                  means that it reads as zeros, whatever the offset
//     bit 62 = 1   compressed: the low bits are the byte offset of the stream, then come how
//                  many further 512-byte sectors it touches; where it ends in the last one is
//                  not said
//
// The refcounts are only for writing and are not read, so an image with the dirty bit is fine.
// Internal snapshots have tables of their own, which are not read either.

#include "image/qcow2.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/inflate.h"
#include "image/qcow2_header.h"

static const uint64_t entry_copied = UINT64_C(1) << 63;
static const uint64_t entry_compressed = UINT64_C(1) << 62;
static const uint64_t entry_zero = 1;
static const uint64_t entry_offset = UINT64_C(0x00fffffffffffe00);
static const uint64_t sector = 512;

struct qcow2 {
    int fd;
    uint64_t file_size;
    char *name;
    struct qcow2_header header;
    uint64_t *tables; // offsets of the L2 tables, 0: absent; header.l1_count of them
};

struct qcow2_reader {
    const struct qcow2 *image;
    struct inflater *inflater;
    unsigned char *packed; // one compressed cluster, when first needed
    unsigned char *table;  // the L2 table `loaded`, as it is in the file
    uint64_t loaded;       // UINT64_MAX: none yet
};

// Where one cluster is.
struct place {
    enum { PLACE_ZERO, PLACE_PLAIN, PLACE_COMPRESSED } kind;
    uint64_t offset;
    size_t length;
};

static int read_at(const struct qcow2 *image, void *bytes, size_t length, uint64_t offset,
                   struct error *err)
{
    unsigned char *to = bytes;
    for (size_t got = 0; got < length;) {
        ssize_t n = pread(image->fd, to + got, length - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "cannot read '%s'", image->name);
        if (n == 0)
            return error_set(err, EBADMSG, "qcow2 image '%s' became shorter while it was read",
                             image->name);
        got += (size_t)n;
    }
    return 0;
}

static int compare_offsets(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

// One table for two parts of the disk is never right, and a file of a few kilobytes could
// stand for years of work that way.
static int refuse_shared_tables(const struct qcow2 *image, struct error *err)
{
    size_t count = (size_t)image->header.l1_count;
    cleanup_free uint64_t *sorted = xmalloc(count * sizeof(*sorted));
    memcpy(sorted, image->tables, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_offsets);
    for (size_t i = 1; i < count; i++) {
        if (sorted[i] && sorted[i] == sorted[i - 1])
            return error_set(err, EBADMSG,
                             "qcow2 image '%s' is damaged: the L2 table at %" PRIu64
                             " is used more than once",
                             image->name, sorted[i]);
    }
    return 0;
}

static int load_tables(struct qcow2 *image, struct error *err)
{
    size_t count = (size_t)image->header.l1_count, cluster = qcow2_cluster_size(image);
    image->tables = xcalloc(count, sizeof(*image->tables));
    if (read_at(image, image->tables, count * sizeof(*image->tables), image->header.l1_offset,
                err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t entry = qcow2_be64(&image->tables[i]), offset = entry & entry_offset;
        if ((entry & ~(entry_offset | entry_copied)) != 0 || offset % cluster != 0)
            return error_set(err, EBADMSG,
                             "qcow2 image '%s' is damaged: L1 entry %zu is 0x%016" PRIx64,
                             image->name, i, entry);
        if (offset > image->file_size || (offset && cluster > image->file_size - offset))
            return error_set(err, EBADMSG,
                             "qcow2 image '%s' is damaged or truncated: L2 table %zu lies behind "
                             "the file's end",
                             image->name, i);
        image->tables[i] = offset;
    }
    return refuse_shared_tables(image, err);
}

static void free_image(struct qcow2 **image)
{
    qcow2_free(*image);
}

int qcow2_open(struct qcow2 **image, int fd, uint64_t size, const char *name, struct error *err)
{
    CLEANUP(free_image) struct qcow2 *found = xcalloc(1, sizeof(*found));
    found->fd = fd;
    found->file_size = size;
    found->name = xstrdup(name);

    size_t length = size < QCOW2_HEADER_MAX ? (size_t)size : QCOW2_HEADER_MAX;
    cleanup_free unsigned char *head = xmalloc(length + 1);
    if (read_at(found, head, length, 0, err) < 0 ||
        qcow2_header_parse(&found->header, head, length, size, name, err) < 0 ||
        load_tables(found, err) < 0)
        return -1;
    *image = found;
    found = NULL;
    return 0;
}

void qcow2_free(struct qcow2 *image)
{
    if (!image)
        return;
    free(image->name);
    free(image->tables);
    free(image);
}

uint64_t qcow2_virtual_size(const struct qcow2 *image)
{
    return image->header.virtual_size;
}

size_t qcow2_cluster_size(const struct qcow2 *image)
{
    return (size_t)1 << image->header.cluster_bits;
}

uint64_t qcow2_table_count(const struct qcow2 *image)
{
    return image->header.l1_count;
}

uint64_t qcow2_table_clusters(const struct qcow2 *image)
{
    return qcow2_cluster_size(image) / sizeof(uint64_t);
}

bool qcow2_table_is_absent(const struct qcow2 *image, uint64_t table)
{
    return image->tables[table] == 0;
}

static uint64_t cluster_count(const struct qcow2 *image)
{
    return ((image->header.virtual_size - 1) >> image->header.cluster_bits) + 1;
}

static int bad_entry(const struct qcow2 *image, uint64_t cluster, const char *what,
                     struct error *err)
{
    return error_set(err, EBADMSG,
                     "qcow2 image '%s' is damaged or truncated: cluster %" PRIu64 " %s",
                     image->name, cluster, what);
}

static int locate_compressed(const struct qcow2 *image, uint64_t cluster, uint64_t entry,
                             struct place *place, struct error *err)
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
    place->kind = PLACE_COMPRESSED;
    place->offset = offset;
    place->length = (size_t)(length < there ? length : there);
    return 0;
}

// The only place that reads an L2 entry.
static int locate(const struct qcow2 *image, uint64_t cluster, uint64_t entry, struct place *place,
                  struct error *err)
{
    size_t size = qcow2_cluster_size(image);
    if (entry & entry_compressed)
        return locate_compressed(image, cluster, entry, place, err);

    uint64_t offset = entry & entry_offset;
    if ((entry & ~(entry_offset | entry_copied | entry_zero)) != 0)
        return bad_entry(image, cluster, "has reserved bits set", err);
    if ((entry & entry_zero) && image->header.version < 3)
        return bad_entry(image, cluster, "is a zero cluster, which version 2 does not know", err);
    if (offset % size != 0)
        return bad_entry(image, cluster, "is not aligned", err);
    *place = (struct place){.kind = PLACE_ZERO};
    if (offset == 0 || (entry & entry_zero))
        return 0;

    uint64_t left = image->header.virtual_size - (cluster << image->header.cluster_bits);
    place->kind = PLACE_PLAIN;
    place->offset = offset;
    place->length = left < size ? (size_t)left : size;
    if (offset > image->file_size || place->length > image->file_size - offset)
        return bad_entry(image, cluster, "lies behind the file's end", err);
    return 0;
}

int qcow2_check(const struct qcow2 *image, uint64_t *data, struct error *err)
{
    size_t size = qcow2_cluster_size(image);
    uint64_t per_table = qcow2_table_clusters(image), total = cluster_count(image), stored = 0;
    cleanup_free unsigned char *table = xmalloc(size);
    for (uint64_t i = 0; i < image->header.l1_count; i++) {
        if (qcow2_table_is_absent(image, i))
            continue;
        if (read_at(image, table, size, image->tables[i], err) < 0)
            return -1;
        for (uint64_t j = 0; j < per_table && i * per_table + j < total; j++) {
            struct place place;
            if (locate(image, i * per_table + j, qcow2_be64(table + j * 8), &place, err) < 0)
                return -1;
            stored += place.kind != PLACE_ZERO;
        }
    }
    *data = stored << image->header.cluster_bits;
    return 0;
}

struct qcow2_reader *qcow2_reader_new(const struct qcow2 *image)
{
    struct qcow2_reader *reader = xcalloc(1, sizeof(*reader));
    reader->image = image;
    reader->inflater = inflater_new(image->header.method);
    reader->table = xmalloc(qcow2_cluster_size(image));
    reader->loaded = UINT64_MAX;
    return reader;
}

void qcow2_reader_free(struct qcow2_reader *reader)
{
    if (!reader)
        return;
    inflater_free(reader->inflater);
    free(reader->packed);
    free(reader->table);
    free(reader);
}

static int read_plain(const struct qcow2_reader *reader, const struct place *place,
                      unsigned char *bytes, struct error *err)
{
    size_t size = qcow2_cluster_size(reader->image);
    if (read_at(reader->image, bytes, place->length, place->offset, err) < 0)
        return -1;
    memset(bytes + place->length, 0, size - place->length);
    return 0;
}

static int read_compressed(struct qcow2_reader *reader, uint64_t cluster, const struct place *place,
                           unsigned char *bytes, struct error *err)
{
    const struct qcow2 *image = reader->image;
    size_t size = qcow2_cluster_size(image);
    // The sector count has cluster_bits - 8 bits, so a stream is at most two clusters long.
    if (!reader->packed)
        reader->packed = xmalloc(size * 2 + sector);
    if (read_at(image, reader->packed, place->length, place->offset, err) < 0)
        return -1;
    if (inflater_unpack(reader->inflater, reader->packed, place->length, bytes, size, err) < 0)
        return error_prefix(err, "qcow2 image '%s': cluster %" PRIu64, image->name, cluster);
    return 0;
}

int qcow2_read(struct qcow2_reader *reader, uint64_t cluster, void *bytes, bool *zero,
               struct error *err)
{
    const struct qcow2 *image = reader->image;
    uint64_t per_table = qcow2_table_clusters(image), table = cluster / per_table;
    if (cluster >= cluster_count(image))
        return error_set(err, EINVAL, "qcow2 image '%s' has no cluster %" PRIu64, image->name,
                         cluster);
    if (qcow2_table_is_absent(image, table)) {
        *zero = true;
        return 0;
    }
    if (reader->loaded != table) {
        reader->loaded = UINT64_MAX;
        if (read_at(image, reader->table, qcow2_cluster_size(image), image->tables[table], err) < 0)
            return -1;
        reader->loaded = table;
    }
    struct place place;
    uint64_t entry = qcow2_be64(reader->table + cluster % per_table * 8);
    if (locate(image, cluster, entry, &place, err) < 0)
        return -1;
    if (place.kind == PLACE_PLAIN && read_plain(reader, &place, bytes, err) < 0)
        return -1;
    if (place.kind == PLACE_COMPRESSED && read_compressed(reader, cluster, &place, bytes, err) < 0)
        return -1;
    *zero = place.kind == PLACE_ZERO;
    return 0;
}
