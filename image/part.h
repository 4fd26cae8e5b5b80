// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_PART_H
#define IMAGE_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/digest.h"
#include "image/watch.h"

// A file that is not whole yet: PATH.part holds its first `have` bytes, all of which the
// digest has seen, and PATH.part.json what they are a part of, so that a later run can go on.
struct part {
    char *path, *record;
    int fd;
    struct digest digest;
    uint64_t have, total; // total 0: not known
    // The server that sent them, and how it names this version of the file; NULL: not said.
    char *location, *etag, *modified;
};

#define PART_INIT \
    {             \
        .fd = -1  \
    }

// Opens what an earlier run left for `path`, or an empty part: also when it was of another
// `url`, or anything about it is odd.
int part_open(struct part *part, const char *path, const char *url, struct watch *watch,
              struct error *err);
void part_release(struct part *part); // the files stay
int part_reset(struct part *part, struct error *err);
int part_add(struct part *part, const void *bytes, size_t length, struct error *err);

// What If-Range may say, or NULL: then the part cannot be continued.
const char *part_validator(const struct part *part);

void part_set_origin(struct part *part, const char *location, const char *etag,
                     const char *modified);
int part_write_record(const struct part *part, const char *url, struct error *err);

// Gives it its name. It is not synced: it is only ever used after its digest was computed again.
int part_finish(struct part *part, const char *path, struct error *err);
void part_remove(struct part *part);

#endif
