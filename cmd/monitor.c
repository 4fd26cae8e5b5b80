// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The hidden verb that a supervisor runs, one per started machine. Its output is a log.

#include "provider/monitor.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/start.h"
#include "cmd/target.h"

struct values {
    struct option_uint timeout;
};

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {.timeout = {.value = start_default_timeout_s}};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    log_set_level(LOG_LEVEL_INFO);
    return monitor_run(target_name(&operands), (int64_t)values.timeout.value * 1000, err);
}

static const struct option_spec options[] = {
    {.name = "timeout",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, timeout),
     .help = "Seconds to wait until the machine is ready"},
    {.name = NULL},
};

const struct command command_monitor = {
    .name = "monitor",
    .operands = "[MACHINE]",
    .summary = "Run and watch a machine in the foreground",
    .most = 1,
    .hidden = true,
    .options = options,
    .run = run,
};
