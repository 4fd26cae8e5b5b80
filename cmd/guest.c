// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/guest.h"

#include <errno.h>

#include "base/alloc.h"
#include "cmd/target.h"
#include "provider/guest_session.h"
#include "provider/reach.h"
#include "provider/state.h"

static const int64_t login_ms = 30000;

int guest_find(const struct machine *m, char **host, unsigned *port, struct error *err)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    const struct provider *provider;
    if (machine_ask(&now, m->name, err) < 0)
        return -1;
    bool reachable = now.state == MACHINE_RUNNING ||
                     (now.state == MACHINE_STARTING && now.status.phase == PHASE_PROVISIONING);
    if (!reachable)
        return error_set(err, ENOTCONN, "vm \"%s\" is not running", m->name);
    if (now.status.host) {
        *host = xstrdup(now.status.host);
        *port = (unsigned)now.status.port;
        return 0;
    }
    if (target_provider(&provider, m, err) < 0)
        return -1;
    // Not known to the monitor yet, or there is none: the first way that leads to the guest.
    struct ssh_session *session;
    if (reach_open(&session, m, provider, NULL, login_ms, host, port, err) < 0)
        return -1;
    ssh_free(session);
    return 0;
}

int guest_ssh_words(struct strvec *words, const struct machine *m, const char *user,
                    struct error *err)
{
    cleanup_free char *host = NULL;
    unsigned port;
    if (!user)
        user = m->rootful ? "root" : m->ssh.user;
    if (*user == '-') // ssh would take USER@HOST for an option
        return error_set(err, EINVAL, "invalid username \"%s\"", user);
    if (guest_find(m, &host, &port, err) < 0)
        return -1;
    return guest_client_argv(words, m, host, port, user, err);
}
