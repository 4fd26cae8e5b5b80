// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_VOLUME_H
#define CMD_VOLUME_H

#include "base/error.h"
#include "base/strvec.h"

// Reads init's `--volume SOURCE[:TARGET[:OPTIONS]]` words as podman does: $NAME and ${NAME} stand
// for variables of the environment, a word without a target uses the source as one, an option that
// is not known is told on stdout and passed over. An empty word is none. EINVAL with podman's text
// for a target that a guest cannot do without.
int volumes_check(const struct strvec *words, struct error *err);

#endif
