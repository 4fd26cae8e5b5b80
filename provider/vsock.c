// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/vsock.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/process.h"
#include "provider/control.h"
#include "provider/guest.h"

static const int64_t challenge_ms = 15000; // seconds under software emulation
static const int64_t ask_ms = 10000;

static unsigned api_port(const struct machine *m)
{
    return m->rootful ? GUEST_VSOCK_API_ROOT : GUEST_VSOCK_API_USER;
}

// --- krunkit, vfkit -----------------------------------------------------------------------------

void vsock_plan(struct tools *tools, const struct machine *m, bool connects)
{
    tools->vsock.report = machine_path(m->name, MACHINE_REPORT_SOCKET);
    if (!connects)
        return;
    tools->vsock.ssh = machine_path(m->name, MACHINE_SSH_SOCKET);
    tools->vsock.api = machine_path(m->name, MACHINE_PODMAN_SOCKET);
    tools->vsock.shutdown = machine_path(m->name, MACHINE_SHUTDOWN_SOCKET);
}

// "listen": the host listens, on a socket that is ours, and the guest connects. "connect": the
// hypervisor makes the socket, and the guest listens.
static void add_device(struct strvec *argv, unsigned port, const char *path, const char *who)
{
    if (!path)
        return;
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-vsock,port=%u,socketURL=%s,%s", port, path, who);
}

void vsock_append(struct strvec *argv, const struct machine *m, const struct tools *tools)
{
    add_device(argv, GUEST_VSOCK_REPORT, tools->vsock.report, "listen");
    add_device(argv, GUEST_VSOCK_SSH, tools->vsock.ssh, "connect");
    add_device(argv, api_port(m), tools->vsock.api, "connect");
    add_device(argv, GUEST_VSOCK_CONTROL, tools->vsock.shutdown, "connect");
}

static int connect_unix(int *fd, const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ENAMETOOLONG, "socket path '%s' is too long", path);
    strcpy(address.sun_path, path);
    cleanup_close int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
        return error_errno(err, "cannot connect to '%s'", path);
    *fd = steal_fd(&sock);
    return 0;
}

// --- qemu ---------------------------------------------------------------------------------------

// qemu prints the device's properties and ends, with 1 where there is no such device.
bool vsock_known_to(const char *qemu)
{
    struct error ignored;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, qemu);
    strvec_push(&argv, "-device");
    strvec_push(&argv, "vhost-vsock-pci,help");
    int status = 0;
    return process_call(&argv, ask_ms, NULL, NULL, &status, &ignored) == 0 && status == 0;
}

void vsock_claim(struct tools *tools, const struct machine *m, const struct provider *provider)
{
    struct error err;
    cleanup_free char *token = machine_path(m->name, MACHINE_VSOCK_TOKEN);
    cleanup_free char *path = machine_path(m->name, MACHINE_CONTEXT_ID);
    // A machine without a token has a guest that would not answer.
    if (provider->vsock != VSOCK_VHOST || !file_exists(token))
        return;
    cleanup_close int fd = -1;
    unsigned id;
    if (platform_vhost_vsock(&fd, &id, &err) == 0 &&
        (vsock_known_to(tools->hypervisor) ||
         error_set(&err, ENOTSUP, "'%s' has no vhost-vsock-pci", tools->hypervisor) == 0)) {
        cleanup_free char *text = xasprintf("%u\n", id);
        if (file_write_atomic(path, text, strlen(text), 0600, &err) == 0) {
            tools->vhost.fd = steal_fd(&fd);
            tools->vhost.context_id = id;
            return;
        }
    }
    log_info("going on without vsock: %s", err.message);
}

static int read_context_id(unsigned *id, const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_CONTEXT_ID);
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (file_read(&text, path, 64, err) < 0)
        return -1;
    *id = (unsigned)strtoul(text.text, NULL, 10);
    return 0;
}

// A few bytes at most, in time; the count, 0 at the end.
static ssize_t read_in_time(int sock, char *bytes, size_t length, int64_t deadline_ms)
{
    struct pollfd wanted = {.fd = sock, .events = POLLIN};
    int64_t left_ms = deadline_ms - clock_monotonic_ms();
    if (left_ms <= 0 || poll(&wanted, 1, (int)left_ms) <= 0)
        return 0;
    return read(sock, bytes, length);
}

// The token itself is never said: whoever has got our VM's context id after it could hear it.
static int prove_token(int sock, const struct strbuf *token, struct error *err)
{
    char challenge[GUEST_VSOCK_CHALLENGE];
    int64_t deadline_ms = clock_monotonic_ms() + challenge_ms;
    for (size_t got = 0; got < sizeof(challenge);) {
        ssize_t n = read_in_time(sock, challenge + got, sizeof(challenge) - got, deadline_ms);
        if (n <= 0)
            return error_set(err, EPROTO, "the guest asks nothing");
        got += (size_t)n;
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (!HMAC(EVP_sha256(), token->text, (int)token->length, (const unsigned char *)challenge,
              sizeof(challenge), digest, &length))
        return error_set(err, ENOTSUP, "there is no HMAC-SHA256 here");
    if (file_send_all(sock, digest, length) < 0)
        return error_errno(err, "cannot answer the guest");
    return 0;
}

static int connect_vhost(int *fd, const struct machine *m, unsigned port, struct error *err)
{
    unsigned id;
    cleanup_free char *path = machine_path(m->name, MACHINE_VSOCK_TOKEN);
    CLEANUP(strbuf_release) struct strbuf token = STRBUF_INIT;
    cleanup_close int sock = -1;
    if (read_context_id(&id, m, err) < 0 || file_read(&token, path, 4096, err) < 0 ||
        platform_vsock_connect(&sock, id, port, err) < 0)
        return -1;
    if (prove_token(sock, &token, err) < 0)
        return error_prefix(err, "vsock port %u", port);
    *fd = steal_fd(&sock);
    return 0;
}

// --- both ---------------------------------------------------------------------------------------

int vsock_clear(const struct machine *m, struct error *err)
{
    static const enum machine_file files[] = {
        MACHINE_REPORT,          MACHINE_CONTEXT_ID,    MACHINE_REPORT_SOCKET,
        MACHINE_SSH_SOCKET,      MACHINE_PODMAN_SOCKET, MACHINE_API_SOCKET,
        MACHINE_SHUTDOWN_SOCKET, MACHINE_SSHD_SOCKET,   MACHINE_API_TRIAL_SOCKET};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        cleanup_free char *path = machine_path(m->name, files[i]);
        if (unlink(path) < 0 && errno != ENOENT)
            return error_errno(err, "cannot remove '%s'", path);
    }
    return 0;
}

bool vsock_is_there(const struct machine *m, const struct provider *provider)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_CONTEXT_ID);
    return provider->vsock == VSOCK_SOCKETS ||
           (provider->vsock == VSOCK_VHOST && file_exists(path));
}

int vsock_connect(int *fd, const struct machine *m, const struct provider *provider,
                  enum machine_file socket, struct error *err)
{
    const unsigned ports[] = {
        [MACHINE_SSH_SOCKET] = GUEST_VSOCK_SSH,
        [MACHINE_PODMAN_SOCKET] = api_port(m),
        [MACHINE_SHUTDOWN_SOCKET] = GUEST_VSOCK_CONTROL,
    };
    if (provider->vsock == VSOCK_VHOST)
        return connect_vhost(fd, m, ports[socket], err);
    cleanup_free char *path = machine_path(m->name, socket);
    return connect_unix(fd, path, err);
}

int vsock_shutdown(const struct machine *m, const struct provider *provider, struct error *err)
{
    cleanup_close int fd = -1;
    if (vsock_connect(&fd, m, provider, MACHINE_SHUTDOWN_SOCKET, err) < 0)
        return -1;
    return control_shutdown(fd, "the guest's control port", err);
}
