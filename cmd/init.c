// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// init: image -> keys -> seed -> record -> connection. Everything that can be refused is refused
// before the download; the record is what makes a machine exist and is written last of its
// files, so a cut init leaves rubble that the next one clears.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/random.h"
#include "cmd/command.h"
#include "cmd/config.h"
#include "cmd/events.h"
#include "cmd/foreign.h"
#include "cmd/identity.h"
#include "cmd/interrupt.h"
#include "cmd/peer.h"
#include "cmd/resources.h"
#include "cmd/settings.h"
#include "cmd/start.h"
#include "cmd/target.h"
#include "cmd/timezone.h"
#include "cmd/volume.h"
#include "image/image.h"
#include "provider/connection.h"
#include "provider/paths.h"
#include "provider/port.h"
#include "provider/preflight.h"
#include "provider/provider.h"
#include "provider/reach.h"
#include "provider/registration.h"
#include "provider/ssh.h"
#include "provider/state.h"

static const uint64_t gib = 1 << 30;
static const uint64_t default_memory_mib = 2048;
static const uint64_t default_disk_gib = 100;
struct values {
    const char *provider, *image, *image_sha256, *username, *timezone, *identity;
    const char *playbook;
    struct option_uint cpus, memory, disk_size, timeout;
    struct option_bool rootful, now, update_connection, quiet;
    struct settings settings;
    struct strbuf playbook_text;
    struct strvec volumes;
    const char *format;
    struct option_uint swap;
    struct option_bool exist_ok;
    struct foreign foreign;
};

static void values_release(struct values *values)
{
    settings_release(&values->settings);
    strbuf_release(&values->playbook_text);
    strvec_release(&values->volumes);
    foreign_release(&values->foreign);
}

// --- checks, in podman's order ------------------------------------------------------------------

static int check_provider(const struct provider **provider, const char *name,
                          const char *configured, struct error *err)
{
    const char *variable = getenv("CONTAINERS_MACHINE_PROVIDER");
    if (!name && !variable && configured && *configured)
        name = configured;
    if (!name)
        name = variable && provider_find(variable) ? variable : platform_default_provider;
    *provider = provider_find(name);
    if (!*provider || !provider_is_native(*provider)) {
        error_set(err, EINVAL, "unsupported provider \"%s\"", name);
        for (size_t i = 0; platform_providers[i]; i++)
            error_append(err, "%s%s", i ? ", " : ": this system has ", platform_providers[i]);
        return -1;
    }
    return 0;
}

static int check_resources(const struct values *values, struct error *err)
{
    if (resources_check_memory(values->memory.value, err) < 0 ||
        resources_check_cpus(values->cpus.value, err) < 0)
        return -1;
    return resources_check_disk(values->disk_size.value, err);
}

// Whose ever it is: podman's commands would find the one or the other.
static int check_absent(const char *name, struct error *err)
{
    cleanup_free char *provider = NULL;
    if (machine_exists(name))
        return error_set(err, EEXIST, "machine \"%s\" already exists", name);
    if (peer_has_machine(name, &provider))
        return error_set(err, EEXIST,
                         "machine \"%s\" already exists: it is podman's own, of provider %s", name,
                         provider);
    return 0;
}

// Clears what a killed init left of this name: a folder without a record. It was registered
// only after its record was written, so nothing else can be left.
static int clear_rubble(const char *name, struct error *err)
{
    cleanup_free char *folder = machine_folder(name);
    if (!file_exists(folder))
        return 0;
    log_info("removing what an interrupted init left in '%s'", folder);
    return machine_remove(name, err);
}

// The guest user has the host user's id, so that shared files keep their owner; not where it
// would collide with the guest's own accounts (Debian and Fedora give system users up to 999,
// from the top down).
static uint64_t guest_uid(void)
{
    uid_t uid = getuid();
    return (uid >= 500 && uid < 900) || (uid >= 1000 && uid < 60000) ? uid : 1000;
}

// --- the record and the files -------------------------------------------------------------------

static int fill_record(struct machine *m, const char *name, const struct values *values,
                       const struct provider *provider, struct error *err)
{
    char resolved[PATH_MAX];
    if (values->identity && !realpath(values->identity, resolved))
        return error_errno(err, "cannot use identity '%s'", values->identity);
    m->name = xstrdup(name);
    m->provider = xstrdup(provider->name);
    m->mac = random_mac();
    m->instance_id = random_uuid();
    m->created_ns = clock_wall_ns();
    m->resources.cpus = values->cpus.value ? values->cpus.value : 1;
    m->resources.memory_mib = values->memory.value ? values->memory.value : default_memory_mib;
    m->resources.disk_gib = values->disk_size.value;
    m->resources.swap_mib = values->swap.value;
    m->ssh.user = xstrdup(values->username);
    m->ssh.uid = guest_uid();
    m->ssh.identity = values->identity ? xstrdup(resolved) : machine_path(name, MACHINE_KEY);
    m->rootful = values->rootful.given ? values->rootful.value : provider->rootful_default;
    m->import_native_ca = values->settings.import_native_ca.value;
    m->localhost_ports = provider->network->user_mode;
    if (settings_apply(m, &values->settings, err) < 0)
        return -1;
    if (timezone_resolve(&m->timezone, values->timezone, err) < 0)
        return -1;
    cleanup_free char *public_key = NULL;
    return values->identity ? ssh_key_public(&public_key, m->ssh.identity, err) : 0;
}

static int lay_down(struct machine *m, const struct values *values, const struct provider *provider,
                    const char *raw, struct error *err)
{
    cleanup_free char *folder = machine_folder(m->name);
    cleanup_free char *disk = machine_path(m->name, MACHINE_DISK);
    if (file_make_dirs(folder, 0700, err) < 0 ||
        image_install(raw, disk, m->resources.disk_gib * gib, err) < 0 ||
        (values->playbook && identity_keep_playbook(m, &values->playbook_text, err) < 0) ||
        identity_make_keys(m, provider, err) < 0 || identity_write_seed(m, provider, err) < 0 ||
        volumes_prepare(&m->mounts, err) < 0)
        return -1;
    if (provider->network->needs_port && port_ensure(m, err) < 0)
        return -1;
    return interrupted() ? interrupt_error(err) : machine_save(m, err);
}

// Only where the address is known before the guest has run: elsewhere the monitor registers it.
static int connect_podman(const struct machine *m, const struct provider *provider,
                          struct error *err)
{
    cleanup_free char *host = NULL;
    unsigned port;
    if (!provider->network->needs_port)
        return 0;
    if (reach_port(&host, &port, m, provider, err) < 0)
        return -1;
    return registration_set(m, host, port, err);
}

static int create(const char *name, const struct values *values, const struct provider *provider,
                  struct error *err)
{
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(image_ref_release) struct image_ref ref = {0};
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    cleanup_free char *connections = paths_connections();
    cleanup_free char *cache = paths_image_cache();
    cleanup_free char *raw = NULL;
    uint64_t virtual_size;

    if (check_absent(name, err) < 0 || connection_check_free(connections, name, err) < 0 ||
        check_resources(values, err) < 0 ||
        volumes_read(&m.mounts, &values->volumes, values->username, err) < 0 ||
        fill_record(&m, name, values, provider, err) < 0 ||
        image_resolve(&ref, values->image, values->image_sha256, platform_arch(), err) < 0)
        return -1;
    interrupt_watch(); // until here ctrl-C has nothing to tidy, and may cut a look-up short
    if (machine_lock(&lock, name, -1, err) < 0 || check_absent(name, err) < 0 ||
        clear_rubble(name, err) < 0 || provider_probe(provider, &m, &tools, err) < 0 ||
        preflight_ssh(err) < 0)
        return -1;
    m.image.source = xstrdup(ref.source);
    const struct image_options options = {
        .cache = cache, .quiet = values->quiet.value, .interrupted = interrupted};
    struct error ignored;
    if (image_fetch(&ref, &options, &raw, &m.image.digest, &virtual_size, err) < 0)
        return -1;
    if (lay_down(&m, values, provider, raw, err) < 0 || connect_podman(&m, provider, err) < 0) {
        registration_remove(name, &ignored);
        machine_remove(name, &ignored);
        return interrupted() ? interrupt_error(err) : -1;
    }
    return 0;
}

static void set_defaults(struct values *values, const struct config *config)
{
    unsigned half = platform_cpu_count() / 2;
    *values = (struct values){
        .image = config->image,
        .username = config->user ? config->user : "core",
        .timezone = config->timezone && *config->timezone ? config->timezone : "local",
        .cpus = {.value = config->cpus ? config->cpus
                          : half       ? half
                                       : 1},
        .memory = {.value = config->memory_mib ? config->memory_mib : default_memory_mib},
        .disk_size = {.value = config->disk_gib ? config->disk_gib : default_disk_gib},
        .timeout = {.value = start_default_timeout_s},
        .settings = {.import_native_ca = {.value = config->import_native_ca}},
        .playbook_text = STRBUF_INIT,
        .foreign = {.tls_verify = {.value = true}},
    };
    volumes_default(&values->volumes, config);
}

// `existed`: with --exist-ok, so that a script can be run again.
static int finish(const char *name, const struct values *values, bool existed, struct error *err)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    bool json = values->format != NULL;
    if (json)
        printf("{\"machine\":\"%s\",\"phase\":\"%s\"}\n", name, existed ? "exists" : "created");
    else if (!existed)
        puts("Machine init complete");
    if (!existed) {
        events_publish(name, "init");
    } else if (machine_ask(&now, name, err) < 0) {
        return -1;
    }
    if (values->now.value && now.state != MACHINE_RUNNING) {
        const struct start_options options = {
            .json = json,
            .quiet = values->quiet.value,
            .update_connection = values->update_connection.value,
            .update_connection_given = values->update_connection.given,
            .timeout_s = values->timeout.value,
        };
        fflush(stdout);
        return start_machine(name, &options, err);
    }
    cleanup_free char *hint = target_hint(name);
    if (!json && !values->quiet.value && !values->now.value)
        printf("To start your machine run:\n\n\t%s start%s\n\n", command_program, hint);
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    CLEANUP(config_release) struct config config = CONFIG_INIT;
    CLEANUP(values_release) struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    const struct provider *provider;
    if (config_load(&config, err) < 0)
        return -1;
    set_defaults(&values, &config);
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        start_check_format(values.format, err) < 0)
        return -1;
    // podman's image names its own machine images.
    if (values.image && values.image == config.image && strncmp(values.image, "docker://", 9) == 0)
        values.image = NULL;
    const char *name = operands.count ? operands.items[0] : default_machine;
    if (values.exist_ok.value && machine_exists(name))
        return finish(name, &values, true, err);
    if (strcmp(values.username, "root") == 0)
        return error_set(err, EINVAL,
                         "invalid username \"root\": root can log in anyway; for rootful "
                         "containers use --rootful");
    if (machine_check_name(name, err) < 0 ||
        check_provider(&provider, values.provider, config.provider, err) < 0 ||
        machine_check_user(values.username, err) < 0 ||
        foreign_check(&values.foreign, provider->name, err) < 0 ||
        (values.playbook &&
         identity_read_playbook(&values.playbook_text, values.playbook, err) < 0))
        return -1;

    if (create(name, &values, provider, err) < 0)
        return -1;
    return finish(name, &values, false, err);
}

static const struct option_spec options[] = {
    {.name = "cpus",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, cpus),
     .help = "Number of CPUs"},
    {.name = "disk-size",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, disk_size),
     .help = "Disk size in GiB"},
    SETTING_DNS,
    {.name = "exist-ok",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, exist_ok),
     .help = "Succeed if there is a machine of this name already"},
    {.name = "format",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, format),
     .help = "Tell of each step as json, an object a line"},
    {.name = "identity",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, identity),
     .value = "path",
     .help = "Private SSH key to use instead of a new one"},
    {.name = "ignition-path",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, foreign.ignition_path)},
    {.name = "image",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, image),
     .help = "Cloud image: a known name (fedora-44), a URL or a file"},
    {.name = "image-path",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, image),
     .help = "Image",
     .deprecated = "use --image instead"},
    {.name = "image-sha256",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, image_sha256),
     .value = "hex",
     .help = "SHA-256 that the image file must have; required for a URL"},
    SETTING_IMPORT_NATIVE_CA,
    SETTING_ISOLATED,
    SETTING_LOCALHOST_PORTS,
    {.name = "memory",
     .letter = 'm',
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, memory),
     .help = "Memory in MiB"},
    SETTING_NETWORK,
    {.name = "now",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, now),
     .help = "Start machine now"},
    SETTING_OFFLOAD,
    {.name = "playbook",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, playbook),
     .value = "path",
     .help = "Run an Ansible playbook after first boot"},
    {.name = "provider",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, provider),
     .help = "Virtual machine provider: vmnet-krunkit, vmnet-vfkit or qemu"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Show no progress and no hints"},
    {.name = "reexec", .kind = OPTION_BOOL, .offset = offsetof(struct values, foreign.reexec)},
    SETTING_RESTART_POLICY,
    {.name = "rootful",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, rootful),
     .help = "Whether this machine should prefer rootful container execution (default for the "
             "vmnet providers)"},
    {.name = "swap",
     .letter = 's',
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, swap),
     .help = "Swap in MiB"},
    {.name = "timeout",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, timeout),
     .help = "With --now: seconds to wait until the machine is ready"},
    {.name = "timezone",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, timezone),
     .help = "Set timezone"},
    {.name = "tls-verify", // of registries, from which we take nothing
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, foreign.tls_verify)},
    {.name = "update-connection",
     .letter = 'u',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, update_connection),
     .help = "Set default system connection for this machine"},
    {.name = "usb", .kind = OPTION_STRINGS, .offset = offsetof(struct values, foreign.usb)},
    {.name = "user-mode-networking", // for WSL; podman ignores it elsewhere
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, foreign.user_mode_networking)},
    {.name = "username",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, username),
     .help = "Username used in image"},
    {.name = "volume",
     .letter = 'v',
     .kind = OPTION_STRINGS,
     .offset = offsetof(struct values, volumes),
     .help = "Volumes to mount, source:target"},
    {.name = "volume-driver",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, foreign.volume_driver),
     .help = "Volume driver",
     .deprecated = "will be ignored"},
    {.name = NULL},
};

const struct command command_init = {
    .name = "init",
    .operands = "[options] [NAME]",
    .summary = "Initialize a virtual machine",
    .details = "Initialize a virtual machine",
    .most = 1,
    .acts = true,
    .options = options,
    .run = run,
};
