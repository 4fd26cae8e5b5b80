// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/checkup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "provider/machine.h"
#include "provider/reach.h"
#include "provider/state.h"

static const int64_t login_ms = 20000;
static const int64_t most_skew_s = 2;

// The host's own TCP to the guest: what macOS 15 and later may forbid to a program (Local Network
// privacy), while the monitor's relay goes on working.
static void check_reach(struct checkup *checkup, const struct machine *m,
                        const struct provider *provider)
{
    struct error err;
    cleanup_close int fd = -1;
    if (provider->network->user_mode)
        return;
    if (reach_connect(&fd, m, provider, &err) == 0) {
        checkup_add(checkup, "address", VERDICT_GOOD,
                    xasprintf("machine \"%s\" answers at its own address", m->name), NULL);
        return;
    }
    checkup_add(
        checkup, "address", VERDICT_WARNING,
        xasprintf("machine \"%s\" does not answer at its own address: %s", m->name, err.message),
        err.code == EHOSTUNREACH
            ? xstrdup("allow this terminal in System Settings, Privacy & Security, Local "
                      "Network; podman itself goes over vsock and works")
            : xstrdup("ports of containers cannot be reached from here: look for a VPN "
                      "or a firewall"));
}

static void check_clock(struct checkup *checkup, const struct machine *m,
                        const struct provider *provider)
{
    struct error err;
    struct ssh_session *session;
    cleanup_free char *host = NULL;
    unsigned port;
    if (reach_open(&session, m, provider, NULL, login_ms, &host, &port, &err) < 0) {
        checkup_add(checkup, "ssh", VERDICT_BAD,
                    xasprintf("machine \"%s\" cannot be logged in to: %s", m->name, err.message),
                    xstrdup("stop and start the machine"));
        return;
    }
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    int status = 1;
    int64_t before = clock_wall_ns() / 1000000000;
    int result = ssh_run(session, "date +%s", &out, &status, &err);
    int64_t after = clock_wall_ns() / 1000000000;
    ssh_free(session);
    if (result < 0 || status != 0)
        return;
    int64_t guest = strtoll(out.text, NULL, 10);
    int64_t skew = guest < before ? guest - before : guest > after ? guest - after : 0;
    bool good = llabs(skew) <= most_skew_s;
    checkup_add(
        checkup, "clock", good ? VERDICT_GOOD : VERDICT_WARNING,
        good ? xasprintf("machine \"%s\" has the right time", m->name)
             : xasprintf("the clock of machine \"%s\" is %lld s off", m->name, (long long)skew),
        good ? NULL
             : xasprintf("run `podman-machine-vmnet ssh %s sudo chronyc makestep`", m->name));
}

static void check_machine(struct checkup *checkup, const char *name)
{
    struct error err;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    if (machine_load(&m, name, &err) < 0) {
        checkup_add(checkup, "record", VERDICT_BAD, xstrdup(err.message),
                    xasprintf("remove the machine: `podman-machine-vmnet rm -f %s`", name));
        return;
    }
    const struct provider *provider = provider_find(m.provider);
    if (!provider || machine_ask(&now, name, &err) < 0 || now.state == MACHINE_STOPPED)
        return;
    if (!now.supervised)
        checkup_add(
            checkup, "monitor", VERDICT_WARNING,
            xasprintf("the VM of machine \"%s\" runs without its monitor", name),
            xasprintf("take it over with `podman-machine-vmnet start %s`, or stop it", name));
    else if (now.status.phase == PHASE_READY && now.status.detail)
        checkup_add(checkup, "monitor", VERDICT_BAD,
                    xasprintf("machine \"%s\": %s", name, now.status.detail),
                    xstrdup("stop and start the machine"));
    if (now.state != MACHINE_RUNNING)
        return;
    check_reach(checkup, &m, provider);
    check_clock(checkup, &m, provider);
}

void checkup_machines(struct checkup *checkup)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    if (machine_names(&names, &err) < 0)
        checkup_add(checkup, "machines", VERDICT_BAD, xstrdup(err.message), NULL);
    for (size_t i = 0; i < names.count; i++)
        check_machine(checkup, names.items[i]);
}
