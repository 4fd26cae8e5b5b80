// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/events.h"

#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "provider/paths.h"

// Folders in folders, but not for ever: links could lead in a ring.
static const unsigned deepest = 8;

static void send_to(const char *path, const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
        return;
    strcpy(address.sun_path, path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        file_write_all(fd, text, strlen(text)) < 0)
        log_warn("cannot tell '%s' of the event", path);
}

static bool is_event_socket(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "machine_events", 14) == 0 && length >= 19 &&
           strcmp(name + length - 5, ".sock") == 0;
}

static void send_below(const char *folder, const char *text, unsigned depth)
{
    cleanup_dir DIR *dir = depth < deepest ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        cleanup_free char *path = xasprintf("%s/%s", folder, entry->d_name);
        if (is_event_socket(entry->d_name))
            send_to(path, text);
        else if (entry->d_name[0] != '.')
            send_below(path, text, depth + 1);
    }
}

void events_publish(const char *machine, const char *status)
{
    cleanup_free char *time = clock_format_rfc3339(clock_wall_ns());
    cleanup_json json_t *event = json_pack("{s:s, s:s, s:s, s:s, s:n}", "Name", machine, "Status",
                                           status, "Time", time, "Type", "machine", "Attributes");
    cleanup_free char *text = json_compact(event);
    const char *socket = getenv("PODMAN_MACHINE_EVENTS_SOCK");
    // A listener that has hung up is no reason to end.
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    if (socket && *socket) {
        send_to(socket, text);
    } else {
        cleanup_free char *folder = paths_events();
        send_below(folder, text, 0);
    }
    signal(SIGPIPE, before);
}
