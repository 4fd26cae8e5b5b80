// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "provider/machine.h"

static const size_t longest_line = 65536;
static const size_t most_addresses = 32;

static bool is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return text && (inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1);
}

static int take_fields(struct report *report, const json_t *root, struct error *err)
{
    const json_t *addresses = json_object_get(root, "addresses"), *address;
    size_t i;
    if (json_get_string(root, "state", &report->state, err) < 0 ||
        json_get_string(root, "detail", &report->detail, err) < 0)
        return -1;
    if (!report->state || !json_is_array(addresses))
        return error_set(err, EBADMSG, "a field is missing");
    json_array_foreach(addresses, i, address)
    {
        if (is_address(json_string_value(address)) && report->addresses.count < most_addresses)
            strvec_push(&report->addresses, json_string_value(address));
    }
    return 0;
}

static int from_json(struct report *report, const json_t *root, struct error *err)
{
    CLEANUP(report_release) struct report found = REPORT_INIT;
    if (take_fields(&found, root, err) < 0)
        return error_prefix(err, "not a report of a guest");
    *report = found;
    found = (struct report)REPORT_INIT;
    return 0;
}

int report_parse(struct report *report, const char *line, size_t length, struct error *err)
{
    cleanup_json json_t *root = json_loadb(line, length, 0, NULL);
    return from_json(report, root, err);
}

void report_release(struct report *report)
{
    free(report->state);
    free(report->detail);
    strvec_release(&report->addresses);
    *report = (struct report)REPORT_INIT;
}

int report_write(const char *machine, const struct report *report, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_REPORT);
    cleanup_json json_t *root = json_pack("{s:s, s:s*, s:[]}", "state", report->state, "detail",
                                          report->detail, "addresses");
    if (!root)
        return error_set(err, EINVAL, "cannot write '%s': a value is not valid UTF-8", path);
    for (size_t i = 0; i < report->addresses.count; i++)
        json_array_append_new(json_object_get(root, "addresses"),
                              json_string(report->addresses.items[i]));
    return json_write_file(path, root, 0600, err);
}

int report_read(struct report *report, const char *machine, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_REPORT);
    cleanup_json json_t *root = NULL;
    if (json_read_file(&root, path, err) < 0)
        return -1;
    return from_json(report, root, err);
}

void report_listener_init(struct report_listener *listener)
{
    listener->fd = -1;
    for (int i = 0; i < REPORT_CALLERS; i++) {
        listener->callers[i].fd = -1;
        listener->callers[i].unread = (struct strbuf)STRBUF_INIT;
    }
}

int report_listener_open(struct report_listener *listener, const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ENAMETOOLONG, "socket path '%s' is too long", path);
    strcpy(address.sun_path, path);
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return error_errno(err, "cannot make a socket");
    if (unlink(path) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", path);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
        listen(fd, REPORT_CALLERS) < 0)
        return error_errno(err, "cannot listen at '%s'", path);
    listener->fd = steal_fd(&fd);
    return 0;
}

static void hang_up(struct report_listener *listener, int caller)
{
    cleanup_close_fd(&listener->callers[caller].fd);
    listener->callers[caller].fd = -1;
    strbuf_reset(&listener->callers[caller].unread);
}

void report_listener_release(struct report_listener *listener)
{
    cleanup_close_fd(&listener->fd);
    listener->fd = -1;
    for (int i = 0; i < REPORT_CALLERS; i++) {
        hang_up(listener, i);
        strbuf_release(&listener->callers[i].unread);
    }
}

void report_listener_watch(const struct report_listener *listener, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = listener->fd, .events = POLLIN};
    for (int i = 0; i < REPORT_CALLERS; i++)
        fds[1 + i] = (struct pollfd){.fd = listener->callers[i].fd, .events = POLLIN};
}

// The hypervisor takes the guest's calls itself, and krunkit also when nobody is here: only this
// tells the guest that it is heard.
static void greet(int fd)
{
    static const char greeting[] = "hello\n";
    if (file_send_all(fd, greeting, strlen(greeting)) < 0)
        log_debug("cannot greet the guest: %s", strerror(errno));
}

static void take_caller(struct report_listener *listener)
{
    int fd = accept(listener->fd, NULL, NULL);
    if (fd < 0)
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    int free_one = 0;
    while (free_one < REPORT_CALLERS && listener->callers[free_one].fd >= 0)
        free_one++;
    // The newest is the guest of now; old ones may be of a connection that died unseen.
    if (free_one == REPORT_CALLERS)
        hang_up(listener, free_one = 0);
    listener->callers[free_one].fd = fd;
    greet(fd);
}

static void take_lines(struct strbuf *unread,
                       void (*take)(void *context, const struct report *report), void *context)
{
    char *end;
    while ((end = memchr(unread->text, '\n', unread->length))) {
        struct error err;
        CLEANUP(report_release) struct report report = REPORT_INIT;
        size_t length = (size_t)(end - unread->text);
        if (report_parse(&report, unread->text, length, &err) == 0)
            take(context, &report);
        else
            log_warn("%s", err.message);
        struct strbuf rest = STRBUF_INIT;
        strbuf_add(&rest, end + 1, unread->length - length - 1);
        strbuf_release(unread);
        *unread = rest;
    }
}

void report_listener_read(struct report_listener *listener, const struct pollfd *fds,
                          void (*take)(void *context, const struct report *report), void *context)
{
    for (int i = 0; i < REPORT_CALLERS; i++) {
        if (listener->callers[i].fd < 0 || !fds[1 + i].revents ||
            fds[1 + i].fd != listener->callers[i].fd)
            continue;
        char chunk[4096];
        ssize_t n = read(listener->callers[i].fd, chunk, sizeof(chunk));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n > 0)
            strbuf_add(&listener->callers[i].unread, chunk, (size_t)n);
        take_lines(&listener->callers[i].unread, take, context);
        if (n <= 0 || listener->callers[i].unread.length > longest_line)
            hang_up(listener, i);
    }
    if (fds[0].revents)
        take_caller(listener);
}
