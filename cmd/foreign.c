// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/foreign.h"

#include <errno.h>

void foreign_release(struct foreign *foreign)
{
    strvec_release(&foreign->usb);
}

int foreign_check(const struct foreign *foreign, const char *provider, struct error *err)
{
    if (foreign->usb.count)
        return error_set(err, ENOTSUP, "USB host passthrough not supported for %s machines",
                         provider);
    if (foreign->ignition_path)
        return error_set(err, ENOTSUP,
                         "--ignition-path is not supported: the guest is a cloud image, which "
                         "cloud-init sets up and not Ignition");
    return 0;
}
