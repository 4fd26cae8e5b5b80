// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

static const int64_t retry_ms = 50;
const int64_t lock_glance_ms = 500;

int lock_take(struct lock *lock, const char *path, int64_t timeout_ms, struct error *err)
{
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "cannot open lock '%s'", path);

    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return error_errno(err, "cannot take lock '%s'", path);
        if (timeout_ms >= 0 && clock_monotonic_ms() >= deadline)
            return error_set(err, EBUSY, "lock '%s' is held by another process", path);
        // Asking again and again rather than waiting in flock: a signal is never missed.
        if (!clock_sleep_ms(retry_ms))
            return error_set(err, EINTR, "interrupted while waiting for lock '%s'", path);
    }
    // The last holder's process id may be another process's by now.
    if (ftruncate(fd, 0) < 0)
        return error_errno(err, "cannot empty lock '%s'", path);
    lock->fd = steal_fd(&fd);
    return 0;
}

void lock_release(struct lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

bool lock_is_held(const char *path)
{
    cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int lock_write_pid(const struct lock *lock, pid_t pid, struct error *err)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%ld\n", (long)pid);
    if (ftruncate(lock->fd, 0) < 0 || pwrite(lock->fd, text, (size_t)length, 0) != length)
        return error_errno(err, "cannot write the lock's process id");
    return 0;
}

pid_t lock_read_pid(const char *path)
{
    char text[32] = "";
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return 0;
    long pid = strtol(text, NULL, 10);
    return pid > 1 ? (pid_t)pid : 0;
}

int lock_take_record(struct lock *lock, const char *path, struct error *err)
{
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_errno(err, "cannot open lock '%s'", path);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLKW, &whole) < 0)
        return error_errno(err, "cannot take lock '%s'", path);
    lock->fd = steal_fd(&fd);
    return 0;
}
