// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/platform.h"
#include "provider/host.h"
#include "provider/ssh_session.h"

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_start(void)
{
    libssh2_init(0);
}

void ssh_session_begin(struct ssh_session *session)
{
    session->deadline_ms = clock_monotonic_ms() + session->timeout_ms;
}

void ssh_set_timeout(struct ssh_session *session, int64_t timeout_ms)
{
    session->timeout_ms = timeout_ms;
}

static int wait_for(struct ssh_session *session, short events, const char *what, struct error *err)
{
    int64_t left = session->deadline_ms - clock_monotonic_ms();
    struct pollfd ready = {.fd = session->fd, .events = events};
    int n = poll(&ready, 1, left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left);
    if (n < 0)
        return error_errno(err, "cannot %s %s", what, session->where);
    if (n == 0)
        return error_set(err, ETIMEDOUT, "cannot %s %s: no answer within %.3g s", what,
                         session->where, (double)session->timeout_ms / 1000);
    return 0;
}

int ssh_session_wait(struct ssh_session *session, const char *what, struct error *err)
{
    int directions = libssh2_session_block_directions(session->library);
    short events = 0;
    if (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND)
        events |= POLLOUT;
    if (directions & LIBSSH2_SESSION_BLOCK_INBOUND || !events)
        events |= POLLIN;
    return wait_for(session, events, what, err);
}

// The library does not always tell that the peer went away in the middle of something.
static bool peer_is_gone(struct ssh_session *session)
{
    char byte;
    ssize_t n = recv(session->fd, &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

int ssh_session_fail(struct ssh_session *session, const char *what, struct error *err)
{
    char *text = NULL;
    int code = EPROTO;
    switch (libssh2_session_last_error(session->library, &text, NULL, 0)) {
    case LIBSSH2_ERROR_SOCKET_DISCONNECT:
    case LIBSSH2_ERROR_SOCKET_RECV:
    case LIBSSH2_ERROR_SOCKET_SEND:
    case LIBSSH2_ERROR_BANNER_RECV:
    case LIBSSH2_ERROR_BANNER_SEND:
    case LIBSSH2_ERROR_CHANNEL_CLOSED:
        code = ECONNRESET;
        break;
    case LIBSSH2_ERROR_TIMEOUT:
    case LIBSSH2_ERROR_SOCKET_TIMEOUT:
        code = ETIMEDOUT;
        break;
    }
    if (code == EPROTO && peer_is_gone(session))
        code = ECONNRESET;
    return error_set(err, code, "cannot %s %s: %s", what, session->where,
                     text ? text : "unknown error");
}

static int connect_error(struct ssh_session *session, int code, struct error *err)
{
    errno = code;
    error_errno(err, "cannot connect to %s", session->where);
    if (code != EHOSTUNREACH && code != ENETUNREACH && code != EHOSTDOWN && code != ENETDOWN)
        return -1;
    err->code = EHOSTUNREACH;
    if (host_is_macos())
        error_append(err, " (since macOS 15 this is also what a program sees that may not use the "
                          "local network: allow the terminal or application this was started from "
                          "in System Settings > Privacy & Security > Local Network)");
    return -1;
}

static int connect_to(struct ssh_session *session, const struct addrinfo *address,
                      struct error *err)
{
    cleanup_close int fd = socket(address->ai_family, SOCK_STREAM, 0);
    if (fd < 0)
        return connect_error(session, errno, err);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
#ifdef SO_NOSIGPIPE
    // Where send() knows no MSG_NOSIGNAL, a guest that goes away must not kill us either.
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
    session->fd = fd; // what wait_for() looks at
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        if (errno != EINPROGRESS)
            return connect_error(session, errno, err);
        if (wait_for(session, POLLOUT, "connect to", err) < 0)
            return -1;
        int code = 0;
        socklen_t size = sizeof(code);
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 || code != 0)
            return connect_error(session, code ? code : errno, err);
    }
    steal_fd(&fd);
    return 0;
}

static int connect_socket(struct ssh_session *session, const struct ssh_target *target,
                          struct error *err)
{
    char port[16];
    snprintf(port, sizeof(port), "%u", target->port);
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses = NULL;
    int failed = getaddrinfo(target->host, port, &wanted, &addresses);
    if (failed)
        return error_set(err, EHOSTUNREACH, "cannot look up '%s': %s", target->host,
                         gai_strerror(failed));

    int result = -1;
    for (struct addrinfo *at = addresses; at && result < 0; at = at->ai_next) {
        result = connect_to(session, at, err);
        if (result < 0)
            session->fd = -1;
        if (result < 0 && err->code == EINTR)
            break;
    }
    freeaddrinfo(addresses);
    return result;
}

// A server speaks first. Looking at that before the library does tells a port where nobody
// is home yet (qemu's forwarder accepts for a guest that does not) from one that is not SSH.
static int hear_greeting(struct ssh_session *session, struct error *err)
{
    static const char *const for_now[] = {"Exceeded MaxStartups", "Not allowed at this time"};
    static const char what[] = "begin ssh with";
    if (wait_for(session, POLLIN, what, err) < 0)
        return -1;
    char said[128];
    ssize_t n = recv(session->fd, said, sizeof(said) - 1, MSG_PEEK);
    if (n < 0)
        return error_errno(err, "cannot %s %s", what, session->where);
    if (n == 0)
        return error_set(err, ECONNRESET, "cannot %s %s: it closed the connection", what,
                         session->where);
    said[n] = '\0';
    if (strncmp(said, "SSH-", n < 4 ? (size_t)n : 4) == 0)
        return 0;
    said[strcspn(said, "\r\n")] = '\0';
    for (char *at = said; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    for (size_t i = 0; i < ARRAY_SIZE(for_now); i++)
        if (strcmp(said, for_now[i]) == 0)
            return error_set(err, ECONNRESET, "cannot %s %s: it says '%s'", what, session->where,
                             said);
    return error_set(err, EPROTO, "cannot %s %s: it is no SSH server, it says '%s'", what,
                     session->where, said);
}

// Splits "TYPE BASE64 ..." of a public key line.
static bool split_key(const char *line, char **type, char **blob)
{
    size_t type_length = strcspn(line, " \t");
    const char *second = line + type_length + strspn(line + type_length, " \t");
    size_t blob_length = strcspn(second, " \t\r\n");
    if (type_length == 0 || blob_length == 0)
        return false;
    *type = xstrndup(line, type_length);
    *blob = xstrndup(second, blob_length);
    return true;
}

static int check_host_key(struct ssh_session *session, const char *pinned, struct error *err)
{
    size_t length = 0;
    int type;
    const char *key = libssh2_session_hostkey(session->library, &length, &type);
    if (!key || length > 65536)
        return ssh_session_fail(session, "get the host key of", err);
    cleanup_free char *text = xmalloc(length * 2 + 8);
    EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)key, (int)length);
    if (strcmp(text, pinned) != 0)
        return error_set(err, EPERM,
                         "%s answers with another host key than this machine's: it is "
                         "another host",
                         session->where);
    return 0;
}

static int handshake(struct ssh_session *session, const char *host_key, struct error *err)
{
    static const char what[] = "begin ssh with";
    cleanup_free char *type = NULL, *pinned = NULL;
    if (!split_key(host_key, &type, &pinned))
        return error_set(err, EINVAL, "'%s' is not a public host key", host_key);

    // A guest may have keys of other types too: it must answer with the one that we know.
    const char *methods = strcmp(type, "ssh-rsa") == 0 ? "rsa-sha2-512,rsa-sha2-256,ssh-rsa" : type;
    if (libssh2_session_method_pref(session->library, LIBSSH2_METHOD_HOSTKEY, methods) < 0)
        return error_set(err, EINVAL, "host keys of type '%s' are not supported", type);

    int rc;
    while ((rc = libssh2_session_handshake(session->library, session->fd)) == LIBSSH2_ERROR_EAGAIN)
        if (ssh_session_wait(session, what, err) < 0)
            return -1;
    if (rc == LIBSSH2_ERROR_KEX_FAILURE &&
        !libssh2_session_methods(session->library, LIBSSH2_METHOD_HOSTKEY))
        return error_set(err, EPERM,
                         "%s has no host key of type '%s': it is another host than this "
                         "machine",
                         session->where, type);
    if (rc < 0)
        return ssh_session_fail(session, what, err);
    return check_host_key(session, pinned, err);
}

static int log_in(struct ssh_session *session, const struct ssh_target *target, struct error *err)
{
    static const char what[] = "log in to";
    if (access(target->identity, R_OK) < 0) {
        error_errno(err, "cannot read identity '%s'", target->identity);
        err->code = err->code == ENOENT ? ENOENT : EINVAL; // EACCES would mean: try again
        return -1;
    }
    int rc;
    while ((rc = libssh2_userauth_publickey_fromfile_ex(
                session->library, target->user, (unsigned)strlen(target->user), NULL,
                target->identity, NULL)) == LIBSSH2_ERROR_EAGAIN)
        if (ssh_session_wait(session, what, err) < 0)
            return -1;
    switch (rc) {
    case 0:
        return 0;
    case LIBSSH2_ERROR_AUTHENTICATION_FAILED:
    case LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED:
        return error_set(err, EACCES, "cannot log in to %s: user '%s' with key '%s' was refused",
                         session->where, target->user, target->identity);
    case LIBSSH2_ERROR_FILE:
    case LIBSSH2_ERROR_KEYFILE_AUTH_FAILED:
        return error_set(err, EINVAL, "cannot use identity '%s': encrypted, or not a private key",
                         target->identity);
    }
    return ssh_session_fail(session, what, err);
}

static void session_cleanup(struct ssh_session **session)
{
    ssh_free(*session);
}

int ssh_open(struct ssh_session **session, const struct ssh_target *target, struct error *err)
{
    pthread_once(&library_once, library_start);

    CLEANUP(session_cleanup) struct ssh_session *opened = xcalloc(1, sizeof(*opened));
    opened->fd = -1;
    opened->timeout_ms = target->timeout_ms;
    opened->where = xasprintf("'%s' port %u", target->host, target->port);
    ssh_session_begin(opened);
    if (connect_socket(opened, target, err) < 0 || hear_greeting(opened, err) < 0)
        return -1;
    opened->library = libssh2_session_init_ex(NULL, NULL, NULL, NULL);
    if (!opened->library)
        return error_set(err, ENOMEM, "cannot make an ssh session");
    libssh2_session_set_blocking(opened->library, 0);
    if (handshake(opened, target->host_key, err) < 0 || log_in(opened, target, err) < 0)
        return -1;
    *session = opened;
    opened = NULL;
    return 0;
}

void ssh_free(struct ssh_session *session)
{
    if (!session)
        return;
    if (session->library) {
        // One try to say goodbye; then a closed socket makes sure that freeing never waits.
        libssh2_session_disconnect(session->library, "");
        shutdown(session->fd, SHUT_RDWR);
        for (int tries = 0; tries < 1000; tries++)
            if (libssh2_session_free(session->library) != LIBSSH2_ERROR_EAGAIN)
                break;
    }
    if (session->fd >= 0)
        close(session->fd);
    free(session->where);
    free(session);
}
