// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_HYPERVISOR_H
#define PROVIDER_HYPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "provider/share.h"
#include "provider/version.h"

struct machine;

// What the network gives the hypervisor to plug the guest's card into.
struct network_port {
    int fd;       // inherited datagram socket (4 under vmnet-run), or -1: user-mode network
    unsigned ssh; // user-mode: the port on 127.0.0.1 that leads to the guest's port 22
    bool offload; // TSO and checksum offload is on at the other end, so the card must agree
};

// What was found on this host; filled by hypervisor->probe and network->probe, so that the
// command line itself is a pure function of record and tools, tested against golden files.
struct tools {
    char *hypervisor;    // absolute path of krunkit, vfkit or qemu-system-*
    char *network;       // absolute path of vmnet-run; NULL: no wrapper
    char *firmware;      // qemu: UEFI code image
    char *firmware_vars; // qemu: template of the variable store; NULL: `firmware` is a -bios image
    const char *accelerator; // qemu: "kvm", "hvf", "tcg", "tcg,thread=single"; static text
    struct version hypervisor_version, network_version; // zeros: not known, taken for a new one
    bool offload;                                       // decided for this start (offload.h)
    char *notice;     // one line worth telling the user (a fallback), or NULL
    const char *arch; // "aarch64" or "x86_64"; static text
    char *folder;     // where the command line finds the machine's files: its folder, or a
                      // clean symbolic link to it where a path has ',' or '='
    char *control;    // where the hypervisor makes its control socket

    struct shares shares;     // folders for the guest, of this start
    char *virtiofsd;          // qemu: serves them; NULL: qemu does itself, by 9p
    bool virtiofsd_read_only; // it has --readonly

    // Unix sockets of the host that the hypervisor joins to vsock ports of guest.h; NULL: it
    // cannot. On `report` we listen; the others are made by the hypervisor.
    // What is said at `ssh` and `api` is in pieces (relay.h).
    struct {
        char *report, *ssh, *api, *shutdown;
    } vsock;
    // qemu: the device that leads to the guest's vsock ports, and the VM's context id by which the
    // host knows it; 0: there is none.
    struct {
        int fd;
        unsigned context_id;
    } vhost;
};

#define TOOLS_INIT \
    {              \
        0          \
    }
void tools_release(struct tools *tools);

struct hypervisor {
    const char *name;          // "krunkit"
    bool offload;              // its card can do TSO and checksum offload
    uint64_t cpu_limit;        // the most that its option parser takes; 0: no limit of its own
    uint64_t memory_limit_mib; // likewise
    unsigned macos_floor;      // the oldest macOS that it runs on; 0: it is not for macOS
    const char *arch;          // the only one that it runs on there; NULL: any

    // Finds the program and what else it needs, and checks that it can work here. ENOENT
    // lists the places searched and says what to install. `tools` comes with arch, folder and
    // control filled in; folder may be replaced by a link to it.
    int (*probe)(struct tools *tools, const struct machine *m, struct error *err);

    // Decides how tools->shares, filled in, are told to it and served.
    int (*share)(struct tools *tools, const struct machine *m, struct error *err);

    // Appends the hypervisor's words. Pure.
    int (*append)(const struct machine *m, const struct tools *tools,
                  const struct network_port *port, struct strvec *argv, struct error *err);

    // Asks the running VM at its control socket to power the guest off (ACPI button or the
    // like); does not wait. Within 5 s. An error means that this way is closed.
    int (*power_off)(const struct machine *m, struct error *err);
};

extern const struct hypervisor hypervisor_krunkit, hypervisor_vfkit, hypervisor_qemu;

#endif
