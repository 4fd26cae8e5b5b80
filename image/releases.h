// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef IMAGE_RELEASES_H
#define IMAGE_RELEASES_H

#include "base/error.h"
#include "image/image.h"

// The newest Fedora cloud image for `arch`, from Fedora's own list: the Generic one of the
// highest version that is a number ("46 Beta" is none), with its digest and size. The list is
// read over https and never by a redirect to http, since its digests are what is trusted.
// $PODMAN_MACHINE_VMNET_RELEASES is another address of such a list.
int releases_latest(struct image_ref *ref, const char *arch, struct error *err);

// The same from the text of a list, which `name` is called in messages. ENOENT: nothing fits.
int releases_choose(struct image_ref *ref, const char *text, size_t length, const char *arch,
                    const char *name, struct error *err);

#endif
