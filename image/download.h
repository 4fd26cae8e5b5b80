// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_DOWNLOAD_H
#define IMAGE_DOWNLOAD_H

#endif
