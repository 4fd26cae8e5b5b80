// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_QCOW2_H
#define IMAGE_QCOW2_H

#endif
