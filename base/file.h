// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

// Reads a whole regular file into buf, replacing its content. EFBIG when it is larger than
// `limit` bytes: every file we read whole has a size that is known to be small.
int file_read(struct strbuf *buf, const char *path, size_t limit, struct error *err);

// Replaces `path` in one step: a temporary in the same folder, fsync, rename, fsync of the
// folder. On an error the old file is untouched. A symbolic link at `path` is followed.
int file_write_atomic(const char *path, const void *bytes, size_t length, mode_t mode,
                      struct error *err);

// Makes `path` and its missing parents; each one made gets `mode`. Existing ones are left alone.
int file_make_dirs(const char *path, mode_t mode, struct error *err);

// Removes a file or a whole folder, never following symbolic links. Absent is success.
int file_remove_tree(const char *path, struct error *err);

bool file_exists(const char *path);                           // follows symbolic links
int file_sync_parent(const char *path, struct error *err);    // makes a rename durable
int file_write_all(int fd, const void *bytes, size_t length); // 0, or -1 with errno
int file_send_all(int fd, const void *bytes, size_t length);  // likewise; never SIGPIPE

// The file's size in bytes and what it takes on the disk.
int file_size(const char *path, uint64_t *size, uint64_t *allocated, struct error *err);

// The last `lines` lines of a text file, or "" if it cannot be read. The caller frees.
char *file_tail(const char *path, unsigned lines);

#endif
