// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/vhost.h>
#include <linux/vm_sockets.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"

const char *const platform_name = "linux";
const char *const platform_default_provider = "qemu";
const char *const platform_providers[] = {"qemu", NULL};
const char *const platform_volumes[] = {"$HOME:$HOME", NULL};
const char *const platform_program_dirs[] = {"/usr/libexec", "/usr/lib/qemu", NULL};

const char *platform_arch(void)
{
    static struct utsname name; // filled with the same answer by every call
    if (uname(&name) < 0)
        return "unknown";
    return name.machine;
}

void platform_os_version(unsigned *major, unsigned *minor)
{
    *major = *minor = 0;
}

unsigned platform_cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

uint64_t platform_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

int platform_clone_file(const char *from, const char *to, struct error *err)
{
    cleanup_close int source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return error_errno(err, "cannot open '%s'", from);
    cleanup_close int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (target < 0)
        return error_errno(err, "cannot create '%s'", to);
    if (ioctl(target, FICLONE, source) == 0)
        return 0;
    int reason = errno;
    unlink(to);
    if (reason == EOPNOTSUPP || reason == ENOTTY || reason == EXDEV || reason == EINVAL ||
        reason == ENOSYS)
        return error_set(err, ENOTSUP, "cannot clone '%s' here", from);
    errno = reason;
    return error_errno(err, "cannot clone '%s' to '%s'", from, to);
}

int platform_sync(int fd)
{
    return fsync(fd);
}

char *platform_runtime_dir(void)
{
    const char *dir = getenv("XDG_RUNTIME_DIR");
    if (dir && *dir)
        return xstrdup(dir);
    if (getuid() == 0)
        return xstrdup("/run");
    cleanup_free char *run = xasprintf("/run/user/%u", (unsigned)getuid());
    if (access(run, W_OK) == 0)
        return steal_string(&run);
    const char *tmp = getenv("TMPDIR");
    return xasprintf("%s/storage-run-%u", tmp && *tmp ? tmp : "/tmp", (unsigned)getuid());
}

// One of many, so that VMs whose owners have chosen small ones by hand find them free. The kernel
// says of each whether it is (drivers/vhost/vsock.c, vhost_vsock_set_cid).
int platform_vhost_vsock(int *fd, unsigned *context_id, struct error *err)
{
    static const char device[] = "/dev/vhost-vsock";
    static const uint32_t lowest = 1 << 16, count = 1 << 30;
    cleanup_close int opened = open(device, O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return error_errno(err, "cannot open '%s'", device);
    for (int tries = 0; tries < 100; tries++) {
        uint32_t any;
        random_bytes(&any, sizeof(any));
        uint64_t id = lowest + any % count;
        if (ioctl(opened, VHOST_VSOCK_SET_GUEST_CID, &id) == 0) {
            *context_id = (unsigned)id;
            *fd = steal_fd(&opened);
            return 0;
        }
        if (errno != EADDRINUSE)
            break;
    }
    return error_errno(err, "cannot get a context id from '%s'", device);
}

int platform_vsock_connect(int *fd, unsigned context_id, unsigned port, struct error *err)
{
    struct sockaddr_vm address = {.svm_family = AF_VSOCK, .svm_cid = context_id, .svm_port = port};
    cleanup_close int sock = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return error_errno(err, "cannot make a vsock socket");
    if (connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
        return error_errno(err, "cannot connect to vsock port %u of the VM with context id %u",
                           port, context_id);
    *fd = steal_fd(&sock);
    return 0;
}

int platform_watch_exit(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

char *platform_boot_id(void)
{
    struct error err;
    CLEANUP(strbuf_release) struct strbuf id = STRBUF_INIT;
    if (file_read(&id, "/proc/sys/kernel/random/boot_id", 128, &err) < 0)
        return NULL;
    strbuf_truncate(&id, strcspn(id.text, "\n"));
    return strbuf_steal(&id);
}

char *platform_executable(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    return length > 0 && length < (ssize_t)sizeof(path) ? xstrndup(path, (size_t)length) : NULL;
}
