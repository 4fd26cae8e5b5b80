// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "provider/guest_session.h"

// A lease may be of an earlier run: a place where nobody is costs no more than this.
static const int connect_ms = 2000;

// What the ways that failed have said.
struct attempts {
    struct strvec places; // "HOST PORT"
    unsigned count;
    struct error first;
    struct strbuf words;
    int code;
};

static void attempts_release(struct attempts *attempts)
{
    strvec_release(&attempts->places);
    strbuf_release(&attempts->words);
}

// How far an attempt came: a refused login says more than a silent address.
static int rank(int code)
{
    return code == EACCES ? 3 : code == EPERM ? 2 : code == ENOENT ? 0 : 1;
}

static void note(struct attempts *attempts, const struct way *way, const struct error *err)
{
    if (attempts->count++ == 0)
        attempts->first = *err;
    if (attempts->count == 1 || rank(err->code) > rank(attempts->code))
        attempts->code = err->code;
    strbuf_addf(&attempts->words, "%s%s: %s", attempts->count > 1 ? "; " : "", way->name,
                err->message);
}

static int conclude(const struct attempts *attempts, struct error *err)
{
    if (attempts->count == 1)
        *err = attempts->first;
    else
        error_set(err, attempts->code ? attempts->code : ENOENT, "no way leads to the guest (%s)",
                  attempts->words.text);
    return -1;
}

static int wait_connected(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    int reason = 0;
    socklen_t size = sizeof(reason);
    int ready = poll(&wanted, 1, connect_ms);
    if (ready == 0)
        errno = ETIMEDOUT;
    if (ready <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) < 0)
        return -1;
    errno = reason;
    return reason ? -1 : 0;
}

static int connect_tcp(int *fd, const char *host, unsigned port, struct error *err)
{
    const struct addrinfo hints = {
        .ai_flags = AI_NUMERICHOST, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    cleanup_free char *service = xasprintf("%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return error_set(err, EINVAL, "'%s' is not an address", host);
    cleanup_close int sock = socket(found->ai_family, SOCK_STREAM, 0);
    int result = -1;
    if (sock >= 0) {
        fcntl(sock, F_SETFD, FD_CLOEXEC);
        fcntl(sock, F_SETFL, O_NONBLOCK);
        result = connect(sock, found->ai_addr, found->ai_addrlen);
        if (result < 0 && errno == EINPROGRESS)
            result = wait_connected(sock);
    }
    int reason = errno;
    freeaddrinfo(found);
    errno = reason;
    if (result < 0)
        return error_errno(err, "cannot connect to '%s' port %u", host, port);
    fcntl(sock, F_SETFL, 0);
    *fd = steal_fd(&sock);
    return 0;
}

static int try_way(const struct way *way, struct attempts *attempts, struct ssh_session **session,
                   const struct machine *m, const char *user, int64_t timeout_ms, char **host,
                   unsigned *port, struct error *err)
{
    cleanup_free char *found = NULL;
    unsigned at;
    if (way->find(m, &found, &at, err) < 0)
        return -1;
    cleanup_free char *place = xasprintf("%s %u", found, at);
    if (strvec_contains(&attempts->places, place))
        return error_set(err, ENOENT, "the same address, %s", found);
    strvec_push(&attempts->places, place);
    if (!way->local) {
        cleanup_close int fd = -1;
        if (connect_tcp(&fd, found, at, err) < 0 && err->code != EHOSTUNREACH)
            return -1; // ssh_open() has more to say of the other
    }
    if (guest_open(session, m, found, at, user, timeout_ms, err) < 0)
        return error_prefix(err, "ssh error");
    *host = steal_string(&found);
    *port = at;
    return 0;
}

// The guest may have come up between a port of this host and an address: then the port leads there
// too by now. It is what others are told, and works where no address does (Local Network privacy,
// VPNs), so it is worth a second look.
static void prefer_local(struct ssh_session **session, const struct machine *m,
                         const struct provider *provider, const char *user, int64_t timeout_ms,
                         char **host, unsigned *port)
{
    struct error ignored;
    for (const struct way *way = provider->network->ways; way->find; way++) {
        CLEANUP(attempts_release) struct attempts attempts = {.words = STRBUF_INIT};
        struct ssh_session *better = NULL;
        char *there = NULL;
        unsigned at = 0;
        if (!way->local ||
            try_way(way, &attempts, &better, m, user, timeout_ms, &there, &at, &ignored) < 0)
            continue;
        ssh_free(*session);
        free(*host);
        *session = better;
        *host = there;
        *port = at;
        return;
    }
}

int reach_open(struct ssh_session **session, const struct machine *m,
               const struct provider *provider, const char *user, int64_t timeout_ms, char **host,
               unsigned *port, struct error *err)
{
    CLEANUP(attempts_release) struct attempts attempts = {.words = STRBUF_INIT};
    for (const struct way *way = provider->network->ways; way->find; way++) {
        if (try_way(way, &attempts, session, m, user, timeout_ms, host, port, err) == 0) {
            if (!way->local)
                prefer_local(session, m, provider, user, timeout_ms, host, port);
            return 0;
        }
        note(&attempts, way, err);
    }
    return conclude(&attempts, err);
}

int reach_address(char **address, const struct machine *m, const struct provider *provider,
                  int64_t timeout_ms, struct error *err)
{
    CLEANUP(attempts_release) struct attempts attempts = {.words = STRBUF_INIT};
    for (const struct way *way = provider->network->ways; way->find; way++) {
        struct ssh_session *session = NULL;
        unsigned port;
        if (way->local)
            continue;
        if (try_way(way, &attempts, &session, m, NULL, timeout_ms, address, &port, err) == 0) {
            ssh_free(session);
            return 0;
        }
        note(&attempts, way, err);
    }
    return conclude(&attempts, err);
}

int reach_connect(int *fd, const struct machine *m, const struct provider *provider,
                  struct error *err)
{
    CLEANUP(attempts_release) struct attempts attempts = {.words = STRBUF_INIT};
    for (const struct way *way = provider->network->ways; way->find; way++) {
        cleanup_free char *found = NULL;
        unsigned at;
        if (way->local)
            continue;
        if (way->find(m, &found, &at, err) == 0 && connect_tcp(fd, found, at, err) == 0)
            return 0;
        note(&attempts, way, err);
    }
    return conclude(&attempts, err);
}
