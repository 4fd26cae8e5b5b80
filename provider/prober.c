// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/prober.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "provider/readiness.h"

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
    if (readiness_wait(&readiness, &err) == 0)
        _exit(0);
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
