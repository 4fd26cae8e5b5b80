// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_SHARE_H
#define PROVIDER_SHARE_H

#include <stddef.h>

#include "base/error.h"
#include "provider/mount.h"

struct machine;
struct tools;

// What one start offers the guest: the record's mounts, found on this host.
struct share {
    const struct mount *mount; // of the record, which outlives it
    char *path;   // the real path: libkrun opens none that is a link (1.19, fs/macos); or, where
                  // the hypervisor could not be told that, a link to it that ends in "/."
    char *socket; // where its virtiofsd listens; NULL: the hypervisor itself shares it
};

struct shares {
    struct share *items;
    size_t count;
};

#define SHARES_INIT \
    {               \
        NULL, 0     \
    }
void shares_release(struct shares *shares);

// Looks for the machine's folders. ENOENT, EACCES or ENOTDIR for one that is not there; one that
// nobody asked for is left out, with a warning.
int shares_find(struct shares *shares, const struct machine *m, struct error *err);

// Puts a link in the place of each path that has one of the bytes `unspeakable`.
int shares_speak(struct shares *shares, const struct machine *m, const char *unspeakable,
                 struct error *err);

// Gives each a socket, in the runtime folder.
void shares_give_sockets(struct shares *shares, const struct machine *m);

// Removes those sockets, of any earlier start too.
int shares_clear_sockets(const char *machine, struct error *err);

#endif
