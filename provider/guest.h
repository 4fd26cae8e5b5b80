// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_GUEST_H
#define PROVIDER_GUEST_H

// The agreement between the seed, which sets a guest up, and the host, which waits for it.

// Line 1 is the state: `running STEP` while provisioning is under way, `done`, or
// `failed STEP` with the reason on the lines after it. Absent: cloud-init is not there yet.
// Written by temp + rename. `done` outlives a reboot; anything else is tried again by the next
// boot.
#define GUEST_STATE_FILE "/var/lib/podman-machine-vmnet/state"

// What provisioning has to say though it succeeded: lines for people, shown by the start that finds
// them and removed then. Beside the state file, of which the script knows.
#define GUEST_NOTICE_FILE "/var/lib/podman-machine-vmnet/notice"

// The playbook of init --playbook, until provisioning runs it.
#define GUEST_PLAYBOOK_FILE "/var/lib/podman-machine-vmnet/playbook.yaml"

// What start --import-native-ca put into the guest's trust store.
#define GUEST_NATIVE_CA_FILE "/var/lib/podman-machine-vmnet/host-ca-certs.pem"

// The provisioning script. As root: without arguments it does what is still to do;
// with `selinux` it (re)installs the SELinux rules.
#define GUEST_PROVISION_PROGRAM "/usr/local/sbin/podman-machine-vmnet-provision"

// The unit that runs it at every boot until it has succeeded; it is `failed` when a run failed.
#define GUEST_PROVISION_UNIT "podman-machine-vmnet-provision.service"

// Mounts what the host shares, at every boot and before anything of podman's. It tells in a file
// that is gone after the boot: line 1 is `done`; then a line for each volume that could not be
// mounted: its tag, a blank, the reason.
#define GUEST_VOLUMES_PROGRAM "/usr/local/sbin/podman-machine-vmnet-volumes"
#define GUEST_VOLUMES_UNIT "podman-machine-vmnet-volumes.service"
#define GUEST_VOLUMES_FILE "/run/podman-machine-vmnet/volumes"

// Where podman, in the guest, looks for its configuration. What is shared here does not hide what
// the guest has, but lies over it.
#define GUEST_CONTAINERS_CONFIG "/etc/containers"

// The program in the guest that serves its vsock ports to the host and reports to it (vmnet rows).
// Where every process of the host can call a guest's ports, as with vhost-vsock, it first says some
// random bytes, and hears nobody who does not answer with their HMAC-SHA256 (32 bytes) by the
// machine's token.
#define GUEST_AGENT_PROGRAM "/usr/local/sbin/podman-machine-vmnet-agent"

// The ports. qemu-guest-agent's is where krunkit and vfkit look for it to set the clock.
#define GUEST_VSOCK_QEMU_AGENT 1234
#define GUEST_VSOCK_REPORT 5100  // of the host: it says "hello\n", then takes JSON lines
#define GUEST_VSOCK_CONTROL 5104 // "poweroff\n" gets "ok\n"
#define GUEST_VSOCK_CHALLENGE 32 // bytes
// What the host sends to these is in pieces (provider/relay.h). 5101 to 5103 were them without.
#define GUEST_VSOCK_SSH 5105
#define GUEST_VSOCK_API_ROOT 5106
#define GUEST_VSOCK_API_USER 5107

// podman's API sockets in the guest. The second takes the user's id.
#define GUEST_ROOT_SOCKET "/run/podman/podman.sock"
#define GUEST_USER_SOCKET_FORMAT "/run/user/%u/podman/podman.sock"

#endif
