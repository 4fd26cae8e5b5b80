// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_QCOW2_IMAGE_H
#define IMAGE_QCOW2_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/qcow2.h"
#include "image/qcow2_header.h"

// The inside of struct qcow2, for the files qcow2*.c alone.
struct qcow2 {
    int fd;
    uint64_t file_size;
    char *name;
    struct qcow2_header header;
    uint64_t *tables; // offsets of the L2 tables, 0: absent; header.l1_count of them
};

// Where one cluster is. All of it has been checked: offset + length lies in the file.
struct qcow2_place {
    enum { QCOW2_ZERO, QCOW2_PLAIN, QCOW2_COMPRESSED } kind;
    uint32_t parts; // plain: which 1/32 of it are stored; the others are zeros
    uint64_t offset;
    size_t length; // may be less than a cluster at the end of the disk
};

#define QCOW2_ALL_PARTS UINT32_MAX

// The only place that reads an L2 entry. `table` is the one that has the entry of `cluster`, as
// it is in the file.
int qcow2_locate(const struct qcow2 *image, const unsigned char *table, uint64_t cluster,
                 struct qcow2_place *place, struct error *err);

uint64_t qcow2_cluster_count(const struct qcow2 *image);
int qcow2_read_at(const struct qcow2 *image, void *bytes, size_t length, uint64_t offset,
                  struct error *err);

#endif
