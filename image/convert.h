// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_CONVERT_H
#define IMAGE_CONVERT_H

#include <stdbool.h>
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

// The same for a file that is still growing: what has arrived is converted meanwhile. Nothing
// but the header and the L1 table has been looked at when it begins, so what comes out is worth
// no more than the file that went in: the caller throws it away unless the digest is right.
// Works on images whose tables come before what they map, in the order of the disk, as qemu-img
// writes them; of others, the rest is converted once all of the file is there.
struct converter;

// `size` is that of the whole file, of which `have` bytes are there. Both files are borrowed and
// must stay open. An error means only that nothing can be done yet.
int converter_begin(struct converter **converter, int from, uint64_t have, uint64_t size,
                    const char *name, int to, struct error *err);
void converter_arrived(struct converter *converter, uint64_t have); // cheap; any thread

// All of the file is there: waits for the rest. Then as convert_qcow2().
int converter_finish(struct converter *converter, struct watch *watch, uint64_t *virtual_size,
                     struct error *err);
bool converter_failed(struct converter *converter);
void converter_free(struct converter *converter); // stops it first; NULL is nothing to free

// So many bytes of a file make it likely that its L1 table is among them.
extern const uint64_t converter_head;

#endif
