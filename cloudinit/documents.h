// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_DOCUMENTS_H
#define CLOUDINIT_DOCUMENTS_H

#endif
