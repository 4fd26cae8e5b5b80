// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "provider/machine.h"
#include "provider/reach.h"
#include "provider/vsock.h"

// sshd speaks first. Under software emulation it needs seconds to begin.
static const int first_words_ms = 15000;

// A client in Go does not wait for room here, but fails. The system may allow fewer.
static const int most_waiting = 1024;

// Once the monitor has ended. What a guest said last may still be on its way to the client.
static const int64_t vm_look_ms = 500, last_words_ms = 2000;

int relay_listen(int *fd, unsigned port, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cleanup_close int sock = socket(AF_INET, SOCK_STREAM, 0);
    int yes = 1;
    if (sock < 0)
        return error_errno(err, "cannot make a socket");
    fcntl(sock, F_SETFD, FD_CLOEXEC);
    fcntl(sock, F_SETFL, O_NONBLOCK); // a caller may be gone before it is taken
    if (setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(sock, most_waiting) < 0)
        return error_errno(err, "cannot listen on 127.0.0.1 port %u", port);
    *fd = steal_fd(&sock);
    return 0;
}

int relay_listen_at(int *fd, const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ENAMETOOLONG, "socket path '%s' is too long", path);
    strcpy(address.sun_path, path);
    cleanup_close int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    if (sock < 0)
        return error_errno(err, "cannot make a socket");
    fcntl(sock, F_SETFD, FD_CLOEXEC);
    fcntl(sock, F_SETFL, O_NONBLOCK);
    if (unlink(path) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", path);
    mode_t before = umask(0177);
    int result = bind(sock, (struct sockaddr *)&address, sizeof(address));
    umask(before);
    if (result < 0 || listen(sock, most_waiting) < 0)
        return error_errno(err, "cannot listen at '%s'", path);
    *fd = steal_fd(&sock);
    return 0;
}

// The hypervisor takes every connection and then asks the guest, so that only a first word proves
// that somebody is there.
static int connect_vsock(const struct relay *relay, const struct machine *m,
                         const struct provider *provider)
{
    struct error err;
    cleanup_close int fd = -1;
    if (vsock_connect(&fd, m, provider, relay->socket, &err) < 0) {
        log_info("relay: %s", err.message);
        return -1;
    }
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    char byte;
    if (relay->tcp && (poll(&wanted, 1, first_words_ms) <= 0 || recv(fd, &byte, 1, MSG_PEEK) != 1))
        return -1;
    return steal_fd(&fd);
}

struct direction {
    int from, to;
    bool pieces, to_client;
};

// As it is, or as a piece; no bytes are the end.
static int pass_on(const struct direction *d, unsigned char *piece, size_t length)
{
    if (!d->pieces)
        return length ? file_write_all(d->to, piece + 4, length) : shutdown(d->to, SHUT_WR);
    uint32_t size = htonl((uint32_t)length);
    memcpy(piece, &size, sizeof(size));
    return file_write_all(d->to, piece, 4 + length);
}

// Until the end of what comes. A client that has gone ends the other direction too, which may be
// waiting to write. Not so a guest that takes no more: its answer may be on its way, and shutting
// would lose it.
static void *move(void *argument)
{
    const struct direction *d = argument;
    unsigned char piece[4 + 65536];
    for (;;) {
        ssize_t n = read(d->from, piece + 4, sizeof(piece) - 4);
        if (n < 0 && errno == EINTR)
            continue;
        if (pass_on(d, piece, n > 0 ? (size_t)n : 0) < 0)
            break;
        if (n <= 0)
            return NULL;
    }
    if (d->to_client)
        shutdown(d->from, SHUT_RDWR);
    return NULL;
}

// A thread for each direction: a guest that does not read before it has written must not keep what
// it writes from its client.
static void splice_both(int client, int guest, bool pieces)
{
    struct direction up = {client, guest, pieces, false}, down = {guest, client, false, true};
    pthread_t thread;
    if (pthread_create(&thread, NULL, move, &down) != 0)
        return;
    move(&up);
    pthread_join(thread, NULL);
}

static void serve(int client, const struct relay *relay, const struct machine *m,
                  const struct provider *provider)
{
    struct error err;
    cleanup_close int guest = connect_vsock(relay, m, provider);
    fcntl(client, F_SETFL, 0);
    if (guest >= 0) {
        splice_both(client, guest, true);
        return;
    }
    if (!relay->tcp)
        return;
    if (reach_connect(&guest, m, provider, &err) == 0)
        splice_both(client, guest, false);
    else
        log_info("relay: %s", err.message);
}

struct watch {
    int life;
    const char *vm_lock;
};

// A client that keeps its end open would keep this process for as long, beside the next runs of
// the machine. One that talks to a guest whose monitor was killed may finish.
static void *end_with_vm(void *argument)
{
    const struct watch *watch = argument;
    struct pollfd monitor = {.fd = watch->life, .events = POLLIN};
    while (poll(&monitor, 1, -1) <= 0)
        continue;
    while (lock_is_held(watch->vm_lock))
        clock_sleep_ms(vm_look_ms);
    clock_sleep_ms(last_words_ms);
    _exit(0);
}

static void take(int listener, const struct relay *relay, int life, const struct machine *m,
                 const struct provider *provider)
{
    cleanup_close int client = accept(listener, NULL, NULL);
    if (client < 0)
        return;
    fcntl(client, F_SETFD, FD_CLOEXEC);
    if (fork() != 0)
        return;
    close(relay->fd);
    if (relay->other >= 0)
        close(relay->other);
    cleanup_free char *vm_lock = machine_path(m->name, MACHINE_VM_LOCK);
    struct watch watch = {life, vm_lock};
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, end_with_vm, &watch) == 0)
        serve(client, relay, m, provider);
    _exit(0);
}

void relay_run(const struct relay *relay, int life, const struct machine *m,
               const struct provider *provider)
{
    signal(SIGCHLD, SIG_IGN); // nobody waits for the connections
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        struct pollfd fds[3] = {{.fd = life, .events = POLLIN},
                                {.fd = relay->fd, .events = POLLIN},
                                {.fd = relay->other, .events = POLLIN}};
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents)
            return;
        for (size_t i = 1; i < ARRAY_SIZE(fds); i++)
            if (fds[i].revents)
                take(fds[i].fd, relay, life, m, provider);
    }
}
