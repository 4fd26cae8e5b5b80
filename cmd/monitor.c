// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// The hidden verb that a supervisor runs, one per started machine. Its output is a log.

#include "provider/monitor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/native_ca.h"
#include "cmd/settle.h"
#include "cmd/start.h"
#include "cmd/target.h"
#include "provider/state.h"

static const int64_t look_every_ms = 500;

struct values {
    struct option_uint timeout;
    struct option_bool at_login;
};

static int tell_guest(const char *name, pid_t monitor, struct error *err)
{
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    for (;;) {
        CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
        if (machine_ask(&now, name, err) < 0)
            return -1;
        if (now.supervised && now.state == MACHINE_RUNNING && now.status.phase == PHASE_READY)
            break;
        if (getppid() != monitor)
            return error_set(err, ECANCELED, "the machine did not become ready");
        clock_sleep_ms(look_every_ms);
    }
    if (machine_lock(&lock, name, -1, err) < 0 || machine_load(&m, name, err) < 0)
        return -1;
    if (settle_guest(&m, SETTLE_KEEP_PROXIES, (int64_t)start_default_timeout_s * 1000, err) < 0)
        return -1;
    return m.import_native_ca ? native_ca_import(&m, err) : 0;
}

// At login nobody follows the start who would tell the guest what `set` has changed. A process of
// its own: the monitor waits for nothing. It is made before the monitor has its lock, which it
// must not keep.
static void settle_when_ready(const char *name)
{
    pid_t monitor = getpid();
    pid_t child = fork();
    if (child < 0)
        log_error("cannot fork: %s", strerror(errno));
    if (child != 0)
        return;
    struct error err;
    if (tell_guest(name, monitor, &err) < 0)
        log_warn("the guest was not told of its settings: %s", err.message);
    _exit(0);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {.timeout = {.value = start_default_timeout_s}};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    log_set_level(LOG_LEVEL_INFO);
    if (values.at_login.value)
        settle_when_ready(target_name(&operands));
    return monitor_run(target_name(&operands), (int64_t)values.timeout.value * 1000, err);
}

static const struct option_spec options[] = {
    {.name = "at-login", // from launchd, not from `start`
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, at_login)},
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
