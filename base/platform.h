// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

// What only the operating system can tell or do: one file per system, chosen by meson. No
// other file asks which system it is built for.

extern const char *const platform_name;             // "darwin" or "linux", as Go says it
extern const char *const platform_default_provider; // "vmnet-krunkit", "vmnet-vfkit" or "qemu"
extern const char *const platform_providers[];      // those that can run here, up to NULL
// podman's default volumes, as init's --volume takes them, up to NULL.
extern const char *const platform_volumes[];
extern const char *const platform_program_dirs[]; // where helpers live besides $PATH, up to NULL

// The machine's architecture as images spell it: "aarch64" or "x86_64".
const char *platform_arch(void);

// Product version of macOS, as 26 and 2 for "26.2"; zeros elsewhere.
void platform_os_version(unsigned *major, unsigned *minor);

unsigned platform_cpu_count(void);
uint64_t platform_memory_bytes(void);

// Makes `to` a copy-on-write clone of `from`; `to` must not exist. ENOTSUP where the file
// system cannot: the caller copies.
int platform_clone_file(const char *from, const char *to, struct error *err);

// Flushes to the medium (F_FULLFSYNC on macOS). 0, or -1 with errno.
int platform_sync(int fd);

// The folder for sockets, without our own name: $TMPDIR on macOS and $XDG_RUNTIME_DIR on
// Linux, with podman's fallbacks (contract B.1). The caller frees.
char *platform_runtime_dir(void);

// A context id (vsock(7)) for a VM of this host, that no other VM has, as an open vhost-vsock
// device to hand to QEMU: it is the VM's for as long as a process has the device open.
// Close-on-exec; the caller closes. ENOTSUP, ENOENT, EACCES, ENODEV: this host has no vhost-vsock
// for us.
int platform_vhost_vsock(int *fd, unsigned *context_id, struct error *err);

// Connects to a vsock port of that VM. Within 2 s, the kernel's own patience; ECONNRESET: nobody
// listens there. The caller closes.
int platform_vsock_connect(int *fd, unsigned context_id, unsigned port, struct error *err);

// A descriptor that can be read (POLLIN) once the process has ended, reaped or not; close-on-exec.
// -1 with errno: ESRCH, or the system cannot. The caller closes.
int platform_watch_exit(pid_t pid);

// A name for this boot of the host, another one after each boot. The caller frees; NULL: not known.
char *platform_boot_id(void);

// The absolute path of the running executable. The caller frees; NULL: not known.
char *platform_executable(void);

#endif
