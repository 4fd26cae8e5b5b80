// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// inspect: what is known of machines, as podman says it, with what only we know at the end.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/process.h"
#include "cmd/command.h"
#include "cmd/format.h"
#include "cmd/output.h"
#include "cmd/peer.h"
#include "cmd/target.h"
#include "provider/localhost.h"
#include "provider/provider.h"
#include "provider/state.h"
#include "provider/supervisor.h"

struct values {
    const char *format;
};

// podman's structs. "Vmnet" is ours: readers in Go pass over keys that they do not know.
static const struct type_field file_fields[] = {
    {.name = "Path", .type = &type_string},
    {.name = "Symlink",
     .type = &(const struct type){.kind = TYPE_POINTER, .name = "*string", .of = &type_string},
     .key = "symlink"},
    {.name = NULL},
};
static const struct type type_file = {
    .kind = TYPE_STRUCT, .name = "define.VMFile", .fields = file_fields};
static const struct type type_file_pointer = {
    .kind = TYPE_POINTER, .name = "*define.VMFile", .of = &type_file};

static const struct type_field connection_fields[] = {
    {.name = "PodmanSocket", .type = &type_file_pointer},
    {.name = "PodmanPipe", .type = &type_file_pointer},
    {.name = NULL},
};
static const struct type type_connection = {
    .kind = TYPE_STRUCT, .name = "machine.ConnectionConfig", .fields = connection_fields};

static const struct type type_usbs = {
    .kind = TYPE_LIST, .name = "[]define.USBConfig", .of = &type_string};
static const struct type_field resources_fields[] = {
    {.name = "CPUs", .type = &type_int},
    {.name = "DiskSize", .type = &type_int},
    {.name = "Memory", .type = &type_int},
    {.name = "USBs", .type = &type_usbs},
    {.name = NULL},
};
static const struct type type_resources = {
    .kind = TYPE_STRUCT, .name = "vmconfigs.ResourceConfig", .fields = resources_fields};

static const struct type_field ssh_fields[] = {
    {.name = "IdentityPath", .type = &type_string},
    {.name = "Port", .type = &type_int},
    {.name = "RemoteUsername", .type = &type_string},
    {.name = NULL},
};
static const struct type type_ssh = {
    .kind = TYPE_STRUCT, .name = "vmconfigs.SSHConfig", .fields = ssh_fields};

static const struct type_field last_exit_fields[] = {
    {.name = "At", .type = &type_time},
    {.name = "Status", .type = &type_string},
    {.name = "Expected", .type = &type_bool},
    {.name = "Log", .type = &type_string},
    {.name = NULL},
};
static const struct type type_last_exit = {
    .kind = TYPE_STRUCT, .name = "vmnet.LastExit", .fields = last_exit_fields};
static const struct type type_last_exit_pointer = {
    .kind = TYPE_POINTER, .name = "*vmnet.LastExit", .of = &type_last_exit};

static const struct type_field port_fields[] = {
    {.name = "Port", .type = &type_int},       {.name = "Protocol", .type = &type_string},
    {.name = "Address", .type = &type_string}, {.name = "Forwarded", .type = &type_bool},
    {.name = "Reason", .type = &type_string},  {.name = NULL},
};
static const struct type type_port = {
    .kind = TYPE_STRUCT, .name = "vmnet.Port", .fields = port_fields};
static const struct type type_ports = {.kind = TYPE_LIST, .name = "[]vmnet.Port", .of = &type_port};
static const struct type_field mount_fields[] = {
    {.name = "ReadOnly", .type = &type_bool},
    {.name = "Source", .type = &type_string},
    {.name = "Tag", .type = &type_string},
    {.name = "Target", .type = &type_string},
    {.name = NULL},
};
static const struct type type_mount = {
    .kind = TYPE_STRUCT, .name = "vmconfigs.Mount", .fields = mount_fields};
static const struct type type_mounts = {
    .kind = TYPE_LIST, .name = "[]vmconfigs.Mount", .of = &type_mount};

static const struct type_field vmnet_fields[] = {
    {.name = "Provider", .type = &type_string},
    {.name = "Phase", .type = &type_string},
    {.name = "Detail", .type = &type_string},
    {.name = "Supervised", .type = &type_bool},
    {.name = "Address", .type = &type_string},
    {.name = "LastExit", .type = &type_last_exit_pointer},
    {.name = "Network", .type = &type_string},
    {.name = "Isolated", .type = &type_bool},
    {.name = "Offload", .type = &type_string},
    {.name = "DNS", .type = &type_strings},
    {.name = "RestartPolicy", .type = &type_string},
    {.name = "Autostart", .type = &type_bool},
    {.name = "Mounts", .type = &type_mounts},
    {.name = "LocalhostPorts", .type = &type_bool},
    {.name = "Ports", .type = &type_ports},
    {.name = NULL},
};
static const struct type type_vmnet = {
    .kind = TYPE_STRUCT, .name = "vmnet.Info", .fields = vmnet_fields};

static const struct type_field inspect_fields[] = {
    {.name = "ConfigDir", .type = &type_file},
    {.name = "ConnectionInfo", .type = &type_connection},
    {.name = "Created", .type = &type_time},
    {.name = "LastUp", .type = &type_time},
    {.name = "Name", .type = &type_string},
    {.name = "Resources", .type = &type_resources},
    {.name = "SSHConfig", .type = &type_ssh},
    {.name = "State", .type = &type_string},
    {.name = "UserModeNetworking", .type = &type_bool},
    {.name = "Rootful", .type = &type_bool},
    {.name = "Rosetta", .type = &type_bool},
    {.name = "Vmnet", .type = &type_vmnet},
    {.name = NULL},
};
static const struct type type_inspect = {
    .kind = TYPE_STRUCT, .name = "machine.InspectInfo", .fields = inspect_fields};
static const struct type type_inspects = {
    .kind = TYPE_LIST, .name = "[]machine.InspectInfo", .of = &type_inspect};

static json_t *describe_last_exit(const struct last_exit *last)
{
    if (last->at_ns == 0)
        return json_null();
    cleanup_free char *at = clock_format_rfc3339(last->at_ns);
    cleanup_free char *status = process_describe_status(last->wait_status);
    return json_pack("{s:s, s:s, s:b, s:s}", "At", at, "Status", status, "Expected", last->expected,
                     "Log", last->log ? last->log : "");
}

// With the keys of podman's own record, which its inspect does not show.
static json_t *describe_mounts(const struct mounts *mounts)
{
    json_t *array = json_array();
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i];
        json_array_append_new(array, json_pack("{s:b, s:s, s:s, s:s}", "ReadOnly", mount->read_only,
                                               "Source", mount->source, "Tag", mount->tag, "Target",
                                               mount->target));
    }
    return array;
}

// What --network and its like have made of it: nothing where the provider has no such network.
static void describe_settings(json_t *vmnet, const struct machine *m)
{
    const struct provider *provider = provider_find(m->provider);
    bool vmnet_row = provider && !provider->network->user_mode;
    cleanup_free char *network = network_options_text(&m->network);
    json_t *dns = json_array();
    for (size_t i = 0; i < m->dns.count; i++)
        json_array_append_new(dns, json_string(m->dns.items[i]));
    json_object_set_new(vmnet, "Network", json_string(vmnet_row ? network : ""));
    json_object_set_new(vmnet, "Isolated", json_boolean(m->network.isolated));
    json_object_set_new(vmnet, "Offload",
                        json_string(vmnet_row ? network_offload_text(m->network.offload) : ""));
    json_object_set_new(vmnet, "DNS", dns);
    json_object_set_new(vmnet, "RestartPolicy", json_string(m->restart ? "on-failure" : "no"));
    json_object_set_new(vmnet, "Autostart", json_boolean(supervisor_for(m)->autostarts(m)));
}

// The guest's own, or where its sshd answers; a port of this host is no address of a guest that
// has one.
static const char *address_of(const struct machine *m, const struct status *status)
{
    const struct provider *provider = provider_find(m->provider);
    bool has_own = provider && !provider->network->user_mode;
    if (status->address || !status->host)
        return status->address;
    return has_own && strcmp(status->host, "127.0.0.1") == 0 ? NULL : status->host;
}

static json_t *describe_vmnet(const struct machine *m, const struct machine_now *now)
{
    const struct status *status = &now->status;
    const char *address = address_of(m, status);
    json_t *vmnet =
        json_pack("{s:s, s:s, s:s, s:b, s:s, s:o}", "Provider", m->provider, "Phase",
                  now->supervised ? phase_name(status->phase) : "", "Detail",
                  status->detail ? status->detail : "", "Supervised", now->supervised, "Address",
                  address ? address : "", "LastExit", describe_last_exit(&now->last_exit));
    describe_settings(vmnet, m);
    json_object_set_new(vmnet, "Mounts", describe_mounts(&m->mounts));
    json_object_set_new(vmnet, "LocalhostPorts", json_boolean(m->localhost_ports));
    json_object_set_new(vmnet, "Ports", now->supervised ? localhost_ports(m->name) : json_array());
    return vmnet;
}

static json_t *describe(const struct machine *m, const struct machine_now *now)
{
    cleanup_free char *folder = machine_folder(m->name);
    cleanup_free char *socket = machine_path(m->name, MACHINE_API_SOCKET);
    cleanup_free char *created = clock_format_rfc3339(m->created_ns);
    cleanup_free char *last_up = clock_format_rfc3339(now->last_up_ns);
    const struct provider *provider = provider_find(m->provider);
    bool user_mode = provider && provider->network->user_mode;
    return json_pack(
        "{s:{s:s}, s:{s:{s:s}, s:n}, s:s, s:s, s:s, s:{s:I, s:I, s:I, s:[]},"
        " s:{s:s, s:I, s:s}, s:s, s:b, s:b, s:b, s:o}",
        "ConfigDir", "Path", folder, "ConnectionInfo", "PodmanSocket", "Path", socket, "PodmanPipe",
        "Created", created, "LastUp", last_up, "Name", m->name, "Resources", "CPUs",
        (json_int_t)m->resources.cpus, "DiskSize", (json_int_t)m->resources.disk_gib, "Memory",
        (json_int_t)m->resources.memory_mib, "USBs", "SSHConfig", "IdentityPath", m->ssh.identity,
        "Port", (json_int_t)m->ssh.port, "RemoteUsername", m->ssh.user, "State",
        machine_state_name(now->state), "UserModeNetworking", user_mode, "Rootful", m->rootful,
        "Rosetta", false, "Vmnet", describe_vmnet(m, now));
}

// One of podman's own, when both sides are asked at once.
static int inspect_podmans(json_t *found, const char *name, struct error *err)
{
    const char *const words[] = {"inspect", name, NULL};
    cleanup_json json_t *machines = NULL;
    if (peer_ask(&machines, words, err) < 0)
        return -1;
    json_array_extend(found, machines);
    return 0;
}

static int inspect_one(json_t *found, const char *name, struct error *err)
{
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    if (machine_load(&m, name, err) < 0 || machine_ask(&now, name, err) < 0)
        return -1;
    json_array_append_new(found, describe(&m, &now));
    return 0;
}

// podman tells of every name that it does not know, and of the last one as the verb's error.
// The only place besides main that prints errors.
static int report(const struct strvec *errors, struct error *err)
{
    if (errors->count == 0)
        return 0;
    fflush(stdout);
    for (size_t i = 0; i + 1 < errors->count; i++)
        fprintf(stderr, "Error: %s\n", errors->items[i]);
    return error_set(err, err->code, "%s", errors->items[errors->count - 1]);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT, errors = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_json json_t *found = json_array();
    if (options_parse(self, argc, argv, &values, &names, err) < 0)
        return -1;
    if (names.count == 0)
        strvec_push(&names, default_machine);

    for (size_t i = 0; i < names.count; i++) {
        bool podmans = peer_is_asked && !machine_exists(names.items[i]) &&
                       peer_has_machine(names.items[i], NULL);
        if ((podmans ? inspect_podmans : inspect_one)(found, names.items[i], err) < 0)
            strvec_push(&errors, err->message);
    }
    // podman takes "json" for a text here and prints it; the machines are of more use.
    if (!values.format || format_is_json(values.format)) {
        output_json(&out, found, 5, false);
        strbuf_addc(&out, '\n');
    } else if (format_run("inspect", values.format, (struct value){0},
                          (struct value){&type_inspects, found}, &out, err) < 0) {
        strvec_push(&errors, err->message);
    }
    output_write(&out);
    return report(&errors, err);
}

static const struct option_spec options[] = {
    {.name = "format",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, format),
     .help = "Format machine output using JSON or a Go template"},
    {.name = NULL},
};

const struct command command_inspect = {
    .name = "inspect",
    .operands = "[options] [MACHINE...]",
    .summary = "Inspect an existing machine",
    .details = "Provide details on a managed virtual machine",
    .examples = "inspect myvm",
    .most = COMMAND_ANY,
    .options = options,
    .run = run,
};
