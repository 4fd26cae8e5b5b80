// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_VOLUME_H
#define CMD_VOLUME_H

#include "base/error.h"
#include "base/strvec.h"
#include "cmd/config.h"
#include "provider/machine.h"

// The `--volume` words where none are given: of containers.conf, else podman's defaults
// (common/pkg/config/default.go, 6.0): the system's folders, and the user's configuration of
// containers, which a guest then has in common with its host.
void volumes_default(struct strvec *words, const struct config *config);

// Reads init's `--volume SOURCE[:TARGET[:OPTIONS]]` words as podman does: $NAME and ${NAME} stand
// for variables of the environment, a word without a target uses the source as one, an option that
// is not known is told on stdout and passed over, an empty word is none. A relative source is of
// the current folder. EINVAL, with podman's text, for a target that a guest cannot do without; also
// for a target that is the home of `user` in the guest, is not absolute, or is there twice. Of
// podman's defaults, such ones are left out, with a warning.
int volumes_read(struct mounts *mounts, const struct strvec *words, const char *user,
                 struct error *err);

// Makes the folder of that configuration, which may not be there yet, if it is to be shared.
int volumes_prepare(const struct mounts *mounts, struct error *err);

#endif
