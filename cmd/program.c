// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/program.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"

// As installed, else as built: the way there from our own folder. Never simply beside us: that is
// where the real podman may be.
static char *find_program(const char *name, const char *installed, const char *built)
{
    cleanup_free char *running = platform_executable();
    cleanup_free char *resolved = running ? realpath(running, NULL) : NULL;
    char *slash = resolved ? strrchr(resolved, '/') : NULL;
    if (!slash)
        return NULL;
    *slash = '\0';
    const char *const ways[] = {installed, built};
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        cleanup_free char *path = xasprintf("%s/%s/%s", resolved, ways[i], name);
        char *found = realpath(path, NULL);
        if (found)
            return found;
    }
    return NULL;
}

char *program_full(void)
{
    return find_program("podman-machine-vmnet", WAY_TO_BIN, "..");
}

char *program_front(void)
{
    return find_program("podman", WAY_TO_LIBEXEC, "front");
}

bool program_is_podman(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    return strcmp(slash ? slash + 1 : argv0, "podman") == 0;
}

bool program_has_provider(const char *name)
{
    if (strncmp(name, "vmnet-", 6) == 0)
        return true;
    for (size_t i = 0; platform_providers[i]; i++)
        if (strcmp(name, platform_providers[i]) == 0)
            return true;
    return false;
}

bool program_podman_has_provider(const char *name)
{
    if (strcmp(platform_name, "darwin") == 0)
        return strcasecmp(name, "libkrun") == 0 || strcasecmp(name, "applehv") == 0;
    return strcasecmp(name, "qemu") == 0;
}

const char *program_vm_type(const char *provider)
{
    if (strcmp(provider, "vmnet-krunkit") == 0)
        return "libkrun";
    return strcmp(provider, "vmnet-vfkit") == 0 ? "applehv" : provider;
}

const char *program_podman_default(void)
{
    return strcmp(platform_name, "darwin") == 0 ? "libkrun" : "qemu";
}
