// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/resources.h"

#include <errno.h>
#include <inttypes.h>

#include "base/platform.h"

// A file system's largest file is smaller, but not by much: 8 EiB would overflow off_t.
static const uint64_t largest_disk_gib = 1 << 30;

int resources_check_cpus(uint64_t cpus, struct error *err)
{
    if (cpus <= platform_cpu_count())
        return 0;
    return error_set(err, EINVAL,
                     "requested number of CPUs (%" PRIu64 ") greater than number of host CPUs (%u)",
                     cpus, platform_cpu_count());
}

int resources_check_memory(uint64_t mib, struct error *err)
{
    uint64_t host_mib = platform_memory_bytes() >> 20;
    if (mib <= host_mib)
        return 0;
    return error_set(err, EINVAL,
                     "requested amount of memory (%" PRIu64
                     " MB) greater than total system memory (%" PRIu64 " MB)",
                     mib, host_mib);
}

int resources_check_disk(uint64_t gib, struct error *err)
{
    if (gib <= largest_disk_gib)
        return 0;
    return error_set(err, EINVAL, "requested disk size (%" PRIu64 " GB) is too large", gib);
}
