// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_FORMAT_H
#define IMAGE_FORMAT_H

#include <stdint.h>

#include "base/error.h"

enum image_format {
    FORMAT_RAW,
    FORMAT_QCOW2,
    FORMAT_XZ,
    FORMAT_ZSTD,
    FORMAT_GZIP,
};

// Tells what a file is by its content, never by its name. The file has `size` bytes, of which
// the first `have` are there: less than `size` while it is still being downloaded, then
// format_head of them are enough. Everything that cannot become a machine's disk is refused
// by name, with what to do: EBADMSG. An empty file is raw.
int format_detect(enum image_format *format, int fd, uint64_t have, uint64_t size, const char *name,
                  struct error *err);
extern const uint64_t format_head;

#endif
