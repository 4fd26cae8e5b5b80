// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_KNOWN_HOSTS_H
#define PROVIDER_KNOWN_HOSTS_H

#include "base/error.h"

// ~/.ssh/known_hosts is the user's: one line for each host and port that we register, marked
// with a comment so that only our own lines are ever taken away. Edited atomically under a lock;
// the file's mode and every other line are kept; it is made 0600 (and ~/.ssh 0700) if missing.

// Adds `[host]:port KEY podman-machine-vmnet:MACHINE`, replacing this machine's older lines for
// other addresses and any line, whoever wrote it, for the same host and port, which would
// make clients fail with "key mismatch". Hashed lines are matched too (by ssh-keygen -F / -R).
int known_hosts_set(const char *file, const char *machine, const char *host, unsigned port,
                    const char *key, struct error *err);

// Removes this machine's lines.
int known_hosts_remove(const char *file, const char *machine, struct error *err);

#endif
