// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CLOUDINIT_SEED_H
#define CLOUDINIT_SEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// The guest's side of the control plane: a program that serves these vsock ports to the host.
struct seed_vsock {
    const char *program;                       // in the guest: where it is kept
    unsigned report;                           // of the host: where reports go; 0: none do
    unsigned ssh, api_root, api_user, control; // of the guest
    const char *api_root_socket, *api_user_socket;
    const char *token; // known by who may call; NULL: only the hypervisor can
};

struct seed_volume {
    const char *tag;    // as the hypervisor gives it
    const char *target; // any absolute path
    bool read_only;
};

// The host's folders, mounted at every boot before anything of podman's.
struct seed_volumes {
    const struct seed_volume *items;
    size_t count;
    const char *program;           // in the guest: where the script that mounts them is kept
    const char *unit;              // in the guest: the systemd unit that runs it
    const char *state_file;        // in the guest: what became of them (provider/guest.h)
    const char *containers_config; // a target that is laid over what the guest has there
};

// What a guest is told at its first boot, as a NoCloud volume. Borrows everything.
struct seed {
    const char *instance_id; // fixed for the life of the machine: a new one would re-run it all
    const char *hostname;    // the machine's name will do: see seed_hostname()
    const char *user;        // "core"; gets passwordless sudo, lingering, subuids. Not root
    unsigned uid;            // of that user: the host user's, so that shared files keep their owner
    bool rootful;            // where /run/docker.sock points
    const char *public_key;  // one line of authorized_keys, for root and for the user
    const char *host_key;    // the guest's OpenSSH private host key (ed25519), PEM text
    const char *host_key_public;        // its public line
    const char *mac;                    // "52:54:00:12:34:56"; the interface that gets DHCP
    const char *const *dns;             // addresses, up to NULL; asked before those that DHCP gives
    const char *timezone;               // "Europe/Berlin"; NULL or empty: leave as it is
    bool agent_vsock;                   // qemu-guest-agent listens on vsock 1234 (krunkit, vfkit)
    const struct seed_vsock *vsock;     // NULL: the hypervisor has none
    const struct seed_volumes *volumes; // NULL: none
    const char *state_file;        // in the guest: where provisioning reports (provider/guest.h)
    const char *playbook;          // an Ansible playbook's text; NULL: none
    const char *playbook_file;     // in the guest: where it is kept until it is run
    const char *provision_program; // in the guest: where the provisioning script is kept
    const char *provision_unit;    // in the guest: the systemd unit that runs it
    const char *provider_name;     // written to the marker /etc/podman-machine-vmnet
};

// EINVAL, with the field's name, when a value cannot be used. seed_write() asks it too.
int seed_check(const struct seed *seed, struct error *err);

// Writes the ISO 9660 volume "cidata" with user-data, meta-data and network-config:
// atomically, mode 0600, since it carries the private host key.
int seed_write(const struct seed *seed, const char *iso_path, struct error *err);

// The host name that a machine of this name gets, and so its name in `.local`: machine names may
// hold what host names may not, `_` and `.`, which become `-`; at most 63 characters, none of the
// dashes at an end. Two machines can share a host name: it identifies nothing. The caller frees.
char *seed_hostname(const char *machine_name);

#endif
