// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// krunkit's words, for 1.0.0 and later, the first with a card on an inherited descriptor;
// --timesync and `connect` of virtio-vsock are 1.2.0's (src/cmdline.rs, src/virtio.rs): see
// tests/contract/krunkit-1.2.1.options.

#include "provider/hypervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "provider/control.h"
#include "provider/guest.h"
#include "provider/machine.h"
#include "provider/preflight.h"
#include "provider/tool.h"
#include "provider/vsock.h"

// Its option parser cuts at every ',' and then at every '=' (src/cmdline.rs, parse_args).
static const char unspeakable[] = ",=";

static bool is_1_2(const struct tools *tools)
{
    return !version_known(&tools->hypervisor_version) ||
           version_at_least(&tools->hypervisor_version, 1, 2, 0);
}

static int krunkit_probe(struct tools *tools, const struct machine *m, struct error *err)
{
    static const char *const names[] = {"krunkit", NULL};
    static const char install[] =
        "install it with `brew tap slp/krun && brew install krunkit`, or choose another provider";
    char *folder;
    if (tool_find(&tools->hypervisor, names, install, err) < 0 ||
        tool_folder(&folder, tools->folder, m->name, unspeakable, err) < 0)
        return -1;
    free(tools->folder);
    tools->folder = folder;
    tools->hypervisor_version = version_of(tools->hypervisor);
    if (preflight_tool(tools->hypervisor, &tools->hypervisor_version, err) < 0)
        return -1;
    vsock_plan(tools, m, is_1_2(tools));
    return 0;
}

static int krunkit_share(struct tools *tools, const struct machine *m, struct error *err)
{
    return shares_speak(&tools->shares, m, unspeakable, err);
}

static int append_shares(const struct tools *tools, struct strvec *argv, struct error *err)
{
    for (size_t i = 0; i < tools->shares.count; i++) {
        const struct share *share = &tools->shares.items[i];
        if (strpbrk(share->path, unspeakable))
            return error_set(err, EINVAL, "krunkit cannot be told the path '%s'", share->path);
        strvec_push(argv, "--device");
        strvec_pushf(argv, "virtio-fs,sharedDir=%s,mountTag=%s", share->path, share->mount->tag);
    }
    return 0;
}

static int krunkit_append(const struct machine *m, const struct tools *tools,
                          const struct network_port *port, struct strvec *argv, struct error *err)
{
    const char *folder = tools->folder;
    if (strpbrk(folder, unspeakable))
        return error_set(err, EINVAL, "krunkit cannot be told the path '%s'", folder);

    strvec_push(argv, tools->hypervisor);
    strvec_push(argv, "--cpus");
    strvec_pushf(argv, "%llu", (unsigned long long)m->resources.cpus);
    strvec_push(argv, "--memory");
    strvec_pushf(argv, "%llu", (unsigned long long)m->resources.memory_mib);
    strvec_push(argv, "--bootloader");
    strvec_pushf(argv, "efi,variable-store=%s/efi-vars,create", folder);
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-blk,path=%s/disk.raw", folder);
    // All its disks are writable, and it has no USB: the seed is a second disk.
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-blk,path=%s/cidata.iso", folder);
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-serial,logFilePath=%s/serial.log", folder);
    // The card must agree with the other end about offload, so it is always said.
    strvec_push(argv, "--device");
    strvec_pushf(argv, "virtio-net,type=unixgram,fd=%d,mac=%s,offloading=%s", port->fd, m->mac,
                 port->offload ? "on" : "off");
    strvec_push(argv, "--device");
    strvec_push(argv, "virtio-rng");
    if (append_shares(tools, argv, err) < 0)
        return -1;
    vsock_append(argv, m, tools);
    if (is_1_2(tools)) {
        strvec_push(argv, "--timesync");
        strvec_pushf(argv, "vsockPort=%d", GUEST_VSOCK_QEMU_AGENT);
    }
    // Taken as it stands after unix:// (src/status.rs), whatever is in it.
    strvec_push(argv, "--restful-uri");
    strvec_pushf(argv, "unix://%s", tools->control);
    return 0;
}

// libkrun presses a key on a GPIO button, which a guest may or may not heed.
static int krunkit_power_off(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_CONTROL_SOCKET);
    return control_rest(path, "Stop", err);
}

const struct hypervisor hypervisor_krunkit = {
    .name = "krunkit",
    .offload = true,
    .cpu_limit = 255,          // a u8 in src/cmdline.rs
    .memory_limit_mib = 61440, // src/context.rs: room is left for the GPU's window
    .macos_floor = 14,         // its README and formula
    .arch = "aarch64",
    .probe = krunkit_probe,
    .share = krunkit_share,
    .append = krunkit_append,
    .power_off = krunkit_power_off,
};
