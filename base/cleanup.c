// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cleanup_free_pointer(void *pointer)
{
    void *block;
    memcpy(&block, pointer, sizeof(block));
    free(block);
}

void cleanup_close_fd(const int *fd)
{
    if (*fd < 0)
        return;
    int saved = errno;
    close(*fd);
    errno = saved;
}

void cleanup_close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

void cleanup_close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

void cleanup_unlink_path(char **path)
{
    if (!*path)
        return;
    int saved = errno;
    unlink(*path);
    errno = saved;
    free(*path);
}

char *steal_string(char **text)
{
    char *taken = *text;
    *text = NULL;
    return taken;
}

int steal_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}
