// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef PROVIDER_REPORT_H
#define PROVIDER_REPORT_H

#include <poll.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/strvec.h"

// What the guest tells of itself over vsock, at boot and at each change: a line of JSON. It is a
// guest's word: an address only says where to look, and the pinned host key decides.
struct report {
    char *state;             // as guest.h's GUEST_STATE_FILE has it: line 1
    char *detail;            // its other lines
    struct strvec addresses; // valid ones only, IPv4 first
};

#define REPORT_INIT \
    {               \
        0           \
    }
void report_release(struct report *report);

// EBADMSG: not a report.
int report_parse(struct report *report, const char *line, size_t length, struct error *err);

// The last one of this run, kept in the machine's folder for other processes. ENOENT: none yet.
int report_write(const char *machine, const struct report *report, struct error *err);
int report_read(struct report *report, const char *machine, struct error *err);

// The host's end: a unix socket with a few callers at a time.
enum { REPORT_CALLERS = 4 };
struct report_listener {
    int fd; // -1: closed
    struct {
        int fd;
        struct strbuf unread;
    } callers[REPORT_CALLERS];
};

void report_listener_init(struct report_listener *listener);
int report_listener_open(struct report_listener *listener, const char *path, struct error *err);
void report_listener_release(struct report_listener *listener);

// Fills `fds`, which has room for 1 + REPORT_CALLERS.
void report_listener_watch(const struct report_listener *listener, struct pollfd *fds);

// Takes what poll found. `take` gets each report; it may be called more than once.
void report_listener_read(struct report_listener *listener, const struct pollfd *fds,
                          void (*take)(void *context, const struct report *report), void *context);

#endif
