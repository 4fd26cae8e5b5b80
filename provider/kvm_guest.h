// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_KVM_GUEST_H
#define PROVIDER_KVM_GUEST_H

#include "base/error.h"
#include "base/strvec.h"

// The smallest guest that tells a working KVM from a broken one: 256 bytes of firmware that go
// from reset to 64-bit mode, touch paging, the FPU and SSE as a kernel does, then count 200
// million, which a processor does in a tenth of a second and an instruction emulator in a minute.

// Writes the firmware image for "x86_64" or "aarch64". ENOTSUP: no guest for this architecture.
int kvm_guest_write(const char *path, const char *arch, struct error *err);

// Appends qemu's options to run it, but for the accelerator. It ends by itself with the exit
// status kvm_guest_status().
void kvm_guest_argv(struct strvec *argv, const char *path, const char *arch);
int kvm_guest_status(const char *arch);

#endif
