// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_ACCELERATOR_H
#define PROVIDER_ACCELERATOR_H

#include <stdbool.h>

#include "provider/hypervisor.h"

// How qemu runs the guest's instructions: tools->accelerator and, for a fallback, tools->notice,
// from tools->hypervisor and ->arch. There is always an answer. `cache` is the file that
// remembers what the host's KVM is good for.
void accelerator_choose(struct tools *tools, const char *cache);

// Whether KVM works, which `device` being there does not say: nested and emulated KVMs can fail
// at the first instruction they do not know, or run a kernel slower than TCG does. So a test
// guest is run that does what a kernel's first steps do. If it is not usable, `reason` says why;
// the caller frees.
bool accelerator_kvm_works(const struct tools *tools, const char *device, const char *cache,
                           char **reason);

// qemu's version by --version. false: it cannot be told.
bool accelerator_qemu_version(const char *qemu, unsigned *major, unsigned *minor);

#endif
