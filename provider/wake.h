// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_WAKE_H
#define PROVIDER_WAKE_H

#include "base/error.h"

// The monitor's signals as bytes that its loop reads: SIGCHLD, SIGINT and what supervisor.h says.
// Both ends are non-blocking and close-on-exec. The caller closes; once per process.
int wake_open(int *read_end, struct error *err);

#endif
