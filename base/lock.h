// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

// Our own locks are flock(2): they follow the open file, so a child that inherits the
// descriptor holds the lock too, and the kernel lets go when the last holder dies.
struct lock {
    int fd; // -1: not held
};

#define LOCK_INIT \
    {             \
        -1        \
    }

// Waits up to `timeout_ms` (0: not at all, -1: for ever) for the exclusive lock on `path`,
// which is made (0600) if it is missing, and emptied: nobody takes the id of the last holder for
// this one's. EBUSY when another holds it; EINTR when a signal
// handler ran. The folder must exist.
int lock_take(struct lock *lock, const char *path, int64_t timeout_ms, struct error *err);
void lock_release(struct lock *lock);

// Time enough for those who only ask lock_is_held(), which takes the lock for a moment.
extern const int64_t lock_glance_ms;

// True if somebody holds the lock now. A missing file is not held.
bool lock_is_held(const char *path);

// The holder's process id, kept as text in the lock file by the holder itself:
// flock does not tell who holds it. 0 when the file has none, or none yet.
int lock_write_pid(const struct lock *lock, pid_t pid, struct error *err);
pid_t lock_read_pid(const char *path);

// podman's locks are POSIX record locks on the whole of FILE.lock (podman 4 to 6,
// storage/pkg/lockfile); flock on the same file would not meet them. A record lock goes when
// *any* descriptor of that file in this process is closed: take it once at a time.
int lock_take_record(struct lock *lock, const char *path, struct error *err);

#endif
