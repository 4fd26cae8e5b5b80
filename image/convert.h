// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_CONVERT_H
#define IMAGE_CONVERT_H

#include <stdint.h>

#include "base/error.h"
#include "image/watch.h"

// Writes the disk in a qcow2 image of `size` bytes into the empty file `to`, sparse and
// `virtual_size` bytes long, with all cores. Everything in `from` is looked at before the first
// byte is written. `name` is the source as messages call it. Syncing and renaming is the
// caller's.
//
// EBADMSG: not such an image, or damaged; ENOSPC; EINTR.
int convert_qcow2(int from, uint64_t size, const char *name, int to, struct watch *watch,
                  uint64_t *virtual_size, struct error *err);

#endif
