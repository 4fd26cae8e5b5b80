// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// wait: until a machine is ready, or stopped. For scripts; podman has no such verb.

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/start.h"
#include "cmd/target.h"
#include "provider/state.h"

static const int64_t look_every_ms = 200;

struct values {
    const char *state;
    struct option_uint timeout;
};

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {.state = "ready", .timeout = {.value = start_default_timeout_s}};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    const char *name = target_name(&operands);
    bool ready = strcmp(values.state, "ready") == 0;
    if (!ready && strcmp(values.state, "stopped") != 0)
        return error_set(err, EINVAL, "cannot wait for \"%s\": only for ready or stopped",
                         values.state);
    interrupt_watch();
    int64_t deadline = clock_monotonic_ms() + (int64_t)values.timeout.value * 1000;
    for (;;) {
        CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
        if (!machine_exists(name))
            return error_set(err, ENOENT, "%s: VM does not exist", name);
        if (machine_ask(&now, name, err) < 0)
            return -1;
        if (now.state == (ready ? MACHINE_RUNNING : MACHINE_STOPPED))
            return 0;
        if (interrupted())
            return interrupt_error(err);
        if (clock_monotonic_ms() >= deadline)
            return error_set(err, ETIMEDOUT, "machine \"%s\" is %s, not %s", name,
                             machine_state_name(now.state), values.state);
        clock_sleep_ms(look_every_ms);
    }
}

static const struct option_spec options[] = {
    {.name = "for",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, state),
     .value = "state",
     .help = "What to wait for: ready or stopped"},
    {.name = "timeout",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, timeout),
     .help = "Seconds to wait at most"},
    {.name = NULL},
};

const struct command command_wait = {
    .name = "wait",
    .operands = "[options] [MACHINE]",
    .summary = "Wait until a machine is ready or stopped",
    .examples = "wait --for ready --timeout 300 myvm",
    .most = 1,
    .options = options,
    .run = run,
};
