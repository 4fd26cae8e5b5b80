// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_CONVERT_H
#define IMAGE_CONVERT_H

#endif
