// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The disk is an array of clusters. The L1 table has one offset for each L2 table; an L2 table is
// one cluster of entries, one for each cluster of the disk (qcow2_entry.c).
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
#include "image/qcow2_image.h"

static const uint64_t entry_copied = UINT64_C(1) << 63;
static const uint64_t entry_offset = UINT64_C(0x00fffffffffffe00);

int qcow2_read_at(const struct qcow2 *image, void *bytes, size_t length, uint64_t offset,
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

static bool is_ascending(const struct qcow2 *image)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < image->header.l1_count; i++) {
        if (image->tables[i] && image->tables[i] <= last)
            return false;
        last = image->tables[i] ? image->tables[i] : last;
    }
    return true;
}

// One table for two parts of the disk is never right, and a file of a few kilobytes could
// stand for years of work that way.
static int refuse_shared_tables(const struct qcow2 *image, struct error *err)
{
    if (is_ascending(image)) // as most are: no copy of a large table
        return 0;
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
    if (qcow2_read_at(image, image->tables, count * sizeof(*image->tables), image->header.l1_offset,
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

int qcow2_open(struct qcow2 **image, int fd, uint64_t have, uint64_t size, const char *name,
               struct error *err)
{
    CLEANUP(free_image) struct qcow2 *found = xcalloc(1, sizeof(*found));
    found->fd = fd;
    found->file_size = size;
    found->name = xstrdup(name);

    size_t length = have < QCOW2_HEADER_MAX ? (size_t)have : QCOW2_HEADER_MAX;
    cleanup_free unsigned char *head = xmalloc(length + 1);
    if (qcow2_read_at(found, head, length, 0, err) < 0 ||
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
    return qcow2_cluster_size(image) / (image->header.extended ? 16 : 8);
}

bool qcow2_table_is_absent(const struct qcow2 *image, uint64_t table)
{
    return image->tables[table] == 0;
}

uint64_t qcow2_table_end(const struct qcow2 *image, uint64_t table)
{
    return qcow2_table_is_absent(image, table) ? 0
                                               : image->tables[table] + qcow2_cluster_size(image);
}

uint64_t qcow2_cluster_count(const struct qcow2 *image)
{
    return ((image->header.virtual_size - 1) >> image->header.cluster_bits) + 1;
}

int qcow2_check(const struct qcow2 *image, uint64_t *data, struct error *err)
{
    size_t size = qcow2_cluster_size(image);
    uint64_t per_table = qcow2_table_clusters(image), total = qcow2_cluster_count(image);
    uint64_t stored = 0;
    cleanup_free unsigned char *table = xmalloc(size);
    for (uint64_t i = 0; i < image->header.l1_count; i++) {
        if (qcow2_table_is_absent(image, i))
            continue;
        if (qcow2_read_at(image, table, size, image->tables[i], err) < 0)
            return -1;
        for (uint64_t j = 0; j < per_table && i * per_table + j < total; j++) {
            struct qcow2_place place = {0};
            if (qcow2_locate(image, table, i * per_table + j, &place, err) < 0)
                return -1;
            stored += place.kind != QCOW2_ZERO;
        }
    }
    *data = stored << image->header.cluster_bits;
    return 0;
}
