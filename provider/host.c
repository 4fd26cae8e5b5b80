// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

static bool pretended(unsigned *major, unsigned *minor)
{
    const char *text = getenv("PODMAN_MACHINE_VMNET_MACOS");
    *minor = 0;
    return text && sscanf(text, "%u.%u", major, minor) >= 1;
}

bool host_is_pretended(void)
{
    unsigned major, minor;
    return pretended(&major, &minor);
}

bool host_is_macos(void)
{
    return host_is_pretended() || strcmp(platform_name, "darwin") == 0;
}

void host_macos_version(unsigned *major, unsigned *minor)
{
    if (!pretended(major, minor))
        platform_os_version(major, minor);
}
