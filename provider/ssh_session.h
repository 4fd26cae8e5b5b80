// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_SSH_SESSION_H
#define PROVIDER_SSH_SESSION_H

#include <libssh2.h>
#include <stdint.h>

#include "base/error.h"

// What ssh.c, which makes sessions, and ssh_channel.c, which uses them, share. For these two
// files only.

struct ssh_session {
    int fd;
    LIBSSH2_SESSION *library;
    char *where; // "'192.168.64.5' port 22", for messages
    int64_t timeout_ms, deadline_ms;
};

// Starts the clock for one call from outside.
void ssh_session_begin(struct ssh_session *session);

// Waits until the library can go on after LIBSSH2_ERROR_EAGAIN. ETIMEDOUT, EINTR. `what`
// completes "cannot ... WHERE": "log in to".
int ssh_session_wait(struct ssh_session *session, const char *what, struct error *err);

// Our error for the library's: ECONNRESET when the peer went away, ETIMEDOUT, else EPROTO.
int ssh_session_fail(struct ssh_session *session, const char *what, struct error *err);

#endif
