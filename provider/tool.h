// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_TOOL_H
#define PROVIDER_TOOL_H

#include "base/error.h"

// The absolute path of the first of `names` (up to NULL) that is installed, in the platform's
// folders and then $PATH. ENOENT lists the places searched and ends in `install`, which says how
// to get it. The caller frees.
int tool_find(char **path, const char *const *names, const char *install, struct error *err);

// A machine's folder as an option parser can read it. krunkit and vfkit split their options at
// ',' (krunkit at '=' too, vfkit minds '"'), and nothing escapes that: where the path has one of
// the bytes `unspeakable`, `spoken` is a symbolic link to it in a folder that only we can
// write, made by this call. EINVAL when there is no clean place for a link. The caller frees.
int tool_folder(char **spoken, const char *folder, const char *machine, const char *unspeakable,
                struct error *err);

// Removes the links that tool_folder() has made for the machine.
void tool_forget_folders(const char *machine);

#endif
