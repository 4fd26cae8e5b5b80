// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_NAMESERVERS_H
#define CMD_NAMESERVERS_H

#include "base/strbuf.h"
#include "provider/machine.h"

// Appends what gives a guest that has had its first boot the machine's DNS servers, for good, to
// a script for its root's shell: as the seed does, before those that DHCP tells of. It is for
// what runs the networks of Fedora (NetworkManager) and Debian (systemd-networkd); where there is
// neither, or where it fails, `dns` is set to NAMESERVERS_FAILED, with the reason on stdout.
void nameservers_add(struct strbuf *script, const struct machine *m);

#define NAMESERVERS_FAILED 75

#endif
