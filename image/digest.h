// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_DIGEST_H
#define IMAGE_DIGEST_H

#endif
