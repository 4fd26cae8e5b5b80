// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/supervisor.h"

#include <stdlib.h>
#include <string.h>

#include "provider/host.h"

const struct supervisor *supervisor_for(const struct machine *m)
{
    (void)m;
    const char *wanted = getenv("PODMAN_MACHINE_VMNET_SUPERVISOR");
    if (wanted && strcmp(wanted, supervisor_launchd.name) == 0)
        return &supervisor_launchd;
    if (wanted && strcmp(wanted, supervisor_process.name) == 0)
        return &supervisor_process;
    return host_is_macos() ? &supervisor_launchd : &supervisor_process;
}
