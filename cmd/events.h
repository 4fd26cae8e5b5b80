// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_EVENTS_H
#define CMD_EVENTS_H

// Tells whoever listens on podman's machine event sockets (contract 0.6) what was done: "init",
// "start", "stop", "remove", "copy". Nobody listening is no error.
void events_publish(const char *machine, const char *status);

#endif
