// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_SSHD_H
#define TESTS_SSHD_H

#include <stdbool.h>
#include <sys/types.h>

// A real OpenSSH server that belongs to the test: the user's own, on a free loopback port, with
// keys of its own (ECDSA and ed25519 for the host), letting in the user who runs the test.
struct sshd {
    pid_t pid; // 0: not running
    unsigned port;
    char *user, *identity; // who may log in, and the private key file
    char *host_key;        // public line of the ed25519 one
};

// False when there is no sshd or it cannot run here: skip the test. `folder` is made and takes
// all its files; `config` are sshd_config lines that go before ours.
bool sshd_start(struct sshd *sshd, const char *folder, const char *config);
void sshd_stop(struct sshd *sshd);

// A loopback port that nobody listens on.
unsigned free_port(void);

#endif
