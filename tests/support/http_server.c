// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "tests/support/support.h"

static bool send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, bytes, length, 0);
        if (n <= 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

static void copy_header(const char *request, const char *name, char *value, size_t room)
{
    value[0] = '\0';
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        size_t length = strlen(name);
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':')
            snprintf(value, room, "%.*s", (int)strcspn(line + 4 + length, "\r\n"),
                     line + 4 + length);
    }
}

static void send_body(struct http_server *server, int fd, size_t from)
{
    size_t left = server->length - from;
    if (server->stalls > 0) {
        server->stalls--;
        size_t part = left < server->stall_after ? left : server->stall_after;
        send_all(fd, server->body + from, part);
        struct pollfd gone = {.fd = fd, .events = POLLIN};
        poll(&gone, 1, 20000);
        return;
    }
    if (server->cuts > 0) {
        server->cuts--;
        if (left > server->cut_after)
            left = server->cut_after;
    }
    if (send_all(fd, server->body + from, left) && from + left == server->length)
        server->sent_all++;
}

static void answer_file(struct http_server *server, int fd, const char *request)
{
    server->file_requests++;
    copy_header(request, "Range", server->range, sizeof(server->range));
    copy_header(request, "If-Range", server->if_range, sizeof(server->if_range));
    size_t from = 0;
    bool same = !server->if_range[0] ||
                (server->etag && strcmp(server->if_range, server->etag) == 0) ||
                (server->last_modified && strcmp(server->if_range, server->last_modified) == 0);
    bool partial = server->range[0] && same && !server->ignore_range;
    if (partial)
        sscanf(server->range, "bytes=%zu-", &from);
    if (server->wrong_range && partial)
        from /= 2;

    CLEANUP(strbuf_release) struct strbuf head = STRBUF_INIT;
    int status = server->status ? server->status : partial ? 206 : 200;
    if (partial && from >= server->length)
        status = 416;
    strbuf_addf(&head, "HTTP/1.1 %d Text\r\nConnection: close\r\n", status);
    if (status >= 300) {
        strbuf_adds(&head, "Content-Length: 6\r\n\r\nsorry\n");
        send_all(fd, head.text, head.length);
        return;
    }
    if (server->etag)
        strbuf_addf(&head, "ETag: %s\r\n", server->etag);
    if (server->last_modified)
        strbuf_addf(&head, "Last-Modified: %s\r\n", server->last_modified);
    if (status == 206)
        strbuf_addf(&head, "Content-Range: bytes %zu-%zu/%zu\r\n", from, server->length - 1,
                    server->length);
    if (!server->no_length)
        strbuf_addf(&head, "Content-Length: %zu\r\n",
                    server->announced ? server->announced - from : server->length - from);
    strbuf_adds(&head, "\r\n");
    if (send_all(fd, head.text, head.length))
        send_body(server, fd, from);
}

static void answer(struct http_server *server, int fd)
{
    char request[8192];
    size_t length = 0;
    while (length < sizeof(request) - 1) {
        ssize_t n = recv(fd, request + length, sizeof(request) - 1 - length, 0);
        if (n <= 0)
            return;
        length += (size_t)n;
        request[length] = '\0';
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    server->requests++;
    static const char redirect[] =
        "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if (strncmp(request, "GET /file ", 10) == 0) {
        answer_file(server, fd, request);
    } else if (strncmp(request, "GET /redirect ", 14) == 0) {
        cleanup_free char *text = xasprintf(redirect, "/file");
        send_all(fd, text, strlen(text));
    } else if (strncmp(request, "GET /loop ", 10) == 0) {
        cleanup_free char *text = xasprintf(redirect, "/loop");
        send_all(fd, text, strlen(text));
    } else {
        static const char missing[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 14\r\n"
                                      "Connection: close\r\n\r\n<html>no</html>";
        send_all(fd, missing, sizeof(missing) - 1);
    }
}

static void *serve(void *context)
{
    struct http_server *server = context;
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (atomic_load(&server->stopping)) {
            close(fd);
            return NULL;
        }
        answer(server, fd);
        shutdown(fd, SHUT_WR);
        close(fd);
    }
}

void http_server_start(struct http_server *server, const void *body, size_t length)
{
    *server = (struct http_server){.body = body, .length = length, .etag = "\"v1\""};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    signal(SIGPIPE, SIG_IGN); // a client that goes early
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 16), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

void http_server_stop(struct http_server *server)
{
    // accept() does not wake everywhere when its socket is closed: a last caller wakes it.
    atomic_store(&server->stopping, true);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    pthread_join(server->thread, NULL);
    close(fd);
    close(server->listener);
}

char *http_server_url(const struct http_server *server, const char *path)
{
    return xasprintf("http://127.0.0.1:%u%s", server->port, path);
}
