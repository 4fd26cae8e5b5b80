// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/localhost.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "provider/guest_session.h"
#include "provider/paths.h"
#include "provider/port.h"
#include "provider/published.h"

static const int64_t retry_ms = 10000; // of ports that could not be had
static const int64_t request_ms = 10000;
static const int64_t first_pause_ms = 2000, longest_pause_ms = 60000;
static const int64_t steady_ms = 60000; // a connection that held longer begins the pauses anew
static const size_t longest_line = 4 << 20;

struct forward {
    struct published_port at; // owned
    bool up;
    char *reason; // why it is not; NULL when it is
};

struct localhost {
    const struct machine *m;
    int life;
    char *control; // the connection's socket, relative to the folder we are in
    pid_t ssh;     // the connection
    int in, out;   // its ends of pipes: it ends when `in` is closed; `out` brings the lists
    struct strbuf unread;
    struct forward *forwards;
    size_t count;
    bool cut;
    char *told; // what was last written
};

// --- what is told -------------------------------------------------------------------------------

json_t *localhost_ports(const char *machine)
{
    struct error ignored;
    cleanup_free char *path = machine_path(machine, MACHINE_PORTS);
    cleanup_json json_t *root = NULL;
    json_t *ports = NULL;
    if (json_read_file(&root, path, &ignored) == 0)
        ports = json_object_get(root, "ports");
    return json_is_array(ports) ? json_incref(ports) : json_array();
}

static void tell(struct localhost *here)
{
    struct error err;
    cleanup_free char *path = machine_path(here->m->name, MACHINE_PORTS);
    cleanup_json json_t *root = json_pack("{s:[]}", "ports");
    for (size_t i = 0; i < here->count; i++) {
        const struct forward *forward = &here->forwards[i];
        json_array_append_new(
            json_object_get(root, "ports"),
            json_pack("{s:I, s:s, s:s, s:b, s:s}", "Port", (json_int_t)forward->at.port, "Protocol",
                      forward->at.protocol, "Address", forward->at.address, "Forwarded",
                      forward->up, "Reason", forward->reason ? forward->reason : ""));
    }
    cleanup_free char *text = json_compact(root);
    if (here->told && strcmp(text, here->told) == 0)
        return;
    if (json_write_file(path, root, 0600, &err) < 0)
        log_error("%s", err.message);
    free(here->told);
    here->told = steal_string(&text);
}

// --- single ports -------------------------------------------------------------------------------

static void forward_release(struct forward *forward)
{
    free(forward->at.protocol);
    free(forward->at.address);
    free(forward->reason);
}

static bool is_tcp(const struct published_port *port)
{
    return strcmp(port->protocol, "tcp") == 0;
}

// Asks the connection: `request` is OpenSSH's "forward" or "cancel".
static int ask(const struct localhost *here, const char *request, const struct published_port *port,
               struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    bool v6 = strchr(port->address, ':') != NULL;
    if (guest_client_argv(&argv, here->m, "127.0.0.1", (unsigned)here->m->ssh.port, NULL, err) < 0)
        return -1;
    strvec_push(&argv, "-o");
    strvec_pushf(&argv, "ControlPath=%s", here->control);
    strvec_push(&argv, "-O");
    strvec_push(&argv, request);
    strvec_push(&argv, "-L");
    strvec_pushf(&argv, "127.0.0.1:%u:%s%s%s:%u", port->port, v6 ? "[" : "", port->address,
                 v6 ? "]" : "", port->port);
    return process_run_within(&argv, request_ms, NULL, &words, err);
}

static int try_forward(const struct localhost *here, const struct published_port *port,
                       struct error *err)
{
    if (!is_tcp(port))
        return error_set(err, ENOTSUP, "only tcp ports are forwarded");
    if (port->port == here->m->ssh.port)
        return error_set(err, EADDRINUSE, "it is the machine's own ssh port");
    if (port_check_free(port->port, err) < 0)
        return -1;
    return ask(here, "forward", port, err);
}

static void bring_up(const struct localhost *here, struct forward *forward)
{
    struct error err;
    const struct published_port *port = &forward->at;
    forward->up = try_forward(here, port, &err) == 0;
    if (forward->up) {
        free(forward->reason);
        forward->reason = NULL;
        log_info("127.0.0.1:%u leads to port %u of the guest", port->port, port->port);
        return;
    }
    if (!forward->reason || strcmp(forward->reason, err.message) != 0)
        log_warn("port %u/%s of the guest is not forwarded: %s", port->port, port->protocol,
                 err.message);
    free(forward->reason);
    forward->reason = xstrdup(err.message);
}

static void take_down(const struct localhost *here, const struct forward *forward)
{
    struct error err;
    if (!forward->up)
        return;
    if (ask(here, "cancel", &forward->at, &err) < 0)
        log_error("%s", err.message);
    else
        log_info("127.0.0.1:%u is closed", forward->at.port);
}

// --- all of them --------------------------------------------------------------------------------

static bool is_same(const struct published_port *a, const struct published_port *b)
{
    return a->port == b->port && strcmp(a->protocol, b->protocol) == 0 &&
           strcmp(a->address, b->address) == 0;
}

static bool is_wanted(const struct published *wanted, const struct published_port *port)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (is_same(&wanted->ports[i], port))
            return true;
    return false;
}

static struct forward *find(const struct localhost *here, const struct published_port *port)
{
    for (size_t i = 0; i < here->count; i++)
        if (is_same(&here->forwards[i].at, port))
            return &here->forwards[i];
    return NULL;
}

static void drop_unwanted(struct localhost *here, const struct published *wanted)
{
    size_t kept = 0;
    for (size_t i = 0; i < here->count; i++) {
        struct forward *forward = &here->forwards[i];
        if (is_wanted(wanted, &forward->at)) {
            here->forwards[kept++] = *forward;
            continue;
        }
        take_down(here, forward);
        forward_release(forward);
    }
    here->count = kept;
}

static void add_wanted(struct localhost *here, const struct published *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct published_port *port = &wanted->ports[i];
        if (find(here, port))
            continue;
        here->forwards[here->count++] = (struct forward){.at = {.port = port->port,
                                                                .protocol = xstrdup(port->protocol),
                                                                .address = xstrdup(port->address)}};
    }
}

// True: some that could be had at another time could not be had now.
static bool bring_all_up(struct localhost *here)
{
    bool missing = false;
    for (size_t i = 0; i < here->count; i++) {
        struct forward *forward = &here->forwards[i];
        if (!forward->up)
            bring_up(here, forward);
        missing = missing || (!forward->up && is_tcp(&forward->at));
    }
    tell(here);
    return missing;
}

static void take_list(struct localhost *here, const char *line, size_t length)
{
    struct error err;
    CLEANUP(published_release) struct published wanted = PUBLISHED_INIT;
    if (published_parse(&wanted, line, length, &err) < 0) {
        log_warn("%s", err.message);
        return;
    }
    if (wanted.cut && !here->cut)
        log_warn("more than %d ports are published: the rest is not forwarded", PUBLISHED_MOST);
    here->cut = wanted.cut;
    drop_unwanted(here, &wanted);
    add_wanted(here, &wanted);
}

// --- the connection -----------------------------------------------------------------------------

static int connection_argv(const struct localhost *here, struct strvec *argv, struct error *err)
{
    static const char *const words[] = {
        "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ControlMaster=yes",
        "-o", NULL};
    if (guest_client_argv(argv, here->m, "127.0.0.1", (unsigned)here->m->ssh.port, NULL, err) < 0)
        return -1;
    strvec_pushv(argv, words);
    strvec_pushf(argv, "ControlPath=%s", here->control);
    strvec_take(argv, published_command(here->m));
    return 0;
}

static int make_pipe(int ends[2], struct error *err)
{
    if (pipe(ends) < 0)
        return error_errno(err, "cannot make a pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int start_connection(struct localhost *here, struct error *err)
{
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    int in[2], out[2];
    if (connection_argv(here, &argv, err) < 0 || make_pipe(in, err) < 0)
        return -1;
    cleanup_close int in_read = in[0], in_write = in[1];
    if (make_pipe(out, err) < 0)
        return -1;
    cleanup_close int out_read = out[0], out_write = out[1];
    unlink(here->control); // with a stale one OpenSSH would go on without
    here->ssh = fork();
    if (here->ssh < 0)
        return error_errno(err, "cannot fork");
    if (here->ssh == 0) {
        dup2(in_read, STDIN_FILENO);
        dup2(out_write, STDOUT_FILENO);
        process_exec(&argv, err);
        log_error("%s", err->message);
        _exit(127);
    }
    here->in = steal_fd(&in_write);
    here->out = steal_fd(&out_read);
    return 0;
}

// Nothing is forwarded any more.
static void end_connection(struct localhost *here)
{
    cleanup_close_fd(&here->in);
    cleanup_close_fd(&here->out);
    here->in = here->out = -1;
    process_end(&here->ssh);
    unlink(here->control);
    for (size_t i = 0; i < here->count; i++)
        forward_release(&here->forwards[i]);
    here->count = 0;
    strbuf_reset(&here->unread);
    tell(here);
}

// False: the connection has ended.
static bool read_lists(struct localhost *here)
{
    char chunk[65536];
    ssize_t n = read(here->out, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    strbuf_add(&here->unread, chunk, (size_t)n);
    char *end;
    while ((end = memchr(here->unread.text, '\n', here->unread.length))) {
        size_t length = (size_t)(end - here->unread.text);
        take_list(here, here->unread.text, length);
        struct strbuf rest = STRBUF_INIT;
        strbuf_add(&rest, end + 1, here->unread.length - length - 1);
        strbuf_release(&here->unread);
        here->unread = rest;
    }
    return here->unread.length <= longest_line;
}

static bool is_over(const struct localhost *here, int64_t patience_ms)
{
    struct pollfd life = {.fd = here->life, .events = POLLIN};
    return poll(&life, 1, (int)patience_ms) > 0;
}

static void follow(struct localhost *here)
{
    bool missing = false;
    while (!is_over(here, 0)) {
        struct pollfd fds[2] = {{.fd = here->out, .events = POLLIN},
                                {.fd = here->life, .events = POLLIN}};
        if (poll(fds, 2, missing ? (int)retry_ms : -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents && !read_lists(here))
            return;
        missing = bring_all_up(here);
    }
}

_Noreturn void localhost_run(const struct machine *m, int life)
{
    struct error err;
    cleanup_free char *runtime = paths_runtime();
    struct localhost here = {
        .m = m,
        .life = life,
        // OpenSSH needs 17 bytes more than the path, which there is no room for in all folders.
        .control = xasprintf("%s-ports.sock", m->name),
        .in = -1,
        .out = -1,
        .unread = STRBUF_INIT,
        .forwards = xcalloc(PUBLISHED_MOST, sizeof(struct forward)),
    };
    int64_t pause_ms = first_pause_ms;
    setpgid(0, 0);
    if (chdir(runtime) < 0)
        log_error("cannot enter folder '%s': %s", runtime, strerror(errno));
    do {
        int64_t begun_ms = clock_monotonic_ms();
        if (start_connection(&here, &err) == 0)
            follow(&here);
        else
            log_error("%s", err.message);
        end_connection(&here);
        if (clock_monotonic_ms() - begun_ms > steady_ms)
            pause_ms = first_pause_ms;
        else if (pause_ms < longest_pause_ms)
            pause_ms *= 2;
    } while (!is_over(&here, pause_ms));
    _exit(0);
}

void localhost_end(pid_t *pid, const char *machine)
{
    static const enum machine_file files[] = {MACHINE_PORTS, MACHINE_PORTS_SOCKET};
    if (*pid > 0)
        kill(-*pid, SIGKILL);
    process_end(pid);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        cleanup_free char *path = machine_path(machine, files[i]);
        unlink(path);
    }
}
