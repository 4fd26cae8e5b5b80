// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_UNPACK_H
#define IMAGE_UNPACK_H

#include <stdint.h>

#include "base/error.h"
#include "image/watch.h"

// Unpacks the one file inside an .xz, .zst or .gz of `size` bytes into the empty file `to`,
// sparse. EBADMSG when it is damaged, truncated or holds nothing.
int unpack_file(int from, uint64_t size, const char *name, int to, struct watch *watch,
                uint64_t *unpacked_size, struct error *err);

#endif
