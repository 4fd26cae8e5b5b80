// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// vfkit's words: see tests/contract/vfkit-0.6.3.options. Its card has no offload: with
// vmnet-helper's turned on, the guest would be sent frames that it cannot take.

#include "provider/hypervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "provider/control.h"
#include "provider/guest.h"
#include "provider/machine.h"
#include "provider/preflight.h"
#include "provider/tool.h"
#include "provider/vsock.h"

// Devices are cut at ',' (pkg/config/virtio.go); the boot loader's list also takes '"' for quoting
// (pkg/cmdline/string_slice.go). '=' is cut only once, so it may be in a path.
static const char unspeakable[] = ",\"";
static const char unspeakable_to_devices[] = ",";

static int vfkit_probe(struct tools *tools, const struct machine *m, struct error *err)
{
    static const char *const names[] = {"vfkit", NULL};
    static const char install[] = "install it with `brew install vfkit`";
    char *folder;
    if (tool_find(&tools->hypervisor, names, install, err) < 0 ||
        tool_folder(&folder, tools->folder, m->name, unspeakable, err) < 0)
        return -1;
    free(tools->folder);
    tools->folder = folder;
    tools->hypervisor_version = version_of(tools->hypervisor);
    if (preflight_tool(tools->hypervisor, &tools->hypervisor_version, err) < 0)
        return -1;
    vsock_plan(tools, m, true);
    return 0;
}

// A path as a URI has it: vfkit parses one (pkg/rest/rest.go), so '%', '?' and '#' would be read.
static void add_uri_path(struct strbuf *uri, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/-._~";
    for (; *path; path++) {
        if (strchr(plain, *path))
            strbuf_addc(uri, *path);
        else
            strbuf_addf(uri, "%%%02X", (unsigned char)*path);
    }
}

static int vfkit_share(struct tools *tools, const struct machine *m, struct error *err)
{
    return shares_speak(&tools->shares, m, unspeakable_to_devices, err);
}

static int append_shares(const struct tools *tools, struct strvec *argv, struct error *err)
{
    for (size_t i = 0; i < tools->shares.count; i++) {
        const struct share *share = &tools->shares.items[i];
        if (strpbrk(share->path, unspeakable_to_devices))
            return error_set(err, EINVAL, "vfkit cannot be told the path '%s'", share->path);
        strvec_push(argv, "--device");
        strvec_pushf(argv, "virtio-fs,sharedDir=%s,mountTag=%s", share->path, share->mount->tag);
    }
    return 0;
}

static int vfkit_append(const struct machine *m, const struct tools *tools,
                        const struct network_port *port, struct strvec *argv, struct error *err)
{
    const char *folder = tools->folder;
    if (strpbrk(folder, unspeakable))
        return error_set(err, EINVAL, "vfkit cannot be told the path '%s'", folder);

    strvec_push(argv, tools->hypervisor);
    strvec_push(argv, "--cpus");
    strvec_pushf(argv, "%llu", (unsigned long long)m->resources.cpus);
    strvec_push(argv, "--memory");
    strvec_pushf(argv, "%llu", (unsigned long long)m->resources.memory_mib);
    strvec_push(argv, "--bootloader");
    strvec_pushf(argv, "efi,variable-store=%s/efi-vars,create", folder);
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-blk,path=%s/disk.raw", folder);
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-blk,path=%s/cidata.iso,readonly", folder);
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-serial,logFilePath=%s/serial.log", folder);
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-net,fd=%d,mac=%s", port->fd, m->mac);
    strvec_push(argv, "--device");
    strvec_push(argv, "virtio-rng");
    if (append_shares(tools, argv, err) < 0)
        return -1;
    vsock_append(argv, m, tools);
    strvec_push(argv, "--timesync");
    strvec_pushf(argv, "vsockPort=%d", GUEST_VSOCK_QEMU_AGENT);
    CLEANUP(strbuf_release) struct strbuf uri = STRBUF_INIT;
    strbuf_adds(&uri, "unix://");
    add_uri_path(&uri, tools->control);
    strvec_push(argv, "--restful-uri");
    strvec_push(argv, uri.text);
    return 0;
}

// Virtualization.framework's requestStop: the guest sees the power button.
static int vfkit_power_off(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_CONTROL_SOCKET);
    return control_rest(path, "Stop", err);
}

const struct hypervisor hypervisor_vfkit = {
    .name = "vfkit",
    .macos_floor = 13, // its README
    .probe = vfkit_probe,
    .share = vfkit_share,
    .append = vfkit_append,
    .power_off = vfkit_power_off,
};
