// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// qemu's words, for 7.2 to 11. No defaults are used: every device is one that is named here.
//
// Both consoles that an image may have chosen, the serial port (Fedora) and virtio's hvc0, are
// joined in one serial.log by a multiplexer, which is also where the firmware and the boot loader
// write; what a guest says is in one place, in order, whatever its command line was.

#include "provider/hypervisor.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "provider/accelerator.h"
#include "provider/control.h"
#include "provider/firmware.h"
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/tool.h"
#include "provider/virtiofsd.h"

static int qemu_probe(struct tools *tools, const struct machine *m, struct error *err)
{
    cleanup_free char *program = xasprintf("qemu-system-%s", tools->arch);
    const char *const names[] = {program, "qemu-kvm", NULL};
    static const char install[] = "install it with `apt install qemu-system` or "
                                  "`dnf install qemu-kvm`";
    if (tool_find(&tools->hypervisor, names, install, err) < 0)
        return -1;

    cleanup_free char *folder = paths_cache();
    cleanup_free char *cache = xasprintf("%s/kvm-probe.json", folder);
    accelerator_choose(tools, cache);
    if (firmware_find(tools, "", err) < 0)
        return -1;
    // Before init has made the folder there is nothing to keep variables in yet.
    if (!tools->firmware_vars || !file_exists(tools->folder))
        return 0;
    cleanup_free char *vars = machine_path(m->name, MACHINE_EFI_VARS);
    return firmware_make_vars(tools->firmware_vars, vars, err);
}

static bool is_tcg(const struct tools *tools)
{
    return strncmp(tools->accelerator, "tcg", 3) == 0;
}

// qemu's own escape: a ',' in a value is doubled.
static void add_escaped(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == ',')
            strbuf_addc(out, ',');
        strbuf_addc(out, *text);
    }
}

// Pushes an option whose value ends in a path.
static void push_path(struct strvec *argv, const char *option, const char *value,
                      const char *folder, const char *file)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, value);
    add_escaped(&text, folder);
    strbuf_adds(&text, file);
    strvec_push(argv, option);
    strvec_push(argv, text.text);
}

static void push(struct strvec *argv, const char *option, const char *value)
{
    strvec_push(argv, option);
    strvec_push(argv, value);
}

// virtiofsd, where there is one: it is fast, and the cloud kernels of Debian have no 9p.
static int qemu_share(struct tools *tools, const struct machine *m, struct error *err)
{
    (void)err;
    if (virtiofsd_find(&tools->virtiofsd, &tools->virtiofsd_read_only))
        shares_give_sockets(&tools->shares, m);
    return 0;
}

static void append_share(const struct share *share, size_t number, struct strvec *argv)
{
    const struct mount *mount = share->mount;
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (share->socket) {
        strbuf_addf(&text, "socket,id=fs%zu,path=", number);
        push_path(argv, "-chardev", text.text, share->socket, "");
        strvec_push(argv, "-device");
        strvec_pushf(argv, "vhost-user-fs-pci,queue-size=1024,chardev=fs%zu,tag=%s", number,
                     mount->tag);
        return;
    }
    // Not -virtfs, which makes an id of the tag: an id begins with a letter.
    strbuf_addf(&text, "local,id=fs%zu,security_model=%s%s,", number, mount->security_model,
                mount->read_only ? ",readonly=on" : "");
    // Files of several file systems may have one number; remapped, they stay different files.
    strbuf_adds(&text, "multidevs=remap,path=");
    push_path(argv, "-fsdev", text.text, share->path, "");
    strvec_push(argv, "-device");
    strvec_pushf(argv, "virtio-9p-pci,fsdev=fs%zu,mount_tag=%.*s", number, MOUNT_TAG_9P_LENGTH,
                 mount->tag);
}

// What virtiofsd serves it reads from and writes to the guest's memory itself.
static bool shares_memory(const struct tools *tools)
{
    return tools->shares.count && tools->shares.items[0].socket;
}

static void append_shares(const struct machine *m, const struct tools *tools, struct strvec *argv)
{
    if (shares_memory(tools)) {
        strvec_push(argv, "-object");
        strvec_pushf(argv, "memory-backend-memfd,id=memory,share=on,size=%lluM",
                     (unsigned long long)m->resources.memory_mib);
    }
    for (size_t i = 0; i < tools->shares.count; i++)
        append_share(&tools->shares.items[i], i, argv);
}

static void append_processor(const struct tools *tools, struct strvec *argv)
{
    bool tcg = is_tcg(tools);
    const char *memory = shares_memory(tools) ? ",memory-backend=memory" : "";
    strvec_push(argv, "-machine");
    if (strcmp(tools->arch, "x86_64") == 0) {
        // Without what no cloud image drives and firmware would only spend time on. SMM is for
        // Secure Boot, which is off.
        strvec_pushf(argv, "q35,smm=off,vmport=off,hpet=off,usb=off,sata=off,smbus=off%s", memory);
        // Five-level page tables cost TCG time, and AMD's virtualization a module that is of no
        // use under it.
        push(argv, "-cpu", tcg ? "max,-la57,-svm" : "host");
    } else {
        // The default interrupt controller has eight processors at most.
        strvec_pushf(argv, "virt,gic-version=max%s", memory);
        // Pointer authentication by the real algorithm takes TCG half of its time.
        push(argv, "-cpu", tcg ? "max,pauth-impdef=on" : "host");
    }
    strvec_push(argv, "-accel");
    if (!tcg)
        strvec_push(argv, tools->accelerator);
    else if (strcmp(tools->accelerator, "tcg") == 0)
        strvec_push(argv, "tcg,thread=multi,tb-size=1024");
    else
        strvec_pushf(argv, "%s,tb-size=1024", tools->accelerator);
}

static void append_firmware(const struct tools *tools, struct strvec *argv)
{
    if (!tools->firmware_vars) {
        push(argv, "-bios", tools->firmware);
        return;
    }
    push_path(argv, "-drive", "if=pflash,unit=0,format=raw,readonly=on,file=", tools->firmware, "");
    push_path(argv, "-drive", "if=pflash,unit=1,format=raw,file=", tools->folder, "/efi-vars");
}

static int qemu_append(const struct machine *m, const struct tools *tools,
                       const struct network_port *port, struct strvec *argv, struct error *err)
{
    (void)err;
    const char *folder = tools->folder;
    strvec_push(argv, tools->hypervisor);
    push(argv, "-name", m->name);
    strvec_push(argv, "-nodefaults");
    strvec_push(argv, "-no-user-config");
    push(argv, "-display", "none");
    append_processor(tools, argv);
    strvec_push(argv, "-smp");
    strvec_pushf(argv, "%llu", (unsigned long long)m->resources.cpus);
    strvec_push(argv, "-m");
    strvec_pushf(argv, "%lluM", (unsigned long long)m->resources.memory_mib);
    append_firmware(tools, argv);

    // Write-back honours the guest's flushes; freed blocks are given back to the host.
    push_path(argv, "-drive",
              "if=none,id=disk,format=raw,cache=writeback,discard=unmap,file=", folder,
              "/disk.raw");
    push(argv, "-device", "virtio-blk-pci,drive=disk,bootindex=0");
    push_path(argv, "-drive", "if=none,id=seed,format=raw,readonly=on,file=", folder,
              "/cidata.iso");
    push(argv, "-device", "virtio-blk-pci,drive=seed");

    strvec_push(argv, "-netdev");
    strvec_pushf(argv, "user,id=net0,hostfwd=tcp:127.0.0.1:%u-:22", port->ssh);
    strvec_push(argv, "-device");
    strvec_pushf(argv, "virtio-net-pci,netdev=net0,mac=%s,romfile=", m->mac);

    push_path(argv, "-chardev", "file,id=console,mux=on,path=", folder, "/serial.log");
    push(argv, "-serial", "chardev:console");
    push(argv, "-device", "virtio-serial-pci");
    push(argv, "-device", "virtconsole,chardev=console");
    push(argv, "-device", "virtio-rng-pci");

    if (tools->vhost.context_id) {
        strvec_push(argv, "-device");
        strvec_pushf(argv, "vhost-vsock-pci,guest-cid=%u,vhostfd=%d", tools->vhost.context_id,
                     tools->vhost.fd);
    }
    append_shares(m, tools, argv);
    push_path(argv, "-chardev", "socket,id=qmp,server=on,wait=off,path=", tools->control, "");
    push(argv, "-mon", "chardev=qmp,mode=control");
    return 0;
}

// The ACPI power button.
static int qemu_power_off(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_CONTROL_SOCKET);
    return control_qmp(path, "system_powerdown", err);
}

const struct hypervisor hypervisor_qemu = {
    .name = "qemu",
    .probe = qemu_probe,
    .share = qemu_share,
    .append = qemu_append,
    .power_off = qemu_power_off,
};
