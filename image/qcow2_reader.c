// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// What lies close together in the file is read together, exactly as far as it is wanted: the
// table tells what the next clusters of the stretch will need. Streams are unpacked from where
// they were read to. A mapping would save that one copy, but a file that becomes shorter would
// then kill the process, and what it keeps in memory could not be bounded.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/inflate.h"
#include "image/qcow2_image.h"

static const size_t window_size = 512 << 10;
// So much that nobody wants is read along rather than asked for twice.
static const uint64_t largest_gap = 16 << 10;
static const uint64_t sector = 512;

struct qcow2_reader {
    const struct qcow2 *image;
    struct inflater *inflater;
    unsigned char *table; // the L2 table `loaded`, as it is in the file
    uint64_t loaded;      // UINT64_MAX: none yet
    uint64_t end;         // of the stretch: the first cluster that is not wanted

    unsigned char *window; // a piece of the file, when first needed
    size_t capacity, filled;
    uint64_t offset;
};

struct qcow2_reader *qcow2_reader_new(const struct qcow2 *image)
{
    struct qcow2_reader *reader = xcalloc(1, sizeof(*reader));
    size_t size = qcow2_cluster_size(image);
    reader->image = image;
    reader->inflater = inflater_new(image->header.method);
    reader->table = xmalloc(size);
    reader->loaded = UINT64_MAX;
    // The sector count has cluster_bits - 8 bits, so a stream is at most two clusters long.
    reader->capacity = size * 2 + sector;
    if (reader->capacity < window_size)
        reader->capacity = window_size;
    return reader;
}

size_t qcow2_reader_memory(const struct qcow2 *image)
{
    size_t size = qcow2_cluster_size(image), window = size * 2 + sector;
    return size + (window < window_size ? window_size : window);
}

void qcow2_reader_free(struct qcow2_reader *reader)
{
    if (!reader)
        return;
    inflater_free(reader->inflater);
    free(reader->window);
    free(reader->table);
    free(reader);
}

static int load_table(struct qcow2_reader *reader, uint64_t table, struct error *err)
{
    const struct qcow2 *image = reader->image;
    if (reader->loaded == table)
        return 0;
    reader->loaded = UINT64_MAX;
    if (qcow2_read_at(image, reader->table, qcow2_cluster_size(image), image->tables[table], err) <
        0)
        return -1;
    reader->loaded = table;
    return 0;
}

int qcow2_reader_begin(struct qcow2_reader *reader, uint64_t first, uint64_t end, uint64_t *reach,
                       struct error *err)
{
    const struct qcow2 *image = reader->image;
    uint64_t table = first / qcow2_table_clusters(image), furthest = 0;
    reader->end = 0;
    *reach = 0;
    if (qcow2_table_is_absent(image, table))
        return 0;
    if (load_table(reader, table, err) < 0)
        return -1;
    for (uint64_t cluster = first; cluster < end; cluster++) {
        struct qcow2_place place = {0};
        if (qcow2_locate(image, reader->table, cluster, &place, err) < 0)
            return -1;
        if (place.kind != QCOW2_ZERO && place.offset + place.length > furthest)
            furthest = place.offset + place.length;
    }
    reader->end = end;
    *reach = furthest;
    return 0;
}

// How far to read for `cluster`, which is at `place`, and those after it.
static size_t useful_length(const struct qcow2_reader *reader, uint64_t cluster,
                            const struct qcow2_place *place)
{
    uint64_t end = place->offset + place->length;
    while (++cluster < reader->end) {
        struct qcow2_place next;
        struct error later; // is met again when its turn comes
        if (qcow2_locate(reader->image, reader->table, cluster, &next, &later) < 0)
            break;
        if (next.kind == QCOW2_ZERO)
            continue;
        if (next.offset < place->offset || next.offset > end + largest_gap ||
            next.offset + next.length - place->offset > reader->capacity)
            break;
        if (next.offset + next.length > end)
            end = next.offset + next.length;
    }
    return (size_t)(end - place->offset);
}

// *from points to the bytes at `place`.
static int fill_window(struct qcow2_reader *reader, uint64_t cluster,
                       const struct qcow2_place *place, const unsigned char **from,
                       struct error *err)
{
    if (!reader->window)
        reader->window = xmalloc(reader->capacity);
    if (place->offset < reader->offset || place->offset - reader->offset > reader->filled ||
        place->length > reader->filled - (place->offset - reader->offset)) {
        size_t length = useful_length(reader, cluster, place);
        reader->filled = 0;
        if (qcow2_read_at(reader->image, reader->window, length, place->offset, err) < 0)
            return -1;
        reader->offset = place->offset;
        reader->filled = length;
    }
    *from = reader->window + (place->offset - reader->offset);
    return 0;
}

// Runs of parts that are stored; the rest of the cluster is zeros.
static int read_parts(const struct qcow2 *image, const struct qcow2_place *place,
                      unsigned char *bytes, struct error *err)
{
    size_t size = qcow2_cluster_size(image), part = size / 32;
    memset(bytes, 0, size);
    for (size_t at = 0; at < place->length;) {
        size_t end = at;
        while (end < place->length && (place->parts >> (end / part) & 1))
            end += part;
        if (end > place->length)
            end = place->length;
        if (end > at && qcow2_read_at(image, bytes + at, end - at, place->offset + at, err) < 0)
            return -1;
        at = end > at ? end : at + part;
    }
    return 0;
}

static int read_plain(struct qcow2_reader *reader, uint64_t cluster,
                      const struct qcow2_place *place, unsigned char *bytes, struct error *err)
{
    size_t size = qcow2_cluster_size(reader->image);
    if (place->parts != QCOW2_ALL_PARTS)
        return read_parts(reader->image, place, bytes, err);
    if (size >= window_size / 8) {
        if (qcow2_read_at(reader->image, bytes, place->length, place->offset, err) < 0)
            return -1;
    } else {
        const unsigned char *from;
        if (fill_window(reader, cluster, place, &from, err) < 0)
            return -1;
        memcpy(bytes, from, place->length);
    }
    memset(bytes + place->length, 0, size - place->length);
    return 0;
}

static int read_compressed(struct qcow2_reader *reader, uint64_t cluster,
                           const struct qcow2_place *place, unsigned char *bytes, struct error *err)
{
    const unsigned char *from;
    size_t size = qcow2_cluster_size(reader->image);
    if (fill_window(reader, cluster, place, &from, err) < 0)
        return -1;
    if (inflater_unpack(reader->inflater, from, place->length, bytes, size, err) < 0)
        return error_prefix(err, "qcow2 image '%s': cluster %" PRIu64, reader->image->name,
                            cluster);
    return 0;
}

int qcow2_read(struct qcow2_reader *reader, uint64_t cluster, void *bytes, bool *zero,
               struct error *err)
{
    const struct qcow2 *image = reader->image;
    uint64_t table = cluster / qcow2_table_clusters(image);
    if (cluster >= qcow2_cluster_count(image))
        return error_set(err, EINVAL, "qcow2 image '%s' has no cluster %" PRIu64, image->name,
                         cluster);
    *zero = qcow2_table_is_absent(image, table);
    if (*zero)
        return 0;
    struct qcow2_place place = {0};
    if (load_table(reader, table, err) < 0 ||
        qcow2_locate(image, reader->table, cluster, &place, err) < 0)
        return -1;
    if (place.kind == QCOW2_PLAIN && read_plain(reader, cluster, &place, bytes, err) < 0)
        return -1;
    if (place.kind == QCOW2_COMPRESSED && read_compressed(reader, cluster, &place, bytes, err) < 0)
        return -1;
    *zero = place.kind == QCOW2_ZERO;
    return 0;
}
