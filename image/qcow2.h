// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_QCOW2_H
#define IMAGE_QCOW2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

// A read-only qcow2 image (version 2 and 3, deflate and zstd). Opaque: inside it holds that
// everything read so far from the file is in range. Nothing in the file is believed; a lie is
// EBADMSG, never a read outside the file, an endless loop or a huge allocation.
//
// Many threads may read one image, each through a reader of its own: the image is constant
// once open, and the file's offset is not used.
struct qcow2;

// `fd` is borrowed and must stay open. `size` is that of the whole file, `have` how much of it
// is there. Reads the header and the L1 table. Refuses what qcow2_header_parse() refuses.
int qcow2_open(struct qcow2 **image, int fd, uint64_t have, uint64_t size, const char *name,
               struct error *err);
void qcow2_free(struct qcow2 *image); // NULL is nothing to free

uint64_t qcow2_virtual_size(const struct qcow2 *image);
size_t qcow2_cluster_size(const struct qcow2 *image);
uint64_t qcow2_table_count(const struct qcow2 *image);    // L2 tables, absent ones included
uint64_t qcow2_table_clusters(const struct qcow2 *image); // clusters that one table maps

// Looks at every table before any cluster is read: a truncated file and a bad offset are
// found here. `data` is how many bytes of the disk, in whole clusters, are stored.
int qcow2_check(const struct qcow2 *image, uint64_t *data, struct error *err);

// Where the table ends in the file; 0 when it is absent.
uint64_t qcow2_table_end(const struct qcow2 *image, uint64_t table);

struct qcow2_reader;
struct qcow2_reader *qcow2_reader_new(const struct qcow2 *image);
void qcow2_reader_free(struct qcow2_reader *reader); // NULL is nothing to free

// True when the clusters of this table are all zero without a look at them.
bool qcow2_table_is_absent(const struct qcow2 *image, uint64_t table);

// What a reader takes, besides what unpacking needs.
size_t qcow2_reader_memory(const struct qcow2 *image);

// The clusters from `first` up to `end` are wanted next, all of one table, which must be in the
// file already: they are then read in large pieces. `reach` is where the last byte of them ends
// in the file; 0 when nothing is stored.
int qcow2_reader_begin(struct qcow2_reader *reader, uint64_t first, uint64_t end, uint64_t *reach,
                       struct error *err);

// Reads the cluster at virtual offset `cluster` * cluster size into `bytes`, a whole one: what
// lies behind the virtual end is zero. Where `zero` comes back true, nothing is stored there
// and `bytes` is untouched. Cheap in ascending order.
int qcow2_read(struct qcow2_reader *reader, uint64_t cluster, void *bytes, bool *zero,
               struct error *err);

#endif
