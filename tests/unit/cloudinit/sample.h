// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_CLOUDINIT_SAMPLE_H
#define TESTS_CLOUDINIT_SAMPLE_H

#include "cloudinit/seed.h"

// A seed that seed_check() accepts; tests change what they are about.
static inline struct seed sample_seed(void)
{
    return (struct seed){
        .instance_id = "5f3c6f0e-1111-4222-8333-944445555666",
        .hostname = "dev",
        .user = "core",
        .uid = 501,
        .rootful = true,
        .public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleQ== it's \"my\" \\key\\, Zoë",
        .host_key = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
                    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU+/wA=\n"
                    "-----END OPENSSH PRIVATE KEY-----",
        .host_key_public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGhvc3Q= dev",
        .mac = "52:54:00:AB:CD:EF",
        .timezone = "Europe/Berlin",
        .state_file = "/var/lib/podman-machine-vmnet/state",
        .provision_program = "/usr/local/sbin/podman-machine-vmnet-provision",
        .provision_unit = "podman-machine-vmnet-provision.service",
        .provider_name = "vmnet-krunkit",
    };
}

#endif
