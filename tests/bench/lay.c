// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// lay RAW DISK: lays a disk of 100 GiB down as `init` does, and prints how long that took and
// whether it was a clone.

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/platform.h"
#include "image/image.h"

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    struct error err;
    if (argc != 3)
        return 2;
    cleanup_free char *clone = xasprintf("%s.clone", argv[2]);
    bool cloned = platform_clone_file(argv[1], clone, &err) == 0;
    unlink(clone);
    double begun = now_ms();
    if (image_install(argv[1], argv[2], UINT64_C(100) << 30, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("{\"ms\": %.2f, \"cloned\": %s}\n", now_ms() - begun, cloned ? "true" : "false");
    return 0;
}
