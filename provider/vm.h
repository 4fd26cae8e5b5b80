// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_VM_H
#define PROVIDER_VM_H

#include <sys/types.h>

#include "provider/machine.h"
#include "provider/provider.h"
#include "provider/virtiofsd.h"

// Starts what serves folders to the VM, and the VM's command line as a child in a process group of
// its own: stdin /dev/null, output to vm.log, the words to vm.argv, and a lock on vm.lock that
// lives exactly as long as the VM does, on a descriptor of 10 or above (vmnet-run takes 3 and 4 for
// itself). EBUSY if a VM is running on this machine already.
int vm_start(const struct machine *m, const struct provider *provider, struct sharers *sharers,
             pid_t *pid, struct error *err);

// After the end of the process that vm_start() gave: a wrapper that was killed leaves its helper,
// or even the hypervisor. Whoever has the VM's lock is given a moment, then killed (`pid` 0:
// nobody). The sockets of shares go.
void vm_end_remains(const struct machine *m, pid_t pid);

#endif
