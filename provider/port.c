// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "provider/paths.h"

// Enough to get past a full list of reserved ports; podman tries as often.
static const int most_tries = 10000;
static const int answer_ms = 200;

// Listens on 127.0.0.1:port for a moment (0: the kernel's choice) and gives the port.
static int try_port(unsigned port, unsigned *got)
{
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    // Connections of the machine's last run may still be in TIME_WAIT: they do not matter.
    int yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return -1;
    *got = ntohs(address.sin_port);
    return 0;
}

static bool is_reserved(unsigned port, const char *own_name)
{
    struct error ignored;
    cleanup_free char *path = paths_podman_ports();
    // podman's file is a bare array, and it may be missing or broken: then nothing is reserved.
    cleanup_json json_t *ports = json_load_file(path, 0, NULL);
    const json_t *entry;
    size_t i;
    json_array_foreach(ports, i, entry)
    {
        if (json_integer_value(entry) == (json_int_t)port)
            return true;
    }
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    if (machine_names(&names, &ignored) < 0)
        return false;
    for (size_t n = 0; n < names.count; n++) {
        CLEANUP(machine_release) struct machine other = MACHINE_INIT;
        if (machine_load(&other, names.items[n], &ignored) == 0 && other.ssh.port == port &&
            strcmp(other.name, own_name) != 0)
            return true;
    }
    return false;
}

int port_ensure(struct machine *m, struct error *err)
{
    unsigned port;
    if (m->ssh.port && try_port((unsigned)m->ssh.port, &port) == 0)
        return 0;
    for (int tries = 0; tries < most_tries; tries++) {
        if (try_port(0, &port) < 0)
            return error_errno(err, "cannot listen on 127.0.0.1");
        if (!is_reserved(port, m->name)) {
            m->ssh.port = port;
            return 0;
        }
    }
    return error_set(err, EADDRINUSE, "cannot find a free port on 127.0.0.1");
}

int port_settle(struct machine *m, struct error *err)
{
    uint64_t old = m->ssh.port;
    if (port_ensure(m, err) < 0)
        return -1;
    return m->ssh.port == old ? 0 : machine_save(m, err);
}

// On macOS, one may listen on 127.0.0.1 beside somebody who listens on all addresses, who then gets
// nothing from here any more.
static bool somebody_answers(unsigned port)
{
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    int reason = errno;
    socklen_t size = sizeof(reason);
    if (reason == EINPROGRESS && poll(&wanted, 1, answer_ms) > 0 &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) < 0)
        return false;
    return reason == 0 || reason == EINPROGRESS; // a full queue is somebody's too
}

int port_check_free(unsigned port, struct error *err)
{
    unsigned got;
    int result = try_port(port, &got);
    if (result == 0 && somebody_answers(port)) {
        errno = EADDRINUSE;
        result = -1;
    }
    return result < 0 ? error_errno(err, "cannot listen on 127.0.0.1:%u", port) : 0;
}
