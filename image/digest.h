// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_DIGEST_H
#define IMAGE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/watch.h"

// SHA-256, in pieces. `digest_begin` may be called again at any time to start anew.
struct digest {
    void *context; // libcrypto's
};

#define DIGEST_INIT \
    {               \
        NULL        \
    }
#define DIGEST_HEX 65 // 64 lower-case hex digits and a NUL

int digest_begin(struct digest *digest, struct error *err);
void digest_add(struct digest *digest, const void *bytes, size_t length);
void digest_end(struct digest *digest, char hex[DIGEST_HEX]);
void digest_release(struct digest *digest);

// Adds the first `length` bytes of a file, wherever its offset is. EIO when it is shorter.
int digest_add_file(struct digest *digest, int fd, uint64_t length, const char *name,
                    struct watch *watch, struct error *err);

// The digest of the first `length` bytes of a file.
int digest_file(char hex[DIGEST_HEX], int fd, uint64_t length, const char *name,
                struct watch *watch, struct error *err);

// Reads a digest as people paste it: either case, with or without "sha256:". False: it is not
// 64 hex digits.
bool digest_parse(char hex[DIGEST_HEX], const char *text);

#endif
