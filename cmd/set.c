// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// set: changes the record of a stopped machine. The next start builds its command line from it and
// tells the guest what concerns it; the guest grows into a larger disk by itself.

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/identity.h"
#include "cmd/resources.h"
#include "cmd/settings.h"
#include "cmd/target.h"
#include "provider/connection.h"
#include "provider/paths.h"
#include "provider/state.h"
#include "provider/supervisor.h"

struct values {
    struct option_uint cpus, memory, disk_size;
    struct option_bool rootful, user_mode_networking, autostart;
    struct strvec usb;
    struct settings settings;
};

static void values_release(struct values *values)
{
    strvec_release(&values->usb);
    settings_release(&values->settings);
}

static int check_disk(const struct machine *m, const struct values *values, struct error *err)
{
    if (values->disk_size.given && values->disk_size.value <= m->resources.disk_gib)
        return error_set(err, EINVAL, "new disk size must be larger than %" PRIu64 " GB",
                         m->resources.disk_gib);
    return 0;
}

static int check_stopped(const struct machine *m, struct error *err)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    if (machine_ask(&now, m->name, err) < 0)
        return -1;
    if (now.state != MACHINE_STOPPED)
        return error_set(err, EBUSY, "unable to change settings unless vm is stopped");
    return 0;
}

static int grow_disk(struct machine *m, uint64_t gib, struct error *err)
{
    cleanup_free char *disk = machine_path(m->name, MACHINE_DISK);
    if (truncate(disk, (off_t)(gib << 30)) < 0)
        return error_errno(err, "cannot grow disk '%s' to %" PRIu64 " GiB", disk, gib);
    m->resources.disk_gib = gib;
    return 0;
}

// podman's connections are two; the default moves only if it was one of them.
static int move_default(const struct machine *m, bool rootful, struct error *err)
{
    cleanup_free char *file = paths_connections();
    cleanup_free char *root = xasprintf("%s-root", m->name);
    cleanup_free char *current = NULL, *uri = NULL;
    if (connection_default(file, &current, &uri, err) < 0)
        return -1;
    if (!current || strcmp(current, rootful ? m->name : root) != 0)
        return 0;
    return connection_set_default(file, rootful ? root : m->name, err);
}

// In the record alone, so that what cannot be is refused before anything is changed.
static int decide(struct machine *m, const struct values *values, struct error *err)
{
    const struct provider *provider = provider_find(m->provider);
    if (values->cpus.given)
        m->resources.cpus = values->cpus.value ? values->cpus.value : 1;
    if (values->memory.given && values->memory.value)
        m->resources.memory_mib = values->memory.value;
    if (settings_apply(m, &values->settings, err) < 0)
        return -1;
    return provider ? provider_check_size(provider, m, err) : 0;
}

// A guest that has had its first boot is told by the next start, one that has not by its seed.
static int tell_of_dns(struct machine *m, struct error *err)
{
    const struct provider *provider;
    m->dns_changed = true;
    return target_provider(&provider, m, err) < 0 ? -1 : identity_write_seed(m, provider, err);
}

static int change(struct machine *m, const struct values *values, struct error *err)
{
    if (values->autostart.given &&
        supervisor_for(m)->autostart(m, values->autostart.value, err) < 0)
        return -1;
    if (values->settings.dns.count && tell_of_dns(m, err) < 0)
        return -1;
    if (values->disk_size.given && grow_disk(m, values->disk_size.value, err) < 0)
        return -1;
    if (values->rootful.given && values->rootful.value != m->rootful) {
        if (move_default(m, values->rootful.value, err) < 0)
            return -1;
        m->rootful = values->rootful.value;
        m->rootful_changed = true; // the next start tells the guest
    }
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    CLEANUP(values_release) struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    const char *name = target_name(&operands);
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    if (resources_check_cpus(values.cpus.value, err) < 0 ||
        resources_check_memory(values.memory.value, err) < 0 ||
        resources_check_disk(values.disk_size.value, err) < 0 ||
        machine_lock(&lock, name, -1, err) < 0 || machine_load(&m, name, err) < 0 ||
        check_disk(&m, &values, err) < 0 || check_stopped(&m, err) < 0)
        return -1;
    if (values.usb.count)
        return error_set(err, ENOTSUP, "changing USBs not supported for %s machines", m.provider);
    if (decide(&m, &values, err) < 0 || change(&m, &values, err) < 0)
        return -1;
    return machine_save(&m, err);
}

static const struct option_spec options[] = {
    {.name = "autostart",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, autostart),
     .help = "Start the machine by itself at login (macOS)"},
    {.name = "cpus",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, cpus),
     .help = "Number of CPUs"},
    {.name = "disk-size",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, disk_size),
     .help = "Disk size in GiB; it can only grow"},
    SETTING_DNS,
    SETTING_IMPORT_NATIVE_CA,
    SETTING_ISOLATED,
    SETTING_LOCALHOST_PORTS,
    {.name = "memory",
     .letter = 'm',
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, memory),
     .help = "Memory in MiB"},
    SETTING_NETWORK,
    SETTING_OFFLOAD,
    SETTING_RESTART_POLICY,
    {.name = "rootful",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, rootful),
     .help = "Whether this machine should prefer rootful container execution"},
    {.name = "usb", .kind = OPTION_STRINGS, .offset = offsetof(struct values, usb)},
    {.name = "user-mode-networking", // podman's, for WSL; it ignores it elsewhere
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, user_mode_networking)},
    {.name = NULL},
};

const struct command command_set = {
    .name = "set",
    .operands = "[options] [NAME]",
    .summary = "Set a virtual machine setting",
    .details = "Set an updatable virtual machine setting",
    .examples = "set --rootful=false\nset --cpus 4 --memory 8192 myvm",
    .most = 1,
    .acts = true,
    .options = options,
    .run = run,
};
