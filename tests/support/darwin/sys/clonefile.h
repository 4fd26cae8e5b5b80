// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_DARWIN_SYS_CLONEFILE_H
#define TESTS_DARWIN_SYS_CLONEFILE_H

#include <stdint.h>

#define CLONE_NOFOLLOW 0x0001
#define CLONE_NOOWNERCOPY 0x0002

int clonefile(const char *src, const char *dst, uint32_t flags);

#endif
