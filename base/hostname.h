// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_HOSTNAME_H
#define BASE_HOSTNAME_H

// A host name made of any name: what it may not hold becomes '-'; at most 63 characters, none of
// the dashes at an end. The caller frees.
char *hostname_of(const char *name);

#endif
