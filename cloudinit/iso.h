// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_ISO_H
#define CLOUDINIT_ISO_H

#endif
