// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"

static const int64_t limit_ms = 5000;
static const size_t longest_path = 103; // sun_path of macOS without its NUL; Linux has 107
static const size_t most_bytes = 65536; // of one answer
static const int64_t retry_pause_ms = 20;

// An open conversation: what has come and was not consumed yet, and when patience ends.
struct talk {
    const char *path;
    int fd;
    int64_t deadline_ms;
    struct strbuf received;
};

static void talk_release(struct talk *talk)
{
    cleanup_close_fd(&talk->fd);
    strbuf_release(&talk->received);
}

static int set_address(struct sockaddr_un *address, const char *path, struct error *err)
{
    size_t length = strlen(path);
    if (length > longest_path)
        return error_set(err, ENAMETOOLONG,
                         "socket path '%s' is %zu bytes long and may be %zu: choose a shorter "
                         "machine name, or a shorter folder by $TMPDIR (macOS) or "
                         "$XDG_RUNTIME_DIR (Linux)",
                         path, length, longest_path);
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return 0;
}

static int out_of_time(const struct talk *talk, struct error *err)
{
    return error_set(err, ETIMEDOUT, "no answer at '%s' in %d s", talk->path,
                     (int)(limit_ms / 1000));
}

// Waits for the events; an answer that never comes is an error.
static int talk_wait(const struct talk *talk, short events, struct error *err)
{
    for (;;) {
        int64_t left = talk->deadline_ms - clock_monotonic_ms();
        if (left <= 0)
            return out_of_time(talk, err);
        struct pollfd wanted = {.fd = talk->fd, .events = events};
        int ready = poll(&wanted, 1, (int)left);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return error_errno(err, "cannot wait for '%s'", talk->path);
    }
}

static int talk_open(struct talk *talk, const char *path, struct error *err)
{
    *talk = (struct talk){path, -1, clock_monotonic_ms() + limit_ms, STRBUF_INIT};
    struct sockaddr_un address;
    if (set_address(&address, path, err) < 0)
        return -1;
    talk->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (talk->fd < 0)
        return error_errno(err, "cannot make a socket");
    fcntl(talk->fd, F_SETFD, FD_CLOEXEC);
    fcntl(talk->fd, F_SETFL, O_NONBLOCK);

    // EAGAIN: the queue of a listener that does not accept is full (Linux).
    while (connect(talk->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        if (errno == EISCONN)
            break;
        if (errno == EINPROGRESS || errno == EALREADY) {
            if (talk_wait(talk, POLLOUT, err) < 0)
                return -1;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return error_errno(err, "cannot connect to '%s'", path);
        if (clock_monotonic_ms() >= talk->deadline_ms)
            return out_of_time(talk, err);
        clock_sleep_ms(retry_pause_ms);
    }
    return 0;
}

// The whole text in one write: krunkit reads a request with a single read.
static int talk_send(const struct talk *talk, const char *text, struct error *err)
{
    // The VM can go at any moment; a signal for that would end us instead.
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGPIPE, &ignore, &old);
    size_t left = strlen(text);
    int result = 0;
    while (left > 0 && result == 0) {
        ssize_t n = write(talk->fd, text, left);
        if (n >= 0) {
            text += n;
            left -= (size_t)n;
        } else if (errno == EAGAIN) {
            result = talk_wait(talk, POLLOUT, err);
        } else if (errno != EINTR) {
            result = error_errno(err, "cannot write to '%s'", talk->path);
        }
    }
    sigaction(SIGPIPE, &old, NULL);
    return result;
}

// Takes what comes next into `received`. 1, 0 at the end, or -1.
static int talk_receive(struct talk *talk, struct error *err)
{
    for (;;) {
        char chunk[4096];
        ssize_t n = read(talk->fd, chunk, sizeof(chunk));
        if (n > 0) {
            strbuf_add(&talk->received, chunk, (size_t)n);
            if (talk->received.length > most_bytes)
                return error_set(err, EPROTO, "the answer at '%s' does not end", talk->path);
            return 1;
        }
        if (n == 0 || errno == ECONNRESET)
            return 0;
        if (errno == EAGAIN) {
            if (talk_wait(talk, POLLIN, err) < 0)
                return -1;
        } else if (errno != EINTR) {
            return error_errno(err, "cannot read from '%s'", talk->path);
        }
    }
}

int control_prepare(const char *path, struct error *err)
{
    struct sockaddr_un address;
    if (set_address(&address, path, err) < 0)
        return -1;
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_errno(err, "cannot look at '%s'", path);
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, EEXIST, "'%s' is in the way: it is not a socket", path);
    CLEANUP(talk_release) struct talk talk;
    struct error closed;
    if (talk_open(&talk, path, &closed) == 0)
        return error_set(err, EBUSY, "a VM is listening at '%s'", path);
    if (closed.code != ECONNREFUSED && closed.code != ENOENT) {
        *err = closed;
        return -1;
    }
    if (unlink(path) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", path);
    return 0;
}

// The body for people: krunkit before 1.3.1 ends it with a NUL.
static const char *http_body(struct strbuf *answer)
{
    const char *body = strstr(answer->text, "\r\n\r\n");
    return body ? body + 4 : "";
}

int control_rest(const char *path, const char *state, struct error *err)
{
    CLEANUP(talk_release) struct talk talk;
    if (talk_open(&talk, path, err) < 0)
        return -1;
    cleanup_free char *body = xasprintf("{\"state\":\"%s\"}", state);
    cleanup_free char *request = xasprintf("POST /vm/state HTTP/1.1\r\n"
                                           "Host: localhost\r\n"
                                           "Content-Type: application/json\r\n"
                                           "Content-Length: %zu\r\n"
                                           "Connection: close\r\n"
                                           "\r\n%s",
                                           strlen(body), body);
    if (talk_send(&talk, request, err) < 0)
        return -1;

    // The first line is all we need of a yes: krunkit may be gone before the rest arrives, and
    // before 1.3.1 it tells no length.
    int more = 1;
    while (more > 0 && !strstr(talk.received.text, "\r\n"))
        if ((more = talk_receive(&talk, err)) < 0)
            return -1;
    char family;
    int status;
    if (sscanf(talk.received.text, "HTTP/1.%c %3d", &family, &status) != 2)
        return error_set(err, EPROTO, "no HTTP answer at '%s'", path);
    if (status >= 200 && status < 300)
        return 0;

    struct error ignored;
    while (talk_receive(&talk, &ignored) > 0)
        ;
    return error_set(err, EPROTO, "'%s' refused state '%s': HTTP status %d %s", path, state, status,
                     http_body(&talk.received));
}

int control_ping(const char *path, struct error *err)
{
    CLEANUP(talk_release) struct talk talk;
    if (talk_open(&talk, path, err) < 0 ||
        talk_send(&talk, "GET /_ping HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n", err) < 0)
        return -1;
    int more = 1;
    while (more > 0 && !strstr(talk.received.text, "\r\n"))
        if ((more = talk_receive(&talk, err)) < 0)
            return -1;
    char family;
    int status;
    if (sscanf(talk.received.text, "HTTP/1.%c %3d", &family, &status) != 2 || status != 200)
        return error_set(err, EPROTO, "podman does not answer at '%s'", path);
    return 0;
}

static int talk_shutdown(struct talk *talk, struct error *err)
{
    if (talk_send(talk, "poweroff\n", err) < 0)
        return -1;
    int more = 1;
    while (more > 0 && !strchr(talk->received.text, '\n'))
        if ((more = talk_receive(talk, err)) < 0)
            return -1;
    if (strcmp(talk->received.text, "ok\n") == 0)
        return 0;
    return error_set(err, EPROTO, "the guest does not answer at '%s'", talk->path);
}

int control_shutdown(int fd, const char *name, struct error *err)
{
    struct talk talk = {name, fd, clock_monotonic_ms() + limit_ms, STRBUF_INIT};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    int result = talk_shutdown(&talk, err);
    strbuf_release(&talk.received);
    return result;
}

// Reads QMP messages, skipping events, until one has `key` or "error".
static int qmp_expect(struct talk *talk, const char *key, struct error *err)
{
    for (;;) {
        char *end = strchr(talk->received.text, '\n');
        if (!end) {
            int more = talk_receive(talk, err);
            if (more < 0)
                return -1;
            if (more == 0)
                return error_set(err, EPROTO, "'%s' was closed before it answered", talk->path);
            continue;
        }
        size_t length = (size_t)(end - talk->received.text);
        json_error_t where;
        cleanup_json json_t *message = json_loadb(talk->received.text, length, 0, &where);
        struct strbuf rest = STRBUF_INIT;
        strbuf_add(&rest, end + 1, talk->received.length - length - 1);
        strbuf_release(&talk->received);
        talk->received = rest;

        if (!json_is_object(message))
            return error_set(err, EPROTO, "no QMP answer at '%s'", talk->path);
        const json_t *refusal = json_object_get(message, "error");
        if (refusal) {
            const char *text = json_string_value(json_object_get(refusal, "desc"));
            return error_set(err, EPROTO, "'%s' refused: %s", talk->path, text ? text : "?");
        }
        if (json_object_get(message, key))
            return 0;
    }
}

int control_qmp(const char *path, const char *command, struct error *err)
{
    CLEANUP(talk_release) struct talk talk;
    if (talk_open(&talk, path, err) < 0)
        return -1;
    cleanup_free char *request = xasprintf("{\"execute\":\"%s\"}\n", command);
    if (qmp_expect(&talk, "QMP", err) < 0 ||
        talk_send(&talk, "{\"execute\":\"qmp_capabilities\"}\n", err) < 0 ||
        qmp_expect(&talk, "return", err) < 0 || talk_send(&talk, request, err) < 0)
        return -1;
    return qmp_expect(&talk, "return", err);
}
