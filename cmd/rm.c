// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// rm: confirm, stop, connections and host keys, files; the record goes last, so that each step
// can be repeated after a cut.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/lock.h"
#include "cmd/command.h"
#include "cmd/stop.h"
#include "cmd/target.h"
#include "provider/registration.h"
#include "provider/state.h"
#include "provider/supervisor.h"

struct values {
    struct option_bool force;
};

static int confirm(const char *name, bool *yes, struct error *err)
{
    static const enum machine_file listed[] = {
        MACHINE_RECORD, MACHINE_DISK,        MACHINE_SEED,       MACHINE_EFI_VARS,
        MACHINE_KEY,    MACHINE_HOST_KEY,    MACHINE_API_SOCKET, MACHINE_SERIAL_LOG,
        MACHINE_VM_LOG, MACHINE_MONITOR_LOG,
    };
    puts("The following files will be deleted:\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
        cleanup_free char *path = machine_path(name, listed[i]);
        if (i == 0 || file_exists(path))
            puts(path);
    }
    return target_confirm("Are you sure you want to continue? [y/N] ", yes, err);
}

static int remove_machine(const char *name, bool force, struct error *err)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    if (machine_ask(&now, name, err) < 0)
        return -1;
    if (now.state != MACHINE_STOPPED && !force)
        return error_set(err, EBUSY, "running vm \"%s\" cannot be destroyed", name);
    if (force && stop_machine(name, true, err) < 0)
        return -1;

    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    if (machine_lock(&lock, name, -1, err) < 0)
        return -1;
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    bool yes = force;
    if (!force && confirm(name, &yes, err) < 0)
        return -1;
    if (!yes)
        return 0;
    const struct machine m = {.name = (char *)name};
    const struct supervisor *supervisor = supervisor_for(&m);
    if (supervisor->autostart(&m, false, err) < 0 || supervisor->clear(&m, err) < 0 ||
        registration_remove(name, err) < 0)
        return -1;
    return machine_remove(name, err);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    return remove_machine(target_name(&operands), values.force.value, err);
}

static const struct option_spec options[] = {
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, force),
     .help = "Stop and do not prompt before rming"},
    {.name = NULL},
};

const struct command command_rm = {
    .name = "rm",
    .operands = "[options] [MACHINE]",
    .summary = "Remove an existing machine",
    .details = "Remove a managed virtual machine",
    .most = 1,
    .options = options,
    .run = run,
};
