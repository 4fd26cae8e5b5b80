// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_NATIVE_CA_H
#define CMD_NATIVE_CA_H

#include "provider/machine.h"

// --import-native-ca: puts this host's trusted CA certificates (provider/trust.h) in place of those
// that an earlier start has put into the running guest's trust store.
int native_ca_import(const struct machine *m, struct error *err);

// The shell commands by which root of the guest takes them from its stdin; none: removes them. The
// store is made anew only if they have changed. /etc/pki/ca-trust/source/anchors/host-ca-certs.pem,
// as podman calls it, and where there is no update-ca-trust, Debian's folder.
extern const char native_ca_script[];

#endif
