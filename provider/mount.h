// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_MOUNT_H
#define PROVIDER_MOUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// A folder of the host that the guest sees; part of a machine's record. Owns its strings.
struct mount {
    char *source;         // absolute path on the host; need not exist before start
    char *target;         // absolute, clean path in the guest
    char *tag;            // how host and guest name it to each other
    char *security_model; // of 9p, as podman's option says it; else "none"
    bool read_only;
    bool by_default; // nobody asked for it: a start does without it, with a warning
};

struct mounts {
    struct mount *items;
    size_t count;
};

#define MOUNTS_INIT \
    {               \
        NULL, 0     \
    }
void mounts_release(struct mounts *mounts);

// podman's tag: the first 36 hex digits of the target's SHA-256 (pkg/machine/volumes.go, 6.0), as
// long as virtio-fs allows. 9p takes 31 bytes: the first of these. The caller frees.
char *mount_tag(const char *target);
#define MOUNT_TAG_9P_LENGTH 31

// Appends a copy, with the tag of its target. EEXIST: another one has that target.
int mounts_add(struct mounts *mounts, const struct mount *mount, struct error *err);

const struct mount *mounts_find(const struct mounts *mounts, const char *tag); // NULL: none

json_t *mounts_to_json(const struct mounts *mounts); // NULL: not UTF-8
int mounts_from_json(struct mounts *mounts, const json_t *array, struct error *err); // NULL: none

#endif
