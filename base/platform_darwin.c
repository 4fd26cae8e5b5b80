// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/clonefile.h>
#include <sys/event.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/alloc.h"

const char *const platform_name = "darwin";
#ifdef __arm64__
const char *const platform_default_provider = "vmnet-krunkit";
const char *const platform_providers[] = {"vmnet-krunkit", "vmnet-vfkit", NULL};
#else
const char *const platform_default_provider = "vmnet-vfkit";
const char *const platform_providers[] = {"vmnet-vfkit", NULL};
#endif

const char *const platform_volumes[] = {"/Users:/Users", "/private:/private",
                                        "/var/folders:/var/folders", NULL};

// vmnet-helper: `bin` from 1.0 on, `libexec` before, /opt by its own installer; podman's
// installer brings krunkit and vfkit to /opt/podman/bin. launchd and desktop programs do not
// have Homebrew on $PATH.
const char *const platform_program_dirs[] = {
    "/opt/homebrew/bin",
    "/opt/homebrew/opt/vmnet-helper/bin",
    "/opt/homebrew/opt/vmnet-helper/libexec",
    "/usr/local/bin",
    "/usr/local/opt/vmnet-helper/bin",
    "/usr/local/opt/vmnet-helper/libexec",
    "/opt/vmnet-helper/bin",
    "/opt/podman/bin",
    NULL,
};

const char *platform_arch(void)
{
#ifdef __arm64__
    return "aarch64";
#else
    return "x86_64";
#endif
}

void platform_os_version(unsigned *major, unsigned *minor)
{
    char text[32] = "";
    size_t size = sizeof(text) - 1;
    *major = *minor = 0;
    if (sysctlbyname("kern.osproductversion", text, &size, NULL, 0) == 0)
        sscanf(text, "%u.%u", major, minor);
}

unsigned platform_cpu_count(void)
{
    int count = 0;
    size_t size = sizeof(count);
    return sysctlbyname("hw.logicalcpu", &count, &size, NULL, 0) == 0 && count > 0 ? (unsigned)count
                                                                                   : 1;
}

uint64_t platform_memory_bytes(void)
{
    uint64_t bytes = 0;
    size_t size = sizeof(bytes);
    return sysctlbyname("hw.memsize", &bytes, &size, NULL, 0) == 0 ? bytes : 0;
}

int platform_clone_file(const char *from, const char *to, struct error *err)
{
    if (clonefile(from, to, 0) == 0)
        return 0;
    if (errno == ENOTSUP || errno == EXDEV)
        return error_set(err, ENOTSUP, "cannot clone '%s' here", from);
    return error_errno(err, "cannot clone '%s' to '%s'", from, to);
}

int platform_sync(int fd)
{
    // fsync alone leaves the data in the drive's cache; some file systems know no more. But what
    // the drive could not write must not be taken as written.
    if (fcntl(fd, F_FULLFSYNC) == 0)
        return 0;
    return errno == EIO ? -1 : fsync(fd);
}

char *platform_runtime_dir(void)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    return xstrndup(dir, length);
}

// Apple's hypervisor joins vsock ports to unix sockets itself.
int platform_vhost_vsock(int *fd, unsigned *context_id, struct error *err)
{
    (void)fd, (void)context_id;
    return error_set(err, ENOTSUP, "macOS has no vhost-vsock");
}

int platform_vsock_connect(int *fd, unsigned context_id, unsigned port, struct error *err)
{
    (void)fd, (void)context_id, (void)port;
    return error_set(err, ENOTSUP, "macOS has no vsock of its own");
}

int platform_watch_exit(pid_t pid)
{
    int queue = kqueue();
    if (queue < 0)
        return -1;
    fcntl(queue, F_SETFD, FD_CLOEXEC);
    struct kevent wanted;
    EV_SET(&wanted, (uintptr_t)pid, EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0, NULL);
    if (kevent(queue, &wanted, 1, NULL, 0, NULL) == 0)
        return queue;
    int reason = errno;
    close(queue);
    errno = reason;
    return -1;
}

char *platform_boot_id(void)
{
    char id[64] = "";
    size_t size = sizeof(id) - 1;
    if (sysctlbyname("kern.bootsessionuuid", id, &size, NULL, 0) < 0 || !*id)
        return NULL;
    return xstrdup(id);
}

char *platform_executable(void)
{
    char path[PATH_MAX];
    uint32_t size = sizeof(path);
    return _NSGetExecutablePath(path, &size) == 0 ? realpath(path, NULL) : NULL;
}
