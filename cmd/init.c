// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// init: image -> keys -> seed -> record -> connection. Everything that can be refused is refused
// before the download; the record is what makes a machine exist and is written last of its
// files, so a cut init leaves rubble that the next one clears.

#include <arpa/inet.h>
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
#include "cloudinit/seed.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/start.h"
#include "cmd/target.h"
#include "cmd/timezone.h"
#include "image/image.h"
#include "provider/connection.h"
#include "provider/guest.h"
#include "provider/guest_session.h"
#include "provider/paths.h"
#include "provider/port.h"
#include "provider/provider.h"
#include "provider/registration.h"
#include "provider/ssh.h"

static const uint64_t mib = 1 << 20;
static const uint64_t gib = 1 << 30;
static const uint64_t default_memory_mib = 2048;
static const uint64_t default_disk_gib = 100;
// A file system's largest file is smaller, but not by much: 8 EiB would overflow off_t.
static const uint64_t largest_disk_gib = 1 << 30;

struct values {
    const char *provider, *image, *image_sha256, *username, *timezone, *identity;
    const char *network, *offload, *restart_policy;
    struct option_uint cpus, memory, disk_size, timeout;
    struct option_bool rootful, now, update_connection, quiet, isolated;
    struct strvec dns;
};

static void values_release(struct values *values)
{
    strvec_release(&values->dns);
}

// --- checks, in podman's order ------------------------------------------------------------------

static int check_provider(const struct provider **provider, const char *name, struct error *err)
{
    const char *variable = getenv("CONTAINERS_MACHINE_PROVIDER");
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
    uint64_t host_mib = platform_memory_bytes() / mib;
    if (values->memory.value > host_mib)
        return error_set(err, EINVAL,
                         "requested amount of memory (%" PRIu64
                         " MB) greater than total system memory (%" PRIu64 " MB)",
                         values->memory.value, host_mib);
    if (values->cpus.value > platform_cpu_count())
        return error_set(err, EINVAL,
                         "requested number of CPUs (%" PRIu64
                         ") greater than number of host CPUs (%u)",
                         values->cpus.value, platform_cpu_count());
    if (values->disk_size.value > largest_disk_gib)
        return error_set(err, EINVAL, "requested disk size (%" PRIu64 " GB) is too large",
                         values->disk_size.value);
    for (size_t i = 0; i < values->dns.count; i++) {
        unsigned char address[16];
        if (inet_pton(AF_INET, values->dns.items[i], address) != 1 &&
            inet_pton(AF_INET6, values->dns.items[i], address) != 1)
            return error_set(err, EINVAL, "invalid DNS server \"%s\": give its IP address",
                             values->dns.items[i]);
    }
    return 0;
}

static int check_absent(const char *name, struct error *err)
{
    if (machine_exists(name))
        return error_set(err, EEXIST, "machine \"%s\" already exists", name);
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
    m->ssh.user = xstrdup(values->username);
    m->ssh.uid = guest_uid();
    m->ssh.identity = values->identity ? xstrdup(resolved) : machine_path(name, MACHINE_KEY);
    m->rootful = values->rootful.given ? values->rootful.value : provider->rootful_default;
    strvec_pushv(&m->dns, values->dns.items ? (const char *const *)values->dns.items
                                            : (const char *const[]){NULL});
    if (timezone_resolve(&m->timezone, values->timezone, err) < 0)
        return -1;
    cleanup_free char *public_key = NULL;
    return values->identity ? ssh_key_public(&public_key, m->ssh.identity, err) : 0;
}

// What only a row with a network of its own has.
static int fill_network(struct machine *m, const struct values *values,
                        const struct provider *provider, struct error *err)
{
    bool given = values->network || values->offload || values->isolated.given;
    if (given && provider->network->user_mode)
        return error_set(err, EINVAL,
                         "--network, --isolated and --offload are for the vmnet providers: %s has "
                         "a network of its own kind",
                         provider->name);
    m->network.isolated = values->isolated.value;
    if (values->network && network_options_parse(&m->network, values->network, err) < 0)
        return -1;
    if (values->offload && network_offload_parse(&m->network.offload, values->offload, err) < 0)
        return -1;
    const char *policy = values->restart_policy;
    if (policy && strcmp(policy, "no") != 0 && strcmp(policy, "on-failure") != 0)
        return error_set(err, EINVAL, "invalid restart policy \"%s\": there are no and on-failure",
                         policy);
    m->restart = policy && strcmp(policy, "on-failure") == 0;
    return network_options_check(&m->network, err);
}

static int make_keys(const struct machine *m, struct error *err)
{
    cleanup_free char *own = machine_path(m->name, MACHINE_KEY);
    cleanup_free char *host_key = machine_path(m->name, MACHINE_HOST_KEY);
    if (strcmp(m->ssh.identity, own) == 0 && ssh_key_create(own, m->name, err) < 0)
        return -1;
    return ssh_key_create(host_key, m->name, err);
}

static int write_seed(const struct machine *m, const struct provider *provider, struct error *err)
{
    cleanup_free char *iso = machine_path(m->name, MACHINE_SEED);
    cleanup_free char *host_key_path = machine_path(m->name, MACHINE_HOST_KEY);
    cleanup_free char *public_key = NULL, *host_key_public = NULL;
    CLEANUP(strbuf_release) struct strbuf host_key = STRBUF_INIT;
    if (ssh_key_public(&public_key, m->ssh.identity, err) < 0 ||
        ssh_key_public(&host_key_public, host_key_path, err) < 0 ||
        file_read(&host_key, host_key_path, 16384, err) < 0)
        return -1;
    cleanup_free char *root_socket = guest_socket(m, true), *user_socket = guest_socket(m, false);
    const struct seed_vsock vsock = {
        .program = GUEST_AGENT_PROGRAM,
        .report = GUEST_VSOCK_REPORT,
        .ssh = GUEST_VSOCK_SSH,
        .api_root = GUEST_VSOCK_API_ROOT,
        .api_user = GUEST_VSOCK_API_USER,
        .control = GUEST_VSOCK_CONTROL,
        .api_root_socket = root_socket,
        .api_user_socket = user_socket,
    };
    const struct seed seed = {
        .instance_id = m->instance_id,
        .hostname = m->name,
        .user = m->ssh.user,
        .uid = (unsigned)m->ssh.uid,
        .rootful = m->rootful,
        .public_key = public_key,
        .host_key = host_key.text,
        .host_key_public = host_key_public,
        .mac = m->mac,
        .dns = (const char *const *)m->dns.items,
        .timezone = m->timezone,
        .agent_vsock = provider->agent_vsock,
        .vsock = provider->vsock ? &vsock : NULL,
        .state_file = GUEST_STATE_FILE,
        .provision_program = GUEST_PROVISION_PROGRAM,
        .provision_unit = GUEST_PROVISION_UNIT,
        .provider_name = provider->name,
    };
    return seed_write(&seed, iso, err);
}

static int lay_down(struct machine *m, const struct provider *provider, const char *raw,
                    struct error *err)
{
    cleanup_free char *folder = machine_folder(m->name);
    cleanup_free char *disk = machine_path(m->name, MACHINE_DISK);
    if (file_make_dirs(folder, 0700, err) < 0 ||
        image_install(raw, disk, m->resources.disk_gib * gib, err) < 0 || make_keys(m, err) < 0 ||
        write_seed(m, provider, err) < 0)
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
    if (provider->network->ways->find(m, &host, &port, err) < 0)
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
        check_resources(values, err) < 0 || fill_record(&m, name, values, provider, err) < 0 ||
        fill_network(&m, values, provider, err) < 0 ||
        image_resolve(&ref, values->image, values->image_sha256, platform_arch(), err) < 0 ||
        machine_lock(&lock, name, -1, err) < 0 || check_absent(name, err) < 0 ||
        clear_rubble(name, err) < 0 || provider_probe(provider, &m, &tools, err) < 0)
        return -1;
    m.image.source = xstrdup(ref.source);
    const struct image_options options = {
        .cache = cache, .quiet = values->quiet.value, .interrupted = interrupted};
    struct error ignored;
    if (image_fetch(&ref, &options, &raw, &m.image.digest, &virtual_size, err) < 0)
        return -1;
    if (lay_down(&m, provider, raw, err) < 0 || connect_podman(&m, provider, err) < 0) {
        registration_remove(name, &ignored);
        machine_remove(name, &ignored);
        return -1;
    }
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    CLEANUP(values_release)
    struct values values = {
        .username = "core",
        .timezone = "local",
        .cpus = {.value = platform_cpu_count() / 2},
        .memory = {.value = default_memory_mib},
        .disk_size = {.value = default_disk_gib},
        .timeout = {.value = start_default_timeout_s},
    };
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    const struct provider *provider;
    if (!values.cpus.value)
        values.cpus.value = 1;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    const char *name = operands.count ? operands.items[0] : default_machine;
    if (strcmp(values.username, "root") == 0)
        return error_set(err, EINVAL,
                         "invalid username \"root\": root can log in anyway; for rootful "
                         "containers use --rootful");
    if (machine_check_name(name, err) < 0 || check_provider(&provider, values.provider, err) < 0 ||
        machine_check_user(values.username, err) < 0)
        return -1;

    interrupt_watch();
    if (create(name, &values, provider, err) < 0)
        return -1;
    puts("Machine init complete");
    if (values.now.value) {
        const struct start_options options = {
            .quiet = values.quiet.value,
            .update_connection = values.update_connection.value,
            .update_connection_given = values.update_connection.given,
            .timeout_s = values.timeout.value,
        };
        fflush(stdout);
        return start_machine(name, &options, err);
    }
    cleanup_free char *hint = target_hint(name);
    if (!values.quiet.value)
        printf("To start your machine run:\n\n\t%s start%s\n\n", command_program, hint);
    return 0;
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
    {.name = "dns",
     .kind = OPTION_STRINGS,
     .offset = offsetof(struct values, dns),
     .value = "address",
     .help = "DNS server of the guest, before those that DHCP gives (can be repeated)"},
    {.name = "identity",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, identity),
     .value = "path",
     .help = "Private SSH key to use instead of a new one"},
    {.name = "image",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, image),
     .help = "Cloud image: a known name (fedora-44), a URL or a file"},
    {.name = "image-sha256",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, image_sha256),
     .value = "hex",
     .help = "SHA-256 that the image file must have; required for a URL"},
    {.name = "isolated",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, isolated),
     .help = "Let no traffic pass to the other machines on the same network (vmnet)"},
    {.name = "memory",
     .letter = 'm',
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, memory),
     .help = "Memory in MiB"},
    {.name = "network",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, network),
     .help = "Network (vmnet): shared, host, bridged:INTERFACE or broker:NAME (default shared)"},
    {.name = "now",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, now),
     .help = "Start machine now"},
    {.name = "offload",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, offload),
     .help = "Let card and bridge leave segmentation and checksums to each other (vmnet): auto, on "
             "or off (default auto)"},
    {.name = "provider",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, provider),
     .help = "Virtual machine provider: vmnet-krunkit, vmnet-vfkit or qemu"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Show no progress and no hints"},
    {.name = "restart-policy",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, restart_policy),
     .value = "policy",
     .help = "Start the machine again when it fails by itself: no or on-failure (default no)"},
    {.name = "rootful",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, rootful),
     .help = "Whether this machine should prefer rootful container execution (default for the "
             "vmnet providers)"},
    {.name = "timeout",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, timeout),
     .help = "With --now: seconds to wait until the machine is ready"},
    {.name = "timezone",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, timezone),
     .help = "Set timezone"},
    {.name = "update-connection",
     .letter = 'u',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, update_connection),
     .help = "Set default system connection for this machine"},
    {.name = "username",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, username),
     .help = "Username used in image"},
    {.name = NULL},
};

const struct command command_init = {
    .name = "init",
    .operands = "[options] [NAME]",
    .summary = "Initialize a virtual machine",
    .details = "Initialize a virtual machine",
    .most = 1,
    .options = options,
    .run = run,
};
