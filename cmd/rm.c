// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// rm: confirm, stop, connections and host keys, files; the record goes last, so that each step
// can be repeated after a cut.

#include "cmd/rm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/events.h"
#include "cmd/stop.h"
#include "cmd/target.h"
#include "provider/paths.h"
#include "provider/registration.h"
#include "provider/state.h"
#include "provider/supervisor.h"

struct values {
    struct option_bool force, save_image, save_ignition, reexec;
};

// What --save-image and --save-ignition keep: the disk, and the seed, which is ours for ignition.
static bool is_kept(enum machine_file file, const struct values *values)
{
    return (file == MACHINE_DISK && values->save_image.value) ||
           (file == MACHINE_SEED && values->save_ignition.value);
}

// To <data>/saved, under the machine's name; one that was saved before is replaced.
static int keep(const char *name, enum machine_file file, const char *suffix, struct error *err)
{
    cleanup_free char *data = paths_data();
    cleanup_free char *folder = xasprintf("%s/saved", data);
    cleanup_free char *from = machine_path(name, file);
    cleanup_free char *to = xasprintf("%s/%s.%s", folder, name, suffix);
    if (!file_exists(from)) // this removal was cut after it had been moved
        return 0;
    if (file_make_dirs(folder, 0700, err) < 0)
        return -1;
    if (rename(from, to) < 0)
        return error_errno(err, "cannot move '%s' to '%s'", from, to);
    fprintf(stderr, "Saved '%s'\n", to);
    return 0;
}

static int confirm(const char *name, const struct values *values, bool *yes, struct error *err)
{
    static const enum machine_file listed[] = {
        MACHINE_RECORD, MACHINE_DISK,        MACHINE_SEED,       MACHINE_EFI_VARS,
        MACHINE_KEY,    MACHINE_HOST_KEY,    MACHINE_API_SOCKET, MACHINE_SERIAL_LOG,
        MACHINE_VM_LOG, MACHINE_MONITOR_LOG,
    };
    puts("The following files will be deleted:\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
        cleanup_free char *path = machine_path(name, listed[i]);
        if ((i == 0 || file_exists(path)) && !is_kept(listed[i], values))
            puts(path);
    }
    return target_confirm("Are you sure you want to continue? [y/N] ", yes, err);
}

// Takes the machine's lock while it is stopped. The state is asked again under the lock: a start
// that was waiting for it too may have been first.
static int lock_stopped(struct lock *lock, const char *name, bool force, struct error *err)
{
    for (;;) {
        CLEANUP(machine_now_release) struct machine_now before = MACHINE_NOW_INIT;
        CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
        if (!machine_exists(name))
            return error_set(err, ENOENT, "%s: VM does not exist", name);
        if (machine_ask(&before, name, err) < 0)
            return -1;
        if (before.state != MACHINE_STOPPED && !force)
            return error_set(err, EBUSY, "running vm \"%s\" cannot be destroyed", name);
        if (force && stop_machine(name, true, err) < 0)
            return -1;
        if (machine_lock(lock, name, -1, err) < 0)
            return -1;
        if (!machine_exists(name))
            return error_set(err, ENOENT, "%s: VM does not exist", name);
        if (machine_ask(&now, name, err) < 0)
            return -1;
        if (now.state == MACHINE_STOPPED)
            return 0;
        lock_release(lock);
    }
}

// The connections and host keys of podman's and ssh's own files. Forced, what is wrong with those
// does not keep the machine from going.
static int unregister(const char *name, bool force, struct error *err)
{
    if (registration_remove(name, err) == 0)
        return 0;
    if (!force)
        return -1;
    log_warn("%s", err->message);
    return 0;
}

// The large file first: where the disk is full, the rest may need its space.
static int remove_disk(const char *name, const struct values *values, struct error *err)
{
    cleanup_free char *disk = machine_path(name, MACHINE_DISK);
    if (!values->save_image.value && unlink(disk) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", disk);
    return 0;
}

static int remove_machine(const char *name, const struct values *values, struct error *err)
{
    bool force = values->force.value;
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    if (lock_stopped(&lock, name, force, err) < 0)
        return -1;
    bool yes = force;
    if (!force && confirm(name, values, &yes, err) < 0)
        return -1;
    if (!yes)
        return 0;
    const struct machine m = {.name = (char *)name};
    const struct supervisor *supervisor = supervisor_for(&m);
    if (supervisor->autostart(&m, false, err) < 0 || supervisor->clear(&m, err) < 0 ||
        remove_disk(name, values, err) < 0 || unregister(name, force, err) < 0 ||
        (values->save_image.value && keep(name, MACHINE_DISK, "raw", err) < 0) ||
        (values->save_ignition.value && keep(name, MACHINE_SEED, "iso", err) < 0) ||
        machine_remove(name, err) < 0)
        return -1;
    events_publish(name, "remove");
    return 0;
}

int rm_machine(const char *name, struct error *err)
{
    const struct values values = {.force = {.value = true}};
    return remove_machine(name, &values, err);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    return remove_machine(target_name(&operands), &values, err);
}

static const struct option_spec options[] = {
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, force),
     .help = "Stop and do not prompt before rming"},
    {.name = "reexec", .kind = OPTION_BOOL, .offset = offsetof(struct values, reexec)},
    {.name = "save-ignition",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, save_ignition),
     .help = "Do not delete the seed, which does here what podman's ignition file does"},
    {.name = "save-image",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, save_image),
     .help = "Do not delete the disk"},
    {.name = NULL},
};

const struct command command_rm = {
    .name = "rm",
    .operands = "[options] [MACHINE]",
    .summary = "Remove an existing machine",
    .details = "Remove a managed virtual machine",
    .most = 1,
    .acts = true,
    .options = options,
    .run = run,
};
