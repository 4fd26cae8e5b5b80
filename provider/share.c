// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/share.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/tool.h"

void shares_release(struct shares *shares)
{
    for (size_t i = 0; i < shares->count; i++) {
        free(shares->items[i].path);
        free(shares->items[i].socket);
    }
    free(shares->items);
    *shares = (struct shares)SHARES_INIT;
}

static int find_folder(char **path, const char *source, struct error *err)
{
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(source, real) || stat(real, &st) < 0)
        return error_errno(err, "cannot share '%s' with the machine", source);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ENOTDIR, "cannot share '%s' with the machine: it is not a folder",
                         source);
    if (access(real, R_OK | X_OK) < 0)
        return error_errno(err, "cannot share '%s' with the machine", source);
    *path = xstrdup(real);
    return 0;
}

int shares_find(struct shares *shares, const struct machine *m, struct error *err)
{
    shares->items = xrealloc(shares->items, (m->mounts.count + 1) * sizeof(*shares->items));
    for (size_t i = 0; i < m->mounts.count; i++) {
        const struct mount *mount = &m->mounts.items[i];
        char *path;
        if (find_folder(&path, mount->source, err) == 0)
            shares->items[shares->count++] = (struct share){.mount = mount, .path = path};
        else if (mount->by_default)
            log_warn("%s", err->message);
        else
            return -1;
    }
    return 0;
}

int shares_speak(struct shares *shares, const struct machine *m, const char *unspeakable,
                 struct error *err)
{
    for (size_t i = 0; i < shares->count; i++) {
        struct share *share = &shares->items[i];
        cleanup_free char *link = NULL;
        if (!strpbrk(share->path, unspeakable))
            continue;
        if (tool_folder(&link, share->path, m->name, unspeakable, err) < 0)
            return -1;
        free(share->path);
        share->path = xasprintf("%s/.", link);
    }
    return 0;
}

static char *socket_path(const char *machine, size_t number)
{
    cleanup_free char *runtime = paths_runtime();
    return xasprintf("%s/%s-fs%zu.sock", runtime, machine, number);
}

void shares_give_sockets(struct shares *shares, const struct machine *m)
{
    for (size_t i = 0; i < shares->count; i++)
        shares->items[i].socket = socket_path(m->name, i);
}

int shares_clear_sockets(const char *machine, struct error *err)
{
    for (size_t i = 0;; i++) {
        cleanup_free char *path = socket_path(machine, i);
        if (unlink(path) == 0)
            continue;
        return errno == ENOENT ? 0 : error_errno(err, "cannot remove '%s'", path);
    }
}
