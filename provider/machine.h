// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_MACHINE_H
#define PROVIDER_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "provider/mount.h"
#include "provider/network_options.h"

// The record of a machine: what init decided and set may change, written to machine.json and
// nowhere else. What can be asked (running or not, when it last ran) is not in it. Owns its
// strings.
struct machine {
    char *name;
    char *provider;    // a row of the provider table
    char *mac;         // chosen once, so that the DHCP lease is stable
    char *instance_id; // cloud-init's, chosen once
    int64_t created_ns;
    struct {
        uint64_t cpus, memory_mib, disk_gib, swap_mib;
    } resources;
    struct {
        char *source, *digest; // digest: sha256 of the fetched file
    } image;
    struct {
        char *user;     // login name in the guest: "core"
        uint64_t uid;   // of that user in the guest
        char *identity; // absolute path of the private key; ours, or --identity
        uint64_t port;  // on 127.0.0.1 where the guest's sshd answers; 0: none chosen yet
    } ssh;
    bool rootful;
    bool rootful_changed; // since the guest was told of it
    char *timezone;       // NULL: the guest's own
    struct strvec dns;
    bool dns_changed;               // since the guest was told of it
    struct network_options network; // vmnet rows
    struct mounts mounts;           // in the order of the command line
    bool restart;                   // the monitor starts it again when it fails by itself
    bool import_native_ca; // each start gives the guest this host's trusted CA certificates
    bool localhost_ports;  // published ports are forwarded to this host's 127.0.0.1
};

#define MACHINE_INIT \
    {                \
        0            \
    }

enum machine_file {
    MACHINE_RECORD,         // machine.json
    MACHINE_DISK,           // disk.raw
    MACHINE_SEED,           // cidata.iso
    MACHINE_EFI_VARS,       // efi-vars
    MACHINE_KEY,            // id_ed25519, and .pub beside it
    MACHINE_HOST_KEY,       // host_ed25519, and .pub beside it: the guest's host key
    MACHINE_MONITOR_LOCK,   // held by the monitor for its life; holds its pid
    MACHINE_VM_LOCK,        // held by the VM for its life; holds its pid
    MACHINE_STATUS,         // status.json: phase, published by the monitor
    MACHINE_LAST_EXIT,      // last-exit.json: how the VM ended last
    MACHINE_VM_ARGV,        // vm.argv: the exact command line, for people
    MACHINE_VM_LOG,         // vm.log: what the hypervisor printed
    MACHINE_SERIAL_LOG,     // serial.log: the guest's console
    MACHINE_MONITOR_LOG,    // monitor.log
    MACHINE_KNOWN_HOSTS,    // known_hosts of this machine alone, for the ssh program
    MACHINE_LAUNCHD_PLIST,  // launchd.plist
    MACHINE_REPORT,         // report.json: what the guest said last, in this run
    MACHINE_VSOCK_TOKEN,    // vsock-token: what proves to the guest that we call
    MACHINE_CONTEXT_ID,     // context-id: of the VM's vhost-vsock device, in this run
    MACHINE_PLAYBOOK,       // playbook.yaml: what init --playbook gave
    MACHINE_PORTS,          // ports.json: what is forwarded to localhost, while it is
    MACHINE_CONTROL_SOCKET, // hypervisor's control socket (QMP or REST), in the runtime folder
    MACHINE_API_SOCKET,     // podman's API on the host, in the runtime folder
    MACHINE_PORTS_SOCKET,   // OpenSSH's, of the connection that forwards ports; likewise
    // In the runtime folder, of rows with vsock:
    MACHINE_REPORT_SOCKET,    // the monitor listens for the guest's reports
    MACHINE_SSH_SOCKET,       // leads to the guest's sshd, in pieces (relay.h)
    MACHINE_PODMAN_SOCKET,    // leads to the guest's podman, in pieces
    MACHINE_SHUTDOWN_SOCKET,  // leads to what powers the guest off
    MACHINE_API_TRIAL_SOCKET, // MACHINE_API_SOCKET until podman has answered there
    MACHINE_SSHD_SOCKET,      // ours: leads to the guest's sshd, as the machine's ssh port does
};

// podman's rules, texts and codes for a name (contract A.1, checks 1, 2 and 4). EINVAL.
int machine_check_name(const char *name, struct error *err);
int machine_check_user(const char *user, struct error *err);

// The caller frees. `name` must have passed machine_check_name().
char *machine_path(const char *name, enum machine_file file);
char *machine_folder(const char *name);

bool machine_exists(const char *name); // its record is there

// ENOENT with podman's text `NAME: VM does not exist`; EBADMSG if the record cannot be read.
int machine_load(struct machine *m, const char *name, struct error *err);
int machine_save(const struct machine *m, struct error *err);
void machine_release(struct machine *m);

// Makes MACHINE_VSOCK_TOKEN, 256 random bits in hexadecimal digits, if there is none yet.
int machine_make_token(const struct machine *m, struct error *err);

// Removes the machine's folder and sockets, the record last, so that a cut removal can be
// repeated. Absent is success. EBUSY: its monitor or its VM is there.
int machine_remove(const char *name, struct error *err);

// The names that have a record, sorted.
int machine_names(struct strvec *names, struct error *err);

// One lock per name for the length of a verb that changes something. Waits up to `timeout_ms`
// (-1: for ever), telling the user on stderr after a second. Made in <data>/locks, so that it
// outlives the machine's folder.
struct lock;
int machine_lock(struct lock *lock, const char *name, int64_t timeout_ms, struct error *err);

#endif
