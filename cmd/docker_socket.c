// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/docker_socket.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "provider/paths.h"

static const time_t patience_s = 5;

// -1: nobody listens there.
static int dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval limit = {.tv_sec = patience_s};
    if (strlen(path) >= sizeof(address.sun_path))
        return -1;
    strcpy(address.sun_path, path);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : steal_fd(&fd);
}

static bool answers(const char *path)
{
    cleanup_close int fd = dial(path);
    return fd >= 0;
}

static bool points_at(const char *link, const char *target)
{
    char found[1024];
    ssize_t length = readlink(link, found, sizeof(found) - 1);
    return length > 0 && strlen(target) == (size_t)length &&
           memcmp(found, target, (size_t)length) == 0;
}

static bool make_link(const char *link, const char *target)
{
    struct error err;
    cleanup_free char *folder = xstrdup(link);
    *strrchr(folder, '/') = '\0';
    if (file_make_dirs(folder, 0755, &err) < 0 || (unlink(link) < 0 && errno != ENOENT) ||
        symlink(target, link) < 0) {
        log_warn("cannot make the link '%s' for docker's socket", link);
        return false;
    }
    return true;
}

static bool ask_helper(const char *path)
{
    char answer[2];
    size_t got = 0;
    cleanup_close int fd = dial(path);
    if (fd < 0 || file_write_all(fd, "GO\n", 3) < 0)
        return false;
    while (got < sizeof(answer)) {
        ssize_t n = read(fd, answer + got, sizeof(answer) - got);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return memcmp(answer, "OK", 2) == 0;
}

enum docker_claim docker_socket_claim(const struct docker_places *places, const char *api_socket)
{
    if (!file_exists(places->plist))
        return DOCKER_NOT_INSTALLED;
    // Whoever is served there now keeps it: another machine of podman's, or Docker itself.
    if (!points_at(places->link, api_socket) &&
        (answers(places->docker) || !make_link(places->link, api_socket)))
        return DOCKER_TAKEN;
    if (points_at(places->docker, places->link))
        return DOCKER_OURS;
    if (answers(places->docker))
        return DOCKER_TAKEN;
    if (ask_helper(places->helper))
        return DOCKER_OURS;
    log_warn("podman helper is installed, but was not able to claim the global docker sock");
    return DOCKER_TAKEN;
}

enum docker_claim docker_socket_claim_here(const char *api_socket)
{
    const struct passwd *entry = getpwuid(getuid());
    const char *user = entry ? entry->pw_name : "";
    cleanup_free char *plist =
        xasprintf("/Library/LaunchDaemons/com.github.containers.podman.helper-%s.plist", user);
    cleanup_free char *helper = xasprintf("/var/run/podman-helper-%s.socket", user);
    cleanup_free char *link = paths_podman_socket_link();
    const struct docker_places places = {plist, link, "/var/run/docker.sock", helper};
    return docker_socket_claim(&places, api_socket);
}
