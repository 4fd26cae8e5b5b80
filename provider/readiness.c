// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/readiness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "provider/guest.h"
#include "provider/guest_session.h"
#include "provider/reach.h"
#include "provider/registration.h"

static const int64_t try_every_ms = 500;
// sshd (9.8 and later) punishes a client whose logins are refused one after the other.
static const int64_t try_again_when_refused_ms = 3000;
// One step of a login; under software emulation a key exchange alone takes seconds.
static const int64_t step_ms = 30000;
// A policy rebuild takes 10 s on hardware.
static const int64_t selinux_ms = 600000;

struct waiting {
    const struct readiness *r;
    int64_t deadline_ms;
    char *host;
    unsigned port;
    struct ssh_session *session; // root's
    bool repaired;               // the SELinux rules were applied by us
    char *warning;               // what a ready machine lacks; NULL: nothing
};

static void waiting_release(struct waiting *wait)
{
    ssh_free(wait->session);
    free(wait->host);
    free(wait->warning);
}

static void report(const struct waiting *wait, enum phase phase, const char *detail)
{
    wait->r->report(wait->r->context, phase, wait->host, wait->port, detail);
}

// 0 while there is time, after a pause; else ETIMEDOUT with the last error as the reason.
static int pause_or_give_up(const struct waiting *wait, struct error *err)
{
    if (clock_monotonic_ms() < wait->deadline_ms) {
        clock_sleep_ms(err->code == EACCES ? try_again_when_refused_ms : try_every_ms);
        return 0;
    }
    error_prefix(err, "not ready after %lld s", (long long)(wait->r->timeout_ms / 1000));
    err->code = ETIMEDOUT;
    return -1;
}

// For one login: no longer than there is time at all.
static int64_t login_ms(const struct waiting *wait)
{
    int64_t left_ms = wait->deadline_ms - clock_monotonic_ms();
    if (left_ms < 1000)
        return 1000;
    return left_ms < step_ms ? left_ms : step_ms;
}

static void disconnect(struct waiting *wait)
{
    ssh_free(wait->session);
    wait->session = NULL;
}

static void move_to(struct waiting *wait, char *host, unsigned port)
{
    cleanup_free char *owned = host;
    if (wait->host && strcmp(wait->host, host) == 0 && wait->port == port)
        return;
    free(wait->host);
    wait->host = steal_string(&owned);
    wait->port = port;
    report(wait, PHASE_SSH, NULL);
}

// Logs in as root, by whatever way the network gives now.
static int connect_once(struct waiting *wait, struct error *err)
{
    char *host = NULL;
    unsigned port;
    const struct machine *m = wait->r->m;
    // One address is worth telling before it answers, several would flicker.
    if (!wait->r->provider->network->ways[1].find &&
        reach_port(&host, &port, m, wait->r->provider, err) == 0)
        move_to(wait, host, port);
    host = NULL;
    if (reach_open(&wait->session, m, wait->r->provider, NULL, login_ms(wait), &host, &port, err) <
        0)
        return -1;
    move_to(wait, host, port);
    return 0;
}

static int connect_in_time(struct waiting *wait, struct error *err)
{
    while (connect_once(wait, err) < 0) {
        log_debug("%s", err->message);
        if (pause_or_give_up(wait, err) < 0)
            return -1;
    }
    return 0;
}

enum provisioning { PROVISIONING_GOING, PROVISIONING_DONE, PROVISIONING_FAILED };

// Asks the guest. `detail` gets the step, or the reason.
static int ask_provisioning(struct waiting *wait, enum provisioning *state, char **detail,
                            struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    int status;
    // A state other than `done` may be left from an earlier boot; the unit tells whether
    // this boot's run is over.
    if (ssh_run(wait->session,
                "cat " GUEST_STATE_FILE " 2>/dev/null || echo absent; "
                "systemctl is-active " GUEST_PROVISION_UNIT,
                &out, &status, err) < 0)
        return -1;
    while (out.length && out.text[out.length - 1] == '\n')
        strbuf_truncate(&out, out.length - 1);
    const char *last_line = strrchr(out.text, '\n');
    bool unit_failed = last_line && strcmp(last_line + 1, "failed") == 0;
    if (last_line)
        strbuf_truncate(&out, (size_t)(last_line - out.text));

    bool absent = strcmp(out.text, "absent") == 0;
    free(*detail);
    *detail = xstrdup(absent ? "cloud-init" : out.text);
    *state = PROVISIONING_GOING;
    if (strncmp(out.text, "done", 4) == 0)
        *state = PROVISIONING_DONE;
    else if (unit_failed)
        *state = PROVISIONING_FAILED;
    return 0;
}

static int wait_for_provisioning(struct waiting *wait, struct error *err)
{
    enum provisioning state = PROVISIONING_GOING;
    cleanup_free char *detail = NULL, *shown = NULL;
    report(wait, PHASE_PROVISIONING, NULL);
    for (;;) {
        if (ask_provisioning(wait, &state, &detail, err) < 0) {
            // sshd may be restarted, or the guest rebooted, by its own first boot.
            disconnect(wait);
            if (pause_or_give_up(wait, err) < 0 || connect_in_time(wait, err) < 0)
                return -1;
            continue;
        }
        if (state == PROVISIONING_DONE)
            return 0;
        if (state == PROVISIONING_FAILED)
            return error_set(err, EIO, "first-boot provisioning %s%s",
                             strncmp(detail, "failed", 6) == 0 ? "" : "broke off at: ", detail);
        if (!shown || strcmp(shown, detail) != 0) {
            const char *step = strncmp(detail, "running ", 8) == 0 ? detail + 8 : detail;
            report(wait, PHASE_PROVISIONING, step);
            free(shown);
            shown = xstrdup(detail);
        }
        error_set(err, ETIMEDOUT, "first-boot provisioning is still at '%s'", detail);
        if (pause_or_give_up(wait, err) < 0)
            return -1;
    }
}

// The guest tells of each volume that it could not mount (guest.h).
static int judge_volume(struct waiting *wait, const char *line, struct error *err)
{
    cleanup_free char *tag = xstrndup(line, strcspn(line, " "));
    const char *reason = line + strlen(tag);
    const struct mount *mount = mounts_find(&wait->r->m->mounts, tag);
    if (!mount)
        return 0;
    cleanup_free char *text =
        xasprintf("cannot mount volume '%s' at '%s' in the guest:%s", mount->source, mount->target,
                  *reason ? reason : " unknown reason");
    if (!mount->by_default)
        return error_set(err, EIO, "%s", text);
    cleanup_free char *before = wait->warning;
    wait->warning = xasprintf("%s%s%s", before ? before : "", before ? "; " : "", text);
    return 0;
}

static int judge_volumes(struct waiting *wait, const char *told, struct error *err)
{
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    strvec_split(&lines, told, '\n');
    for (size_t i = 1; i < lines.count; i++)
        if (*lines.items[i] && judge_volume(wait, lines.items[i], err) < 0)
            return -1;
    return 0;
}

static int wait_for_volumes(struct waiting *wait, struct error *err)
{
    if (wait->r->m->mounts.count == 0)
        return 0;
    report(wait, PHASE_PROVISIONING, "volumes");
    for (;;) {
        CLEANUP(strbuf_release) struct strbuf told = STRBUF_INIT;
        int status;
        bool asked = (wait->session || connect_once(wait, err) == 0) &&
                     ssh_run(wait->session,
                             "cat " GUEST_VOLUMES_FILE " 2>/dev/null || "
                             "systemctl is-failed " GUEST_VOLUMES_UNIT,
                             &told, &status, err) == 0;
        if (asked && strncmp(told.text, "done", 4) == 0)
            return judge_volumes(wait, told.text, err);
        if (asked && strncmp(told.text, "failed", 6) == 0)
            return error_set(err, EIO, "%s has failed in the guest: the volumes are not mounted",
                             GUEST_VOLUMES_UNIT);
        if (asked)
            error_set(err, ETIMEDOUT, "the volumes are still being mounted");
        else
            disconnect(wait);
        if (pause_or_give_up(wait, err) < 0)
            return -1;
    }
}

// sshd refused the channel to a socket. Waits if the socket is not there yet; applies the
// SELinux rules if it is.
static int after_refusal(struct waiting *wait, const char *socket, struct error *err)
{
    struct error ignored;
    int status = 1;
    cleanup_free char *test = xasprintf("test -S '%s'", socket);
    if (ssh_run(wait->session, test, NULL, &status, &ignored) < 0)
        return 0;
    if (status != 0) {
        error_append(err, " (there is no such socket yet)");
        return 0;
    }
    if (wait->repaired)
        return -1;
    wait->repaired = true;
    log_info("sshd refused the channel to '%s': applying the SELinux rules", socket);
    report(wait, PHASE_PROVISIONING, "selinux");
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    ssh_set_timeout(wait->session, selinux_ms);
    if (ssh_run(wait->session, GUEST_PROVISION_PROGRAM " selinux 2>&1", &out, &status, &ignored) ==
            0 &&
        status != 0)
        log_warn("applying the SELinux rules failed with exit status %d: %s", status, out.text);
    ssh_set_timeout(wait->session, step_ms);
    return 0;
}

static int ping_once(struct waiting *wait, bool root, const char *socket, struct error *err)
{
    if (!wait->session && connect_once(wait, err) < 0)
        return -1;
    if (root)
        return ssh_ping_socket(wait->session, socket, err);
    struct ssh_session *session;
    if (guest_open(&session, wait->r->m, wait->host, wait->port, wait->r->m->ssh.user,
                   login_ms(wait), err) < 0) {
        error_prefix(err, "ssh error: user %s", wait->r->m->ssh.user);
        err->code = EAGAIN; // not to be taken for a refused channel
        return -1;
    }
    int result = ssh_ping_socket(session, socket, err);
    ssh_free(session);
    return result;
}

static int wait_for_socket(struct waiting *wait, bool root, struct error *err)
{
    cleanup_free char *socket = guest_socket(wait->r->m, root);
    while (ping_once(wait, root, socket, err) < 0) {
        log_debug("%s", err->message);
        bool refused = err->code == EACCES && wait->session;
        if (refused && after_refusal(wait, socket, err) < 0)
            return error_prefix(err, "the API socket cannot be forwarded");
        if (!refused)
            disconnect(wait);
        if (pause_or_give_up(wait, err) < 0)
            return -1;
    }
    return 0;
}

int readiness_wait(const struct readiness *readiness, struct error *err)
{
    CLEANUP(waiting_release)
    struct waiting wait = {
        .r = readiness,
        .deadline_ms = clock_monotonic_ms() + readiness->timeout_ms,
    };
    if (connect_in_time(&wait, err) < 0 || wait_for_provisioning(&wait, err) < 0 ||
        wait_for_volumes(&wait, err) < 0 || wait_for_socket(&wait, true, err) < 0 ||
        wait_for_socket(&wait, false, err) < 0 ||
        registration_set(readiness->m, wait.host, wait.port, err) < 0)
        return -1;
    report(&wait, PHASE_READY, wait.warning);
    return 0;
}
