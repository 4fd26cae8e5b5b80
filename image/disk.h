// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_DISK_H
#define IMAGE_DISK_H

#include "image/image.h"

// disk.c implements image_install(); image/image.h is its contract.

#endif
