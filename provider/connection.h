// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_CONNECTION_H
#define PROVIDER_CONNECTION_H

#include <stdbool.h>

#include "base/error.h"

// podman's system connections: podman-connections.json (contract section C), edited under
// podman's own lock, atomically, every field that we do not know kept. A missing file is an
// empty one; one that is not podman's JSON is EBADMSG and is left alone. Nothing is written when
// nothing changes.

struct connection {
    const char *machine; // entries NAME (the user's socket) and NAME-root
    const char *host;    // "127.0.0.1" or the guest's address
    unsigned port;       // always explicit: podman 4.3 fails without one
    const char *user;    // of the entry NAME
    unsigned uid;        // its id in the guest
    const char *identity;
    bool rootful; // which of the two becomes the default
};

// The URIs of NAME and of NAME-root. The caller frees both.
void connection_uris(const struct connection *connection, char **uri, char **root_uri);

// EEXIST with podman's text if a connection NAME or NAME-root exists already.
int connection_check_free(const char *file, const char *machine, struct error *err);

// Adds or replaces both entries. As podman does, the first connection of all becomes the
// default (NAME, or NAME-root when rootful); otherwise the default is left alone.
int connection_add(const char *file, const struct connection *connection, struct error *err);

// Removes both. When the default was one of them it becomes podman-machine-default if that is
// there, else the first by name, else none; of a rootful machine of ours NAME-root. Missing entries
// are not an error.
// Entries with another identity than this one (NULL: any) are somebody else's, and stay.
int connection_remove(const char *file, const char *machine, const char *identity,
                      struct error *err);

// EEXIST if one of the two entries is there with another identity; EBADMSG if the file cannot be
// used: what connection_add() would refuse, asked early.
int connection_check_own(const char *file, const char *machine, const char *identity,
                         struct error *err);

// Makes NAME or NAME-root the default. ENOENT `connection "N" not found`.
int connection_set_default(const char *file, const char *name, struct error *err);

// The default's name and URI; NULLs when there is none, or it names no entry of the file (it may
// be one of containers.conf). The caller frees.
int connection_default(const char *file, char **name, char **uri, struct error *err);

#endif
