// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_CONTROL_H
#define PROVIDER_CONTROL_H

#include "base/error.h"

// The hypervisor's control socket: REST for krunkit and vfkit, QMP for qemu. Every call ends
// within 5 s. ENOENT or ECONNREFUSED: nobody listens there; ETIMEDOUT; EPROTO: something answered
// that is not the hypervisor, or it said no.

// Before the VM starts: the path fits a socket address (ENAMETOOLONG), and no socket of a dead VM
// is in the way, over which vfkit would not start. A live one is EBUSY.
int control_prepare(const char *path, struct error *err);

// POST /vm/state {"state": STATE}.
int control_rest(const char *path, const char *state, struct error *err);

// `GET /_ping` of podman's API at a unix socket of this host. 0 when it answered 200.
int control_ping(const char *path, struct error *err);

// The guest's own way to be shut down (guest.h, GUEST_VSOCK_CONTROL): 0 when it said that it will.
// Takes a connection to it; `name` is for messages.
int control_shutdown(int fd, const char *name, struct error *err);

// Runs one QMP command without arguments.
int control_qmp(const char *path, const char *command, struct error *err);

#endif
