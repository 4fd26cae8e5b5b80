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
    const char *host; // address; a name is looked up first, for which no time limit holds
    unsigned port;
    const char *user;
    const char *identity; // private key file
    const char *host_key; // the pinned public host key: "ssh-ed25519 AAAA…"
    int64_t timeout_ms;   // for each call below as a whole, all its steps together
};

struct ssh_session; // opaque: socket, libssh2 session

// Every call on a session can also fail with ETIMEDOUT, ECONNRESET (the guest went away), EINTR
// (a signal handler ran) and EPROTO. After any of these, only ssh_free() is left to do.

// Connects, proves the host key, logs in. Codes: ECONNREFUSED, EHOSTUNREACH (with the macOS 15
// Local Network hint), ETIMEDOUT, ECONNRESET (also: sshd turned us away for now): nothing there
// yet, try again; EPERM: somebody else's host key (a guest whose first boot has yet to put it in
// place can still come right); EACCES: our key was refused (try again: accounts may still be being
// made, but slowly: sshd 9.8 and later punishes repeated failures); ENOENT, EINVAL: the identity
// cannot be read or used, or the target makes no sense; EPROTO: the peer is not SSH.
int ssh_open(struct ssh_session **session, const struct ssh_target *target, struct error *err);
void ssh_free(struct ssh_session *session); // NULL is nothing to free

// Another time limit for the calls to come: a command may take longer than a connection.
void ssh_set_timeout(struct ssh_session *session, int64_t timeout_ms);

// Runs one command line in the guest's login shell, with nothing on its stdin. `out` (may be
// NULL) is replaced by its stdout; its stderr goes to the debug log. `status` is its exit status,
// 128+n for signal n. An error is one of the connection only; EFBIG: stdout above 1 MiB.
int ssh_run(struct ssh_session *session, const char *command, struct strbuf *out, int *status,
            struct error *err);

// The same, with `length` bytes on its stdin. What the command prints before it has read them all
// must be short.
int ssh_feed(struct ssh_session *session, const char *command, const void *input, size_t length,
             struct strbuf *out, int *status, struct error *err);

// `GET /_ping` over a direct-streamlocal@openssh.com channel to a unix socket in the guest:
// what podman clients do. 0 when it answered 200. EACCES: sshd refused the channel ("open
// failed": SELinux, or no such socket); EBADMSG: something else answered, or nothing did. The
// session is good for more calls after these two.
int ssh_ping_socket(struct ssh_session *session, const char *socket_path, struct error *err);

// A new ed25519 key pair at `path` and `path`.pub by ssh-keygen, 0600 and 0644, no passphrase.
// An existing private key is kept; a missing public one is made again from it.
int ssh_key_create(const char *path, const char *comment, struct error *err);

// The public line of a private key file, asked of ssh-keygen (a stale `path`.pub cannot mislead).
// Trimmed; the caller frees. ENOENT; EACCES with what to do if the key file is readable by others
// or encrypted.
int ssh_key_public(char **line, const char *path, struct error *err);

// The ssh program's words for the machine, up to and with the destination: pinned host key
// (known_hosts file given), our identity only, no user configuration. `known_hosts` is a file of
// the machine's own, as ssh_write_known_hosts() makes it: it names the guest by an alias, and so
// holds for every address and port that the machine ever has.
void ssh_client_argv(struct strvec *argv, const struct ssh_target *target, const char *known_hosts);
int ssh_write_known_hosts(const char *known_hosts, const char *host_key, struct error *err);

#endif
