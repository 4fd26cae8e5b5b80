// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_SSH_H
#define PROVIDER_SSH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strvec.h"

// Our own connections to the guest (libssh2), for waiting and for commands; interactive
// sessions are OpenSSH's business (ssh_client_argv).

struct ssh_target {
    const char *host; // address
    unsigned port;
    const char *user;
    const char *identity; // private key file
    const char *host_key; // the pinned public host key: "ssh-ed25519 AAAA…"
    int64_t timeout_ms;   // for every step of the connection
};

struct ssh_session; // opaque: socket, libssh2 session

// Connects, proves the host key, logs in. Codes: ECONNREFUSED, EHOSTUNREACH (with the macOS 15
// Local Network hint), ETIMEDOUT, ECONNRESET: nothing there yet, try again; EPERM: somebody
// else's host key (never retried); EACCES: our key was refused (try again: accounts may still
// be being made); EPROTO: the peer is not SSH or ended the handshake.
int ssh_open(struct ssh_session **session, const struct ssh_target *target, struct error *err);
void ssh_free(struct ssh_session *session);

// Runs one command line in the guest's login shell. `out` (may be NULL) is replaced by its
// stdout; `status` is its exit status, 128+n for signal n. An error is one of the connection only.
int ssh_run(struct ssh_session *session, const char *command, struct strbuf *out, int *status,
            struct error *err);

// `GET /_ping` over a direct-streamlocal@openssh.com channel to a unix socket in the guest:
// what podman clients do. 0 when it answered 200. EACCES: sshd refused the channel ("open
// failed": SELinux, or no such socket); EPROTO: something else answered.
int ssh_ping_socket(struct ssh_session *session, const char *socket_path, struct error *err);

// A new ed25519 key pair at `path` and `path`.pub by ssh-keygen, 0600, no passphrase, replacing
// nothing: an existing pair is kept.
int ssh_key_create(const char *path, const char *comment, struct error *err);

// The public line of a private key file: `path`.pub, or asked of ssh-keygen. Trimmed; the
// caller frees. EACCES with what to do if the key file is readable by others or encrypted.
int ssh_key_public(char **line, const char *path, struct error *err);

// The ssh program's words for the machine, up to and with the destination: pinned host key
// (known_hosts file given), our identity only, no user configuration.
void ssh_client_argv(struct strvec *argv, const struct ssh_target *target, const char *known_hosts);

#endif
