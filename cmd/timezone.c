// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/timezone.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static bool is_zone_name(const char *name)
{
    if (!isalpha((unsigned char)name[0]) || strstr(name, "..") || strlen(name) > 100)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_+-/", *name))
            return false;
    return true;
}

static char *zone_of_host(void)
{
    char target[PATH_MAX];
    const char *variable = getenv("TZ");
    if (variable && *variable) {
        // ":Europe/Berlin" is the same as without the colon; a path or a POSIX rule is no name.
        const char *name = variable[0] == ':' ? variable + 1 : variable;
        return is_zone_name(name) ? xstrdup(name) : NULL;
    }
    ssize_t length = readlink("/etc/localtime", target, sizeof(target) - 1);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    const char *name = strstr(target, "zoneinfo/");
    if (!name || !is_zone_name(name + strlen("zoneinfo/")))
        return NULL;
    return xstrdup(name + strlen("zoneinfo/"));
}

int timezone_resolve(char **zone, const char *value, struct error *err)
{
    if (strcmp(value, "local") == 0) {
        *zone = zone_of_host();
        return 0;
    }
    if (!is_zone_name(value))
        return error_set(err, EINVAL,
                         "invalid timezone \"%s\": use a name such as \"Europe/Berlin\", or "
                         "\"local\"",
                         value);
    *zone = xstrdup(value);
    return 0;
}
