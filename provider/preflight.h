// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PREFLIGHT_H
#define PROVIDER_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "provider/version.h"

struct hypervisor;

// What keeps a hypervisor from working on this host, whatever is installed: macOS older than its
// floor, another architecture, a Mac that lets no program run VMs (`sysctl kern.hv_support`, which
// is 0 in a virtual machine without nested virtualization). init and start ask it before anything
// slow, doctor tells of it. ENOTSUP with what to do.
int preflight_host(const struct hypervisor *hypervisor, struct error *err);

// The versions of the tools: below `least` it cannot work, below `good` something is known to go
// wrong. Not for a version that is not known, which is taken for a new one.
//
// ENOTSUP: too old, with what to do.
int preflight_tool(const char *path, const struct version *version, struct error *err);

// "0.6.3 or later is recommended: `brew upgrade vfkit`"; NULL: it is good, or none of those that
// we know. The caller frees.
char *preflight_advice(const char *path, const struct version *version);

// OpenSSH's client, which makes the keys and the connections. ENOENT with what to do.
int preflight_ssh(struct error *err);

// What is free where machines are kept, in bytes. False: not known.
bool preflight_free_space(uint64_t *bytes);

// A small tool of the system, run to its end within ten seconds; false: it is not there, or it
// failed. Its stdout is put into `out`.
struct strbuf;
bool preflight_ask(struct strbuf *out, const char *const *words);

#endif
