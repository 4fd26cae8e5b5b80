// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/foreign.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"

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
    if (foreign->import_native_ca.given && foreign->import_native_ca.value)
        return error_set(
            err, ENOTSUP,
            "--import-native-ca is not supported: copy the certificates to the "
            "machine's /etc/pki/ca-trust/source/anchors and run update-ca-trust there");
    if (foreign->playbook && access(foreign->playbook, R_OK) < 0)
        return error_set(err, errno, "open %s: %s", foreign->playbook,
                         errno == ENOENT ? "no such file or directory" : "permission denied");
    return 0;
}

void foreign_tell(const struct foreign *foreign)
{
    if (foreign->playbook) // Podman Desktop always gives one, to set registries up
        log_warn("the playbook '%s' is not run in the machine yet", foreign->playbook);
}
