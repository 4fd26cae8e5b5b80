// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/platform.h"

int file_read(struct strbuf *buf, const char *path, size_t limit, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot open '%s'", path);

    CLEANUP(strbuf_release) struct strbuf read_so_far = STRBUF_INIT;
    char chunk[16384];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "cannot read '%s'", path);
        if (n == 0)
            break;
        strbuf_add(&read_so_far, chunk, (size_t)n);
        if (read_so_far.length > limit)
            return error_set(err, EFBIG, "'%s' is larger than %zu bytes", path, limit);
    }
    strbuf_reset(buf);
    strbuf_add(buf, read_so_far.text, read_so_far.length);
    return 0;
}

int file_write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

int file_send_all(int fd, const void *bytes, size_t length)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGPIPE, &ignore, &old);
    int result = file_write_all(fd, bytes, length);
    int reason = errno;
    sigaction(SIGPIPE, &old, NULL);
    errno = reason;
    return result;
}

static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

int file_sync_parent(const char *path, struct error *err)
{
    cleanup_free char *parent = parent_of(path);
    cleanup_close int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
        return error_errno(err, "cannot sync folder '%s'", parent);
    return 0;
}

int file_write_atomic(const char *path, const void *bytes, size_t length, mode_t mode,
                      struct error *err)
{
    char resolved[PATH_MAX];
    if (realpath(path, resolved))
        path = resolved;

    cleanup_free char *parent = parent_of(path);
    cleanup_unlink char *temporary =
        xasprintf("%s/.tmp-%s.XXXXXX", parent, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    cleanup_close int fd = mkstemp(temporary);
    if (fd < 0)
        return error_errno(err, "cannot create a file in '%s'", parent);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (file_write_all(fd, bytes, length) < 0 || fchmod(fd, mode) < 0 || platform_sync(fd) < 0)
        return error_errno(err, "cannot write '%s'", path);
    if (rename(temporary, path) < 0)
        return error_errno(err, "cannot replace '%s'", path);
    return file_sync_parent(path, err);
}

int file_make_dirs(const char *path, mode_t mode, struct error *err)
{
    cleanup_free char *partial = xstrdup(path);
    for (char *slash = partial + 1;; slash++) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(partial, mode) < 0 && errno != EEXIST)
            return error_errno(err, "cannot create folder '%s'", partial);
        if (!slash)
            break;
        *slash = '/';
    }
    struct stat st;
    if (stat(path, &st) < 0)
        return error_errno(err, "cannot use folder '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ENOTDIR, "'%s' is not a folder", path);
    return 0;
}

static int remove_at(int parent, const char *name, const char *shown, struct error *err)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return error_errno(err, "cannot remove '%s'", shown);

    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot remove '%s'", shown);
    cleanup_dir DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return error_errno(err, "cannot remove '%s'", shown);
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry && errno)
            return error_errno(err, "cannot read folder '%s'", shown);
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        cleanup_free char *inside = xasprintf("%s/%s", shown, entry->d_name);
        if (remove_at(dirfd(dir), entry->d_name, inside, err) < 0)
            return -1;
    }
    if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove folder '%s'", shown);
    return 0;
}

int file_remove_tree(const char *path, struct error *err)
{
    return remove_at(AT_FDCWD, path, path, err);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int file_size(const char *path, uint64_t *size, uint64_t *allocated, struct error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_errno(err, "cannot look at '%s'", path);
    *size = (uint64_t)st.st_size;
    *allocated = (uint64_t)st.st_blocks * 512;
    return 0;
}

char *file_tail(const char *path, unsigned lines)
{
    char tail[8192];
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return xstrdup("");
    off_t from = st.st_size > (off_t)sizeof(tail) ? st.st_size - (off_t)sizeof(tail) : 0;
    ssize_t n = pread(fd, tail, sizeof(tail), from);
    if (n <= 0)
        return xstrdup("");

    size_t length = (size_t)n;
    while (length > 0 && (tail[length - 1] == '\n' || tail[length - 1] == '\r'))
        length--;
    size_t start = length;
    while (start > 0 && !(tail[start - 1] == '\n' && --lines == 0))
        start--;
    return xstrndup(tail + start, length - start);
}
