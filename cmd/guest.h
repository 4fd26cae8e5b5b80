// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_GUEST_H
#define CMD_GUEST_H

#include "base/strvec.h"
#include "provider/machine.h"

// Where the guest's sshd answers: as the monitor proved it, else as the network says. ENOTCONN with
// podman's text for a machine that is not running. The caller frees.
int guest_find(const struct machine *m, char **host, unsigned *port, struct error *err);

// The ssh program's words for logging in to a running machine as `user` (NULL: root if it is
// rootful, else its user).
int guest_ssh_words(struct strvec *words, const struct machine *m, const char *user,
                    struct error *err);

#endif
