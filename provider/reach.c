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

// Which ways are gone, what is done at each place, and what came of it.
struct walk {
    const struct machine *m;
    const struct network *network;
    enum { EVERYWHERE, LOCAL_ONLY, ADDRESSES_ONLY } which;
    int (*attempt)(struct walk *walk, const struct way *way, const char *host, unsigned port,
                   struct error *err);
    const char *user;
    int64_t timeout_ms;

    struct ssh_session *session;
    int fd;
    const struct way *way;
    char *host; // the walker's caller frees
    unsigned port;
};

static int log_in(struct walk *walk, const struct way *way, const char *host, unsigned port,
                  struct error *err)
{
    if (!way->local) {
        cleanup_close int fd = -1;
        if (connect_tcp(&fd, host, port, err) < 0 && err->code != EHOSTUNREACH)
            return -1; // ssh_open() has more to say of the other
    }
    if (guest_open(&walk->session, walk->m, host, port, walk->user, walk->timeout_ms, err) < 0)
        return error_prefix(err, "ssh error");
    return 0;
}

static int only_connect(struct walk *walk, const struct way *way, const char *host, unsigned port,
                        struct error *err)
{
    (void)way;
    return connect_tcp(&walk->fd, host, port, err);
}

static int walk_way(struct walk *walk, const struct way *way, struct attempts *attempts,
                    struct error *err)
{
    CLEANUP(strvec_release) struct strvec hosts = STRVEC_INIT;
    unsigned port;
    if (way->find(walk->m, &hosts, &port, err) < 0) {
        note(attempts, way, err);
        return -1;
    }
    for (size_t i = 0; i < hosts.count; i++) {
        const char *host = hosts.items[i];
        cleanup_free char *place = xasprintf("%s %u", host, port);
        int result = strvec_contains(&attempts->places, place)
                         ? error_set(err, ENOENT, "the same address, %s", host)
                         : walk->attempt(walk, way, host, port, err);
        if (result == 0) {
            walk->way = way;
            walk->host = xstrdup(host);
            walk->port = port;
            return 0;
        }
        strvec_push(&attempts->places, place);
        note(attempts, way, err);
    }
    return -1;
}

static int walk_ways(struct walk *walk, struct error *err)
{
    CLEANUP(attempts_release) struct attempts attempts = {.words = STRBUF_INIT};
    for (const struct way *way = walk->network->ways; way->find; way++) {
        if ((walk->which == LOCAL_ONLY && !way->local) ||
            (walk->which == ADDRESSES_ONLY && way->local))
            continue;
        if (walk_way(walk, way, &attempts, err) == 0)
            return 0;
    }
    return conclude(&attempts, err);
}

// The guest may have come up between a port of this host and an address: then the port leads there
// too by now. It is what others are told, and works where no address does (Local Network privacy,
// VPNs), so it is worth a second look.
static void prefer_local(struct walk *walk)
{
    struct error ignored;
    struct walk again = *walk;
    again.which = LOCAL_ONLY;
    if (walk_ways(&again, &ignored) < 0)
        return;
    ssh_free(walk->session);
    free(walk->host);
    *walk = again;
}

int reach_open(struct ssh_session **session, const struct machine *m,
               const struct provider *provider, const char *user, int64_t timeout_ms, char **host,
               unsigned *port, struct error *err)
{
    struct walk walk = {
        .m = m,
        .network = provider->network,
        .which = EVERYWHERE,
        .attempt = log_in,
        .user = user,
        .timeout_ms = timeout_ms,
    };
    if (walk_ways(&walk, err) < 0)
        return -1;
    if (!walk.way->local)
        prefer_local(&walk);
    *session = walk.session;
    *host = walk.host;
    *port = walk.port;
    return 0;
}

int reach_address(char **address, const struct machine *m, const struct provider *provider,
                  int64_t timeout_ms, struct error *err)
{
    struct walk walk = {
        .m = m,
        .network = provider->network,
        .which = ADDRESSES_ONLY,
        .attempt = log_in,
        .timeout_ms = timeout_ms,
    };
    if (walk_ways(&walk, err) < 0)
        return -1;
    ssh_free(walk.session);
    *address = walk.host;
    return 0;
}

int reach_connect(int *fd, const struct machine *m, const struct provider *provider,
                  struct error *err)
{
    struct walk walk = {
        .m = m,
        .network = provider->network,
        .which = ADDRESSES_ONLY,
        .attempt = only_connect,
        .fd = -1,
    };
    if (walk_ways(&walk, err) < 0)
        return -1;
    free(walk.host);
    *fd = walk.fd;
    return 0;
}

int reach_port(char **host, unsigned *port, const struct machine *m,
               const struct provider *provider, struct error *err)
{
    CLEANUP(strvec_release) struct strvec hosts = STRVEC_INIT;
    if (provider->network->ways->find(m, &hosts, port, err) < 0)
        return -1;
    *host = xstrdup(hosts.items[0]);
    return 0;
}
