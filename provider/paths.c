// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/paths.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"

static const char product[] = "podman-machine-vmnet";

// The longest name of a machine (30) with the longest suffix ("-control.sock", "-api-try.sock") and
// a slash.
static const size_t longest_socket_name = 1 + 30 + 13;
static const size_t longest_socket_path = 103;

// What hypervisors read as it stands: vfkit makes URLs of socket paths (pkg/vf/vsock.go), and both
// cut their options at commas.
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@";

char *paths_home(void)
{
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return xstrdup(home);
    const struct passwd *entry = getpwuid(getuid());
    return xstrdup(entry && entry->pw_dir && entry->pw_dir[0] == '/' ? entry->pw_dir : "/");
}

static char *xdg(const char *variable, const char *fallback)
{
    const char *value = getenv(variable);
    if (value && value[0] == '/')
        return xstrdup(value);
    cleanup_free char *home = paths_home();
    return xasprintf("%s/%s", strcmp(home, "/") == 0 ? "" : home, fallback);
}

char *paths_data(void)
{
    cleanup_free char *base = xdg("XDG_DATA_HOME", ".local/share");
    return xasprintf("%s/%s", base, product);
}

char *paths_cache(void)
{
    cleanup_free char *base = xdg("XDG_CACHE_HOME", ".cache");
    return xasprintf("%s/%s", base, product);
}

char *paths_image_cache(void)
{
    cleanup_free char *cache = paths_cache();
    return xasprintf("%s/images", cache);
}

char *paths_machines(void)
{
    cleanup_free char *data = paths_data();
    return xasprintf("%s/machines", data);
}

char *paths_connections(void)
{
    const char *file = getenv("PODMAN_CONNECTIONS_CONF");
    if (file && *file)
        return xstrdup(file);
    cleanup_free char *config = paths_containers_config();
    return xasprintf("%s/podman-connections.json", config);
}

char *paths_containers_config(void)
{
    cleanup_free char *config = xdg("XDG_CONFIG_HOME", ".config");
    return xasprintf("%s/containers", config);
}

char *paths_known_hosts(void)
{
    cleanup_free char *home = paths_home();
    return xasprintf("%s/.ssh/known_hosts", home);
}

char *paths_podman_socket_link(void)
{
    cleanup_free char *data = xdg("XDG_DATA_HOME", ".local/share");
    return xasprintf("%s/containers/podman/machine/podman.sock", data);
}

char *paths_podman_ports(void)
{
    cleanup_free char *data = xdg("XDG_DATA_HOME", ".local/share");
    return xasprintf("%s/containers/podman/machine/port-alloc.dat", data);
}

char *paths_events(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime)
        return xasprintf("%s/podman", runtime);
    cleanup_free char *run = xasprintf("/run/user/%u", (unsigned)getuid());
    if (getuid() != 0 && access(run, W_OK) == 0)
        return xasprintf("%s/podman", run);
    const char *tmp = getenv("TMPDIR");
    return xasprintf("%s/storage-run-%u/podman", tmp && *tmp ? tmp : "/tmp", (unsigned)getuid());
}

char *paths_runtime(void)
{
    cleanup_free char *runtime = platform_runtime_dir();
    cleanup_free char *folder = xasprintf("%s/podman", runtime);
    if (strlen(folder) + longest_socket_name <= longest_socket_path &&
        folder[strspn(folder, plain)] == '\0')
        return steal_string(&folder);
    return xasprintf("/tmp/%s-%u", product, (unsigned)getuid());
}

char *paths_launch_agents(void)
{
    cleanup_free char *home = paths_home();
    return xasprintf("%s/Library/LaunchAgents", home);
}

int paths_make_runtime(struct error *err)
{
    cleanup_free char *folder = paths_runtime();
    if (file_make_dirs(folder, 0700, err) < 0)
        return -1;
    struct stat st;
    if (lstat(folder, &st) < 0)
        return error_errno(err, "cannot look at '%s'", folder);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return error_set(err, EPERM,
                         "folder '%s' is not ours alone: remove it, or set another runtime folder",
                         folder);
    return 0;
}
