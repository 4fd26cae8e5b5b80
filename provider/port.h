// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_PORT_H
#define PROVIDER_PORT_H

#include "provider/machine.h"

// Makes sure that m->ssh.port is a port on 127.0.0.1 that can be listened on now: keeps it if
// it can, else chooses a free one that neither podman nor another of our machines has reserved.
// The record is not written.
int port_ensure(struct machine *m, struct error *err);

// The same, and the record is saved if it is another port now.
int port_settle(struct machine *m, struct error *err);

// Whether one can listen on 127.0.0.1:port now without taking it from somebody. EADDRINUSE, EACCES.
int port_check_free(unsigned port, struct error *err);

#endif
