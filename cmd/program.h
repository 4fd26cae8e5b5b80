// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_PROGRAM_H
#define CMD_PROGRAM_H

#include <stdbool.h>

// What is known of the program itself. It is two executables: the one with everything in it, and
// `podman`, a small one that stands before the real podman and has to cost next to nothing; half
// of the time that the large one takes to say its version goes into finding its libraries.

// Their absolute paths, if they are where they should be. The caller frees; NULL: not there.
char *program_full(void);
char *program_front(void);

// True if argv[0] is podman, in whatever folder.
bool program_is_podman(const char *argv0);

// Which of the two knows a provider of this name, on this system. Both can: `qemu` on Linux.
bool program_has_provider(const char *name);
bool program_podman_has_provider(const char *name);

// What tools are told that a machine of this provider is (VMType). They decide by it: ramalama
// passes a GPU on when it reads "krun", Podman Desktop knows podman's names only. So a row is
// called after the podman provider that has the same hypervisor; `inspect` tells our own name.
const char *program_vm_type(const char *provider);

// The provider that podman takes when nobody names one.
const char *program_podman_default(void);

#endif
