// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_FOREIGN_H
#define CMD_FOREIGN_H

#include "cmd/options.h"

// Options of podman's init for what a machine of ours has not, or not yet.
struct foreign {
    const char *volume_driver, *ignition_path;
    struct option_bool user_mode_networking, tls_verify, reexec;
    struct strvec usb;
};

void foreign_release(struct foreign *foreign);

// Refuses what was asked for and cannot be had.
int foreign_check(const struct foreign *foreign, const char *provider, struct error *err);

#endif
