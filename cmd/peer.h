// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_PEER_H
#define CMD_PEER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"

// The podman that would have been called if we did not stand before it on PATH.

// Its absolute path: $PODMAN_MACHINE_VMNET_PODMAN, else the first `podman` on PATH, and then where
// its packages put it, that is not one of our programs (told by the file, not by the name). The
// caller frees; NULL: there is none.
char *peer_find(void);

// Whether podman itself has a machine of this name, told by its record on the disk: no podman is
// run for it. `provider` (may be NULL) gets whose it is; the caller frees.
bool peer_has_machine(const char *name, char **provider);
void peer_machine_names(struct strvec *names);

// Takes a provider that only we know out of the environment; `configured` is containers.conf's,
// which an empty variable hides from podman.
void peer_clean_environment(const char *configured);

// Becomes `path` with these arguments. ELOOP: it has led back to us several times already.
int peer_become(const char *path, char **arguments, struct error *err);

// Verbs that tell of all machines ask podman too, but only when we were called in its place.
extern bool peer_is_asked;

// `podman machine WORDS...` as JSON, within 10 seconds. What it said on stderr is passed on.
// ENOENT: there is none, or it is not asked.
int peer_ask(json_t **answer, const char *const *words, struct error *err);

// Logs that its machines are missing from what is shown. Not having one is nothing to tell.
void peer_report(const struct error *err);

#endif
