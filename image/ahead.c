// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

// The workers are told in steps of this; they need not be woken for every packet.
static const uint64_t step = 256 << 10;

void ahead_restart(void *context)
{
    struct ahead *ahead = context;
    converter_free(ahead->converter);
    ahead->converter = NULL;
    cleanup_close_fd(&ahead->fd);
    ahead->fd = -1;
    draft_release(&ahead->draft);
    ahead->told = 0;
}

void ahead_release(struct ahead *ahead)
{
    ahead_restart(ahead);
}

static int begin(struct ahead *ahead, int fd, uint64_t have, uint64_t total, struct error *err)
{
    ahead->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (ahead->fd < 0)
        return error_errno(err, "cannot duplicate a descriptor");
    if (draft_open(&ahead->draft, ahead->prefix, err) < 0)
        return -1;
    return converter_begin(&ahead->converter, ahead->fd, have, total, ahead->label, ahead->draft.fd,
                           err);
}

void ahead_arrived(void *context, int fd, uint64_t have, uint64_t total)
{
    struct ahead *ahead = context;
    struct error err;
    if (ahead->given_up || total == 0)
        return;
    if (!ahead->converter) {
        if (have < total && have < converter_head)
            return;
        if (begin(ahead, fd, have, total, &err) < 0) {
            log_debug("not converted while it is downloaded: %s", err.message);
            ahead_restart(ahead);
            ahead->given_up = true;
        }
        ahead->told = have;
    } else if (have == total || have - ahead->told >= step) {
        converter_arrived(ahead->converter, have);
        ahead->told = have;
        // A full disk: give the room back, the download needs it.
        if (converter_failed(ahead->converter)) {
            ahead_restart(ahead);
            ahead->given_up = true;
        }
    }
}

int ahead_finish(struct ahead *ahead, struct draft *draft, struct watch *watch, struct error *err)
{
    uint64_t size;
    if (!ahead->converter)
        return error_set(err, EAGAIN, "nothing was converted yet");
    watch_begin(watch, "Converting", ahead->label);
    if (converter_finish(ahead->converter, watch, &size, err) < 0) {
        watch_abandon(watch);
        return -1;
    }
    watch_end(watch, size);
    *draft = ahead->draft;
    ahead->draft = (struct draft)DRAFT_INIT;
    return 0;
}
