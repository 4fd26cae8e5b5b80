// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_KNOWN_HOSTS_H
#define PROVIDER_KNOWN_HOSTS_H

#include "base/error.h"

// ~/.ssh/known_hosts is the user's: one line for each machine, marked with a comment so that only
// our own lines are ever taken away. Edited atomically under a lock (on the folder: nothing is
// left in it); the file's mode and every other line are kept, and nothing is written when nothing
// changes; it is made 0600 (and ~/.ssh 0700) if missing.

// Adds `[host]:port KEY podman-machine-vmnet:MACHINE` (`host KEY ...` for port 22), replacing this
// machine's older lines for other addresses, and takes the same host and port out of any other
// line, hashed or not and whoever wrote it, which would make clients fail with "key mismatch".
// Lines with patterns and @markers are the user's policy and stay; ours goes before the first
// pattern, since Go's clients take the first match. EINVAL: `key` is not a public key.
int known_hosts_set(const char *file, const char *machine, const char *host, unsigned port,
                    const char *key, struct error *err);

// Removes this machine's lines.
int known_hosts_remove(const char *file, const char *machine, struct error *err);

#endif
