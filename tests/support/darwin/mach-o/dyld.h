// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_DARWIN_MACH_O_DYLD_H
#define TESTS_DARWIN_MACH_O_DYLD_H

#include <stdint.h>

int _NSGetExecutablePath(char *buf, uint32_t *bufsize);

#endif
