// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The relay between a client, a hypervisor's socket and a guest's TCP port, all of this process'
// own.

#include "tests/support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/relay.h"

static char name[] = "vm";
static const struct machine m = {.name = name};
static unsigned guest_port; // 0: no address known

static int find(const struct machine *machine, struct strvec *hosts, unsigned *port,
                struct error *err)
{
    (void)machine;
    if (!guest_port)
        return error_set(err, ENOENT, "nobody knows");
    strvec_push(hosts, "127.0.0.1");
    *port = guest_port;
    return 0;
}

static const struct way ways[] = {{.name = "test", .find = find}, {.name = NULL}};
static const struct network network = {.name = "test", .ways = ways};
static const struct provider provider = {
    .name = "test", .network = &network, .vsock = VSOCK_SOCKETS};

static int listen_tcp(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static int listen_unix(void)
{
    struct error err;
    cleanup_free char *path = machine_path(name, MACHINE_SSH_SOCKET);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_ok(paths_make_runtime(&err), err);
    unlink(path);
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static ssize_t take_piece(int fd, char *chunk)
{
    uint32_t length;
    assert_int_equal(recv(fd, &length, sizeof(length), MSG_WAITALL), sizeof(length));
    return length ? recv(fd, chunk, ntohl(length), MSG_WAITALL) : 0;
}

static ssize_t take_bytes(int fd, char *chunk)
{
    return read(fd, chunk, 4096);
}

// A server that greets, and gives back what it gets until the end; without a greeting it hangs up
// at once, as a hypervisor does whose guest has nobody at the port.
static pid_t serve(int fd, const char *greeting, ssize_t (*take)(int fd, char *chunk))
{
    pid_t pid = fork();
    if (pid > 0)
        return pid;
    for (;;) {
        int client = accept(fd, NULL, NULL);
        char chunk[65536];
        ssize_t n = (ssize_t)strlen(greeting);
        memcpy(chunk, greeting, (size_t)n);
        while (n > 0 && write(client, chunk, (size_t)n) == n)
            n = take(client, chunk);
        close(client);
    }
}

static pid_t start_relay(unsigned *port, int *life)
{
    struct error err;
    int fd, ends[2];
    unsigned free_port;
    close(listen_tcp(&free_port));
    assert_ok(relay_listen(&fd, free_port, &err), err);
    assert_int_equal(pipe(ends), 0);
    *port = free_port;
    *life = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        const struct relay ssh = {.fd = fd, .other = -1, .socket = MACHINE_SSH_SOCKET, .tcp = true};
        relay_run(&ssh, ends[0], &m, &provider);
        _exit(0);
    }
    close(fd);
    close(ends[0]);
    return pid;
}

// What comes back for a word, up to the end.
static char *talk(unsigned port, const char *word)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct strbuf heard = STRBUF_INIT;
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (write(fd, word, strlen(word)) != (ssize_t)strlen(word))
        return strbuf_steal(&heard);
    shutdown(fd, SHUT_WR);
    char chunk[4096];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        strbuf_add(&heard, chunk, (size_t)n);
    return strbuf_steal(&heard);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void by_the_best_way(void **state)
{
    (void)state;
    unsigned port, tcp_port;
    int life;
    int vsock = listen_unix(), tcp = listen_tcp(&tcp_port);
    pid_t relay = start_relay(&port, &life);
    pid_t over_vsock = serve(vsock, "vsock ", take_piece);
    cleanup_free char *first = talk(port, "hello");
    assert_string_equal(first, "vsock hello");
    end(over_vsock);
    end(relay);
    close(life);

    // The hypervisor is there, the guest's port is not; then there is no socket at all.
    guest_port = tcp_port;
    relay = start_relay(&port, &life);
    pid_t closed = serve(vsock, "", take_bytes), over_tcp = serve(tcp, "tcp ", take_bytes);
    cleanup_free char *second = talk(port, "hello");
    assert_string_equal(second, "tcp hello");
    end(closed);
    close(vsock);
    cleanup_free char *third = talk(port, "again");
    assert_string_equal(third, "tcp again");
    end(over_tcp);
    end(relay);
    close(life);
    close(tcp);
}

static void nowhere_to_go(void **state)
{
    (void)state;
    unsigned port;
    int life;
    guest_port = 0;
    pid_t relay = start_relay(&port, &life);
    cleanup_free char *nothing = talk(port, "");
    assert_string_equal(nothing, "");
    end(relay);
    close(life);
}

static void ends_with_its_monitor(void **state)
{
    (void)state;
    unsigned port;
    int life, status = -1;
    pid_t relay = start_relay(&port, &life);
    close(life);
    assert_int_equal(waitpid(relay, &status, 0), relay);
    assert_int_equal(status, 0);
    // The port is free again.
    struct error err;
    int fd = -1, second = -1;
    assert_ok(relay_listen(&fd, port, &err), err);
    assert_fails(relay_listen(&second, port, &err), err, EADDRINUSE, "cannot listen");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_best_way),
        cmocka_unit_test(nowhere_to_go),
        cmocka_unit_test(ends_with_its_monitor),
    };
    return cmocka_run_group_tests_name("relay", tests, temp_home_setup, temp_home_teardown);
}
