// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_IDENTITY_H
#define CMD_IDENTITY_H

#include "base/strbuf.h"
#include "provider/machine.h"
#include "provider/provider.h"

// An Ansible playbook that the guest is to run at its first boot: text of at most 1 MiB. ENOENT and
// EACCES in podman's words; EINVAL. The machine keeps a copy, for its seed.
int identity_read_playbook(struct strbuf *text, const char *source, struct error *err);
int identity_keep_playbook(const struct machine *m, const struct strbuf *text, struct error *err);

// What makes a new guest this machine's: the keys of both sides, and the seed that carries them.
int identity_make_keys(const struct machine *m, const struct provider *provider, struct error *err);
int identity_write_seed(const struct machine *m, const struct provider *provider,
                        struct error *err);

#endif
