// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/ssh.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "provider/ssh_session.h"

static const size_t largest_output = 1 << 20;
static const size_t largest_answer = 4096;
static const size_t kept_stderr = 1024;

struct channel {
    struct ssh_session *session;
    LIBSSH2_CHANNEL *library;
};

static void channel_release(struct channel *channel)
{
    struct error ignored;
    while (channel->library && libssh2_channel_free(channel->library) == LIBSSH2_ERROR_EAGAIN)
        if (ssh_session_wait(channel->session, "close a channel of", &ignored) < 0)
            return; // ssh_free() frees what is left of it
}

static int channel_open(struct channel *channel, const char *type, const void *message,
                        size_t length, const char *what, struct error *err)
{
    LIBSSH2_SESSION *library = channel->session->library;
    while (!(channel->library = libssh2_channel_open_ex(
                 library, type, (unsigned)strlen(type), LIBSSH2_CHANNEL_WINDOW_DEFAULT,
                 LIBSSH2_CHANNEL_PACKET_DEFAULT, message, (unsigned)length))) {
        if (libssh2_session_last_errno(library) != LIBSSH2_ERROR_EAGAIN)
            return ssh_session_fail(channel->session, what, err);
        if (ssh_session_wait(channel->session, what, err) < 0)
            return -1;
    }
    return 0;
}

// Reads what has come of one stream; `any` tells whether there was something.
static int channel_read(struct channel *channel, int stream, struct strbuf *into, bool *any,
                        const char *what, struct error *err)
{
    char chunk[16384];
    ssize_t n = libssh2_channel_read_ex(channel->library, stream, chunk, sizeof(chunk));
    if (n < 0 && n != LIBSSH2_ERROR_EAGAIN)
        return ssh_session_fail(channel->session, what, err);
    if (n > 0) {
        strbuf_add(into, chunk, (size_t)n);
        *any = true;
    }
    return 0;
}

// Signals go by name over the wire, and mean the guest's numbers, which are Linux's.
static int signal_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"HUP", 1},   {"INT", 2},   {"QUIT", 3},  {"ILL", 4},   {"TRAP", 5},  {"ABRT", 6},
        {"BUS", 7},   {"FPE", 8},   {"KILL", 9},  {"USR1", 10}, {"SEGV", 11}, {"USR2", 12},
        {"PIPE", 13}, {"ALRM", 14}, {"TERM", 15}, {"XCPU", 24}, {"XFSZ", 25},
    };
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 127; // some other signal: 128 + 127 = 255
}

static int exit_status(struct channel *channel)
{
    char *name = NULL;
    libssh2_channel_get_exit_signal(channel->library, &name, NULL, NULL, NULL, NULL, NULL);
    if (!name)
        return libssh2_channel_get_exit_status(channel->library);
    int status = 128 + signal_number(name);
    libssh2_free(channel->session->library, name);
    return status;
}

// Both streams to their end. Of stderr only the last words are kept.
static int drain(struct channel *channel, struct strbuf *out, struct strbuf *words,
                 const char *what, struct error *err)
{
    for (;;) {
        bool any = false;
        if (channel_read(channel, 0, out, &any, what, err) < 0 ||
            channel_read(channel, SSH_EXTENDED_DATA_STDERR, words, &any, what, err) < 0)
            return -1;
        if (out->length > largest_output)
            return error_set(err, EFBIG, "cannot %s %s: more than %zu bytes of output", what,
                             channel->session->where, largest_output);
        if (words->length > 2 * kept_stderr) {
            memmove(words->text, words->text + words->length - kept_stderr, kept_stderr);
            strbuf_truncate(words, kept_stderr);
        }
        if (any)
            continue;
        if (libssh2_channel_eof(channel->library))
            return 0;
        if (ssh_session_wait(channel->session, what, err) < 0)
            return -1;
    }
}

// Calls one of the library's steps until it is done.
static int finish(struct channel *channel, int (*step)(LIBSSH2_CHANNEL *), const char *what,
                  struct error *err)
{
    int rc;
    while ((rc = step(channel->library)) == LIBSSH2_ERROR_EAGAIN)
        if (ssh_session_wait(channel->session, what, err) < 0)
            return -1;
    return rc < 0 ? ssh_session_fail(channel->session, what, err) : 0;
}

static int channel_write(struct channel *channel, const char *bytes, size_t length,
                         const char *what, struct error *err)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = libssh2_channel_write_ex(channel->library, 0, bytes + sent, length - sent);
        if (n < 0 && n != LIBSSH2_ERROR_EAGAIN)
            return ssh_session_fail(channel->session, what, err);
        if (n > 0)
            sent += (size_t)n;
        else if (ssh_session_wait(channel->session, what, err) < 0)
            return -1;
    }
    return 0;
}

int ssh_run(struct ssh_session *session, const char *command, struct strbuf *out, int *status,
            struct error *err)
{
    return ssh_feed(session, command, "", 0, out, status, err);
}

int ssh_feed(struct ssh_session *session, const char *command, const void *input, size_t length,
             struct strbuf *out, int *status, struct error *err)
{
    static const char what[] = "run a command on";
    ssh_session_begin(session);
    CLEANUP(channel_release) struct channel channel = {.session = session};
    if (channel_open(&channel, "session", NULL, 0, what, err) < 0)
        return -1;
    int rc;
    while ((rc = libssh2_channel_process_startup(channel.library, "exec", 4, command,
                                                 (unsigned)strlen(command))) ==
           LIBSSH2_ERROR_EAGAIN)
        if (ssh_session_wait(session, what, err) < 0)
            return -1;
    if (rc < 0)
        return ssh_session_fail(session, what, err);
    if (channel_write(&channel, input, length, what, err) < 0 ||
        finish(&channel, libssh2_channel_send_eof, what, err) < 0)
        return -1;

    CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    if (drain(&channel, &answer, &words, what, err) < 0 ||
        finish(&channel, libssh2_channel_close, what, err) < 0)
        return -1;
    *status = exit_status(&channel);
    log_debug("guest: '%s' gave %d%s%s", command, *status, words.length ? ": " : "", words.text);
    if (out) {
        strbuf_reset(out);
        strbuf_add(out, answer.text, answer.length);
    }
    return 0;
}

static void add_uint32(struct strbuf *buf, size_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        strbuf_addc(buf, (char)(number >> shift & 0xff));
}

// PROTOCOL of OpenSSH, section 2.4: socket path, reserved string, reserved number.
static int open_socket(struct channel *channel, const char *socket_path, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf message = STRBUF_INIT;
    add_uint32(&message, strlen(socket_path));
    strbuf_adds(&message, socket_path);
    add_uint32(&message, 0);
    add_uint32(&message, 0);
    if (channel_open(channel, "direct-streamlocal@openssh.com", message.text, message.length,
                     "open a channel to", err) == 0)
        return 0;
    if (libssh2_session_last_errno(channel->session->library) == LIBSSH2_ERROR_CHANNEL_FAILURE)
        err->code = EACCES;
    return error_prefix(err, "cannot reach '%s' in the guest", socket_path);
}

int ssh_ping_socket(struct ssh_session *session, const char *socket_path, struct error *err)
{
    static const char request[] = "GET /_ping HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n";
    static const char what[] = "ask a socket of";
    ssh_session_begin(session);
    CLEANUP(channel_release) struct channel channel = {.session = session};
    if (open_socket(&channel, socket_path, err) < 0)
        return -1;

    if (channel_write(&channel, request, sizeof(request) - 1, what, err) < 0)
        return -1;

    CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT;
    while (!strchr(answer.text, '\n') && answer.length < largest_answer) {
        bool any = false;
        if (channel_read(&channel, 0, &answer, &any, what, err) < 0)
            return -1;
        if (any)
            continue;
        if (libssh2_channel_eof(channel.library))
            break;
        if (ssh_session_wait(session, what, err) < 0)
            return -1;
    }
    strbuf_truncate(&answer, strcspn(answer.text, "\r\n"));
    if (strncmp(answer.text, "HTTP/1.", 7) == 0 && answer.length >= 12 &&
        strncmp(answer.text + 8, " 200", 4) == 0)
        return 0;
    return error_set(err, EBADMSG, "'%s' in the guest does not answer as podman's socket: '%.200s'",
                     socket_path, answer.text);
}
