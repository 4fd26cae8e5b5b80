// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_INFLATE_H
#define IMAGE_INFLATE_H

#endif
