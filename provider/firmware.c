// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/firmware.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"

static const size_t largest_store = 80 << 20; // Arm's flash is 64 MiB
static const mode_t store_mode = 0600;

struct image {
    const char *arch;
    const char *code; // a path that does not begin with '/' lies beside qemu, in ../share/qemu
    const char *vars; // NULL: one image for -bios
};

// The first that is there wins. Builds with Secure Boot enforced are not in the list: they need
// SMM, and keys for whatever image the user brings. Fedora's 4 MiB builds are qcow2 and left out:
// the 2 MiB ones are beside them.
static const struct image images[] = {
    // Debian, Ubuntu
    {"x86_64", "/usr/share/ovmf/OVMF.fd", NULL},
    {"x86_64", "/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
    {"x86_64", "/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"},
    {"aarch64", "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd", NULL},
    {"aarch64", "/usr/share/AAVMF/AAVMF_CODE.no-secboot.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"},
    {"aarch64", "/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"},
    // Arch
    {"x86_64", "/usr/share/edk2/x64/OVMF.4m.fd", NULL},
    {"x86_64", "/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"},
    {"aarch64", "/usr/share/edk2/aarch64/QEMU_CODE.fd", "/usr/share/edk2/aarch64/QEMU_VARS.fd"},
    // Fedora, RHEL
    {"x86_64", "/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"},
    {"aarch64", "/usr/share/edk2/aarch64/QEMU_EFI.fd", NULL},
    {"aarch64", "/usr/share/edk2/aarch64/QEMU_EFI-pflash.raw",
     "/usr/share/edk2/aarch64/vars-template-pflash.raw"},
    // openSUSE
    {"x86_64", "/usr/share/qemu/ovmf-x86_64-4m-code.bin",
     "/usr/share/qemu/ovmf-x86_64-4m-vars.bin"},
    {"aarch64", "/usr/share/qemu/aavmf-aarch64-code.bin", "/usr/share/qemu/aavmf-aarch64-vars.bin"},
    // qemu's own, as Homebrew, MacPorts and Nix install it
    {"x86_64", "edk2-x86_64-code.fd", "edk2-i386-vars.fd"},
    {"aarch64", "edk2-aarch64-code.fd", "edk2-arm-vars.fd"},
};

static char *place(const struct tools *tools, const char *root, const char *path)
{
    if (path[0] == '/')
        return xasprintf("%s%s", root, path);
    cleanup_free char *copy = xstrdup(tools->hypervisor);
    return xasprintf("%s/../share/qemu/%s", dirname(copy), path);
}

// Whether the row's files are there; `tools` gets them.
static bool take(struct tools *tools, const char *root, const struct image *image)
{
    if (strcmp(image->arch, tools->arch) != 0)
        return false;
    cleanup_free char *code = place(tools, root, image->code);
    cleanup_free char *vars = image->vars ? place(tools, root, image->vars) : NULL;
    if (!file_exists(code) || (vars && !file_exists(vars)))
        return false;
    free(tools->firmware);
    free(tools->firmware_vars);
    tools->firmware = steal_string(&code);
    tools->firmware_vars = steal_string(&vars);
    return true;
}

int firmware_find(struct tools *tools, const char *root, struct error *err)
{
    bool prefer_single = strncmp(tools->accelerator, "tcg", 3) == 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < ARRAY_SIZE(images); i++)
            if ((images[i].vars == NULL) == (prefer_single == (pass == 0)) &&
                take(tools, root, &images[i]))
                return 0;
    bool arm = strcmp(tools->arch, "aarch64") == 0;
    return error_set(err, ENOENT,
                     "cannot find UEFI firmware for %s: install it with `apt install %s` or "
                     "`dnf install %s`",
                     tools->arch, arm ? "qemu-efi-aarch64" : "ovmf",
                     arm ? "edk2-aarch64" : "edk2-ovmf");
}

int firmware_make_vars(const char *template, const char *vars, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf content = STRBUF_INIT;
    if (file_read(&content, template, largest_store, err) < 0)
        return -1;
    uint64_t size, allocated;
    struct error absent;
    if (file_size(vars, &size, &allocated, &absent) == 0 && size == content.length)
        return 0;
    return file_write_atomic(vars, content.text, content.length, store_mode, err);
}
