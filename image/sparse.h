// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_SPARSE_H
#define IMAGE_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/watch.h"

bool sparse_is_zero(const void *bytes, size_t length);

// Writes at `offset`, leaving out what is zero: the file must have a hole there. Safe from
// several threads at once. 0, or -1 with errno.
int sparse_write(int fd, const void *bytes, size_t length, uint64_t offset);

// Copies the first `size` bytes of a file to an empty one: only the data extents, where the
// file system tells them, and of these only what is not zero. `to` is then `size` bytes long.
int sparse_copy(int from, const char *from_name, int to, const char *to_name, uint64_t size,
                struct watch *watch, struct error *err);

// ENOSPC, with how much is missing, unless the file system of `fd` has room for `bytes` more.
int sparse_require_space(int fd, uint64_t bytes, const char *what, struct error *err);

// Adds to an ENOSPC error how much is needed and how much is free; others stay. Returns -1.
int sparse_note_space(int fd, uint64_t bytes, struct error *err);

#endif
