// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/prober.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "provider/machine.h"
#include "provider/reach.h"
#include "provider/readiness.h"
#include "provider/report.h"

static const int64_t address_ms = 30000; // for one login

static void tell(void *context, enum phase phase, const char *host, unsigned port,
                 const char *detail)
{
    int fd = *(int *)context;
    cleanup_json json_t *step = json_pack("{s:i, s:s*, s:i, s:s*}", "phase", (int)phase, "host",
                                          host, "port", (int)port, "detail", detail);
    // What a guest says may not be text.
    cleanup_free char *text = step ? json_compact(step) : xasprintf("{\"phase\":%d}", phase);
    cleanup_free char *line = xasprintf("%s\n", text);
    if (file_write_all(fd, line, strlen(line)) < 0)
        _exit(1); // the monitor is gone
}

// Ready through a port of this host, and the guest has not reported: no vsock, or an agent that is
// kept from it.
static void tell_address(int fd, const struct machine *m, const struct provider *provider)
{
    struct error err;
    CLEANUP(report_release) struct report report = REPORT_INIT;
    cleanup_free char *address = NULL;
    if (provider->network->user_mode || report_read(&report, m->name, &err) == 0)
        return;
    if (reach_address(&address, m, provider, address_ms, &err) < 0) {
        log_info("the guest's address is not known: %s", err.message);
        return;
    }
    cleanup_free char *line = xasprintf("{\"address\":\"%s\"}\n", address);
    if (file_write_all(fd, line, strlen(line)) < 0)
        _exit(1);
}

void prober_run(int fd, const struct machine *m, const struct provider *provider,
                int64_t timeout_ms)
{
    struct error err;
    const struct readiness readiness = {
        .m = m,
        .provider = provider,
        .timeout_ms = timeout_ms,
        .report = tell,
        .context = &fd,
    };
    if (readiness_wait(&readiness, &err) == 0) {
        tell_address(fd, m, provider);
        _exit(0);
    }
    tell(&fd, PHASE_FAILED, NULL, 0, err.message);
    _exit(1);
}

json_t *prober_next(struct strbuf *unread)
{
    char *end;
    while ((end = strchr(unread->text, '\n'))) {
        *end = '\0';
        json_t *step = json_loads(unread->text, 0, NULL);
        cleanup_free char *rest = xstrdup(end + 1);
        strbuf_reset(unread);
        strbuf_adds(unread, rest);
        if (step)
            return step;
    }
    return NULL;
}
