// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/api.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "provider/control.h"
#include "provider/guest_session.h"
#include "provider/machine.h"
#include "provider/relay.h"
#include "provider/vsock.h"

// Until the socket over vsock is given up: by a guest that has no agent, and by one that takes a
// connection and says nothing yet, as under software emulation.
static const int64_t refused_ms = 10000, silent_ms = 60000;
static const int64_t look_every_ms = 1000;

// Once podman has answered it is left alone: asking again would wake it in the guest.
static bool answers_over_vsock(const char *path)
{
    struct error err;
    int64_t begun = clock_monotonic_ms();
    while (control_ping(path, &err) < 0) {
        int64_t patience = err.code == ETIMEDOUT ? silent_ms : refused_ms;
        if (clock_monotonic_ms() - begun >= patience) {
            log_info("going on with ssh for the API socket: %s", err.message);
            return false;
        }
        clock_sleep_ms(look_every_ms);
    }
    return true;
}

// Nobody finds it where it is looked for before podman has answered there.
static bool prove(const char *trial, const char *local)
{
    if (!answers_over_vsock(trial)) {
        unlink(trial);
        return false;
    }
    if (rename(trial, local) < 0) {
        log_error("cannot move '%s' to '%s': %s", trial, local, strerror(errno));
        return false;
    }
    log_info("podman answers at '%s' over vsock", local);
    return true;
}

// A process that serves the socket; `pair` is how it and this one see each other's end.
static pid_t start_relay(const struct machine *m, const struct provider *provider,
                         const char *local, int pair[2], struct error *err)
{
    struct relay relay = {.fd = -1, .other = -1, .socket = MACHINE_PODMAN_SOCKET};
    if (relay_listen_at(&relay.fd, local, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return error_errno(err, "cannot make a pair of sockets");
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        relay_run(&relay, pair[1], m, provider);
        _exit(0);
    }
    close(pair[1]);
    close(relay.fd);
    return pid;
}

// Until the monitor or the relay has ended. False: podman does not answer this way.
static bool serve_over_vsock(const struct machine *m, const struct provider *provider,
                             const char *local, int life)
{
    struct error err;
    int pair[2] = {-1, -1};
    cleanup_free char *trial = machine_path(m->name, MACHINE_API_TRIAL_SOCKET);
    pid_t relay = start_relay(m, provider, trial, pair, &err);
    if (relay < 0) {
        log_error("%s", err.message);
        return false;
    }
    bool answered = prove(trial, local);
    struct pollfd ends[2] = {{.fd = life, .events = POLLIN}, {.fd = pair[0], .events = POLLIN}};
    while (answered && poll(ends, ARRAY_SIZE(ends), -1) <= 0)
        continue;
    close(pair[0]); // it ends
    if (!answered)
        waitpid(relay, NULL, 0);
    return answered;
}

// The socket is 0600, and a stale one is replaced. What ssh runs in the guest ends with `life`, and
// ssh with it: it would go on after a monitor that was killed, beside the next one's.
static int forward(const struct machine *m, const char *local, const char *host, unsigned port,
                   int life, struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    cleanup_free char *remote = guest_socket(m, m->rootful);
    if (guest_client_argv(&argv, m, host, port, m->rootful ? "root" : m->ssh.user, err) < 0)
        return -1;
    static const char *const words[] = {
        "-T",
        "-o",
        "BatchMode=yes",
        "-o",
        "ExitOnForwardFailure=yes",
        "-o",
        "StreamLocalBindUnlink=yes",
        "-o",
        "StreamLocalBindMask=0177",
        "-o",
        "ServerAliveInterval=15",
        "-L",
        NULL,
    };
    strvec_pushv(&argv, words);
    strvec_pushf(&argv, "%s:%s", local, remote);
    strvec_push(&argv, "--");
    strvec_push(&argv, "exec cat");
    if (dup2(life, STDIN_FILENO) < 0)
        return error_errno(err, "cannot watch the monitor");
    return process_exec(&argv, err);
}

void api_run(const struct machine *m, const struct provider *provider, const char *host,
             unsigned port, int life)
{
    struct error err;
    cleanup_free char *local = machine_path(m->name, MACHINE_API_SOCKET);
    if (vsock_is_there(m, provider) && serve_over_vsock(m, provider, local, life))
        _exit(0);
    forward(m, local, host, port, life, &err);
    log_error("cannot forward the API socket: %s", err.message);
    _exit(127);
}
