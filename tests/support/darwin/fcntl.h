// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_DARWIN_FCNTL_H
#define TESTS_DARWIN_FCNTL_H

// For base/platform_darwin.c on Linux: the system's, and what macOS has besides. The functions
// in this folder are the test's own.
#include_next <fcntl.h>

#define F_FULLFSYNC 51
#define fcntl fake_fcntl

int fake_fcntl(int fd, int command, ...);

#endif
