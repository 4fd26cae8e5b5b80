// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// Linux's vhost-vsock, as a library to preload where the host has none: /dev/vhost-vsock, and the
// client's side of AF_VSOCK. The ports of the VM with the context id N are the unix sockets
// $PMV_VSOCK/N/PORT. What is played, of drivers/vhost/vsock.c and net/vmw_vsock of Linux 6.1: an
// id is the open device's for as long as a process has it, and no other's; the first three are
// nobody's; who calls a port where nobody listens is reset, who calls no VM finds no device.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/vhost.h>
#include <linux/vm_sockets.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *folder(void)
{
    return getenv("PMV_VSOCK");
}

// What the name of a function leads to beneath this library.
static void next(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof(found));
}

// The device is a socket; its id is the name that it is bound to, which the kernel gives to one
// socket only, and takes back at the last close.
static int open_device(int flags)
{
    if (access(folder(), W_OK) < 0)
        return -1;
    return socket(AF_UNIX, SOCK_DGRAM | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0), 0);
}

static int set_context_id(int fd, uint64_t id)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (id <= VMADDR_CID_HOST || id >= UINT32_MAX) {
        errno = EINVAL;
        return -1;
    }
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s/%llu", folder(),
                          (unsigned long long)id);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return bind(fd, (struct sockaddr *)&address, size);
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                             \
    int name(const char *path, int flags, ...)                 \
    {                                                          \
        int (*real)(const char *, int, ...);                   \
        va_list more;                                          \
        va_start(more, flags);                                 \
        mode_t mode = mode_of(flags, more);                    \
        va_end(more);                                          \
        if (folder() && strcmp(path, "/dev/vhost-vsock") == 0) \
            return open_device(flags);                         \
        next(#name, &real);                                    \
        return real(path, flags, mode);                        \
    }

int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);
OPEN(open)
OPEN(open64)

int ioctl(int fd, unsigned long request, ...)
{
    int (*real)(int, unsigned long, ...);
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (folder() && request == VHOST_VSOCK_SET_GUEST_CID) {
        uint64_t id;
        memcpy(&id, argument, sizeof(id));
        return set_context_id(fd, id);
    }
    next("ioctl", &real);
    return real(fd, request, argument);
}

int socket(int domain, int type, int protocol)
{
    int (*real)(int, int, int);
    next("socket", &real);
    return real(folder() && domain == AF_VSOCK ? AF_UNIX : domain, type, protocol);
}

static int connect_port(int fd, const struct sockaddr_vm *vm,
                        int (*real)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/%u", folder(), vm->svm_cid);
    if (access(address.sun_path, F_OK) < 0) {
        errno = ENODEV;
        return -1;
    }
    snprintf(address.sun_path + length, sizeof(address.sun_path) - (size_t)length, "/%u",
             vm->svm_port);
    int result = real(fd, (struct sockaddr *)&address, sizeof(address));
    if (result < 0 && (errno == ENOENT || errno == ECONNREFUSED))
        errno = ECONNRESET;
    return result;
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    int (*real)(int, const struct sockaddr *, socklen_t);
    struct sockaddr_vm vm;
    next("connect", &real);
    if (!folder() || address->sa_family != AF_VSOCK || length < sizeof(vm))
        return real(fd, address, length);
    memcpy(&vm, address, sizeof(vm));
    return connect_port(fd, &vm, real);
}
