// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_FIRMWARE_H
#define PROVIDER_FIRMWARE_H

#include "provider/hypervisor.h"

// UEFI for qemu, as distributions and Homebrew install it.
//
// Under TCG a single image loaded by -bios is preferred: in emulation it reaches the boot
// loader in 3.5 s where flash takes 6. It keeps its variables in memory only, which costs
// nothing here: the boot entry that Fedora's shim would store is found again by its fallback on
// each boot. Under KVM and HVF, where flash is as fast, code and variables are two flash
// images and the variables are the machine's own file, as on real hardware.

// Fills tools->firmware and tools->firmware_vars from tools->arch, ->accelerator and ->hypervisor
// (firmware that qemu brings lies beside it). `root` is put before every absolute path: "".
// ENOENT says what to install.
int firmware_find(struct tools *tools, const char *root, struct error *err);

// Makes the machine's variable store from the template; one of another size (the host's firmware
// was replaced by another build) is made anew, one of the same size is kept.
int firmware_make_vars(const char *template, const char *vars, struct error *err);

#endif
