// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// list: every machine and what it is doing; called as podman, podman's own among them. Takes no
// lock.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/format.h"
#include "cmd/output.h"
#include "cmd/peer.h"
#include "cmd/program.h"
#include "cmd/units.h"
#include "provider/connection.h"
#include "provider/paths.h"
#include "provider/provider.h"
#include "provider/state.h"

struct values {
    const char *format;
    struct option_bool noheading, quiet, all_providers;
};

static const char default_format[] =
    "table {{.Name}}\\t{{.VMType}}\\t{{.Created}}\\t{{.LastUp}}\\t{{.CPUs}}\\t{{.Memory}}\\t"
    "{{.DiskSize}}\\n";

static const struct type_field row_fields[] = {
    {.name = "Name", .type = &type_string},
    {.name = "Default", .type = &type_bool},
    {.name = "Created", .type = &type_string},
    {.name = "Running", .type = &type_bool},
    {.name = "Starting", .type = &type_bool},
    {.name = "LastUp", .type = &type_string},
    {.name = "Stream", .type = &type_string},
    {.name = "VMType", .type = &type_string},
    {.name = "CPUs", .type = &type_int},
    {.name = "Memory", .type = &type_string},
    {.name = "Swap", .type = &type_string},
    {.name = "DiskSize", .type = &type_string},
    {.name = "Port", .type = &type_int},
    {.name = "RemoteUsername", .type = &type_string},
    {.name = "IdentityPath", .type = &type_string},
    {.name = "UserModeNetworking", .type = &type_bool},
    {.name = NULL},
};
static const struct type type_row = {
    .kind = TYPE_STRUCT, .name = "entities.ListReporter", .fields = row_fields};
static const struct type type_row_pointer = {
    .kind = TYPE_POINTER, .name = "*entities.ListReporter", .of = &type_row};
static const struct type type_rows = {
    .kind = TYPE_LIST, .name = "[]*entities.ListReporter", .of = &type_row_pointer};
static const struct type type_headers = {
    .kind = TYPE_LIST, .name = "[]map[string]string", .of = &type_string_map};

static json_t *headers(void)
{
    return json_pack("[{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s,"
                     "  s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}]",
                     "Name", "NAME", "Default", "DEFAULT", "Created", "CREATED", "Running",
                     "RUNNING", "Starting", "STARTING", "LastUp", "LAST UP", "Stream", "STREAM",
                     "VMType", "VM TYPE", "CPUs", "CPUS", "Memory", "MEMORY", "Swap", "SWAP",
                     "DiskSize", "DISK SIZE", "Port", "PORT", "RemoteUsername", "REMOTE USERNAME",
                     "IdentityPath", "IDENTITY PATH", "UserModeNetworking", "USER MODE NETWORKING");
}

// A machine of ours or of podman's, in the form for programs.
struct row {
    json_t *machine;
    int64_t last_up_ns;
    bool alive; // running or starting
};

struct rows {
    struct row *items;
    size_t count;
};

static void rows_release(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        json_decref(rows->items[i].machine);
    free(rows->items);
}

static const char *text_of(const json_t *machine, const char *key)
{
    const char *text = json_string_value(json_object_get(machine, key));
    return text ? text : "";
}

static bool flag_of(const json_t *machine, const char *key)
{
    return json_is_true(json_object_get(machine, key));
}

// Takes the reference.
static void add_row(struct rows *rows, json_t *machine)
{
    struct row row = {
        .machine = machine,
        .alive = flag_of(machine, "Running") || flag_of(machine, "Starting"),
    };
    clock_parse_rfc3339(text_of(machine, "LastUp"), &row.last_up_ns);
    rows->items = xrealloc(rows->items, (rows->count + 1) * sizeof(*rows->items));
    rows->items[rows->count++] = row;
}

// The network leads through a port of the host, as podman's own does.
static bool is_user_mode(const struct machine *m)
{
    const struct provider *provider = provider_find(m->provider);
    return provider && provider->network->user_mode;
}

// podman compares with NAME only, so that a rootful machine is never shown as the default that it
// is. The port tells ours from a connection of the same name to somewhere else.
static bool is_default(const struct machine *m, const char *connection, const char *uri)
{
    size_t length = strlen(m->name);
    if (!connection || !uri || strncmp(connection, m->name, length) != 0)
        return false;
    if (connection[length] && strcmp(connection + length, "-root") != 0)
        return false;
    cleanup_free char *port =
        xasprintf(":%llu/", is_user_mode(m) ? (unsigned long long)m->ssh.port : 22);
    return strstr(uri, port) != NULL;
}

// What is running comes first, then what ran last, then by name.
static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->alive != right->alive)
        return right->alive - left->alive;
    if (left->last_up_ns != right->last_up_ns)
        return left->last_up_ns > right->last_up_ns ? -1 : 1;
    return strcmp(text_of(left->machine, "Name"), text_of(right->machine, "Name"));
}

static json_t *bytes(uint64_t mib)
{
    cleanup_free char *text = xasprintf("%llu", (unsigned long long)mib << 20);
    return json_string(text);
}

static json_t *describe(const struct machine *m, const struct machine_now *now, bool by_default)
{
    cleanup_free char *created = clock_format_rfc3339(m->created_ns);
    cleanup_free char *last_up = clock_format_rfc3339(now->last_up_ns);
    // Never both of Running and Starting: Podman Desktop takes Running for usable.
    return json_pack(
        "{s:s, s:b, s:s, s:b, s:b, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:I, s:s, s:s, s:b}", "Name",
        m->name, "Default", by_default, "Created", created, "Running",
        now->state == MACHINE_RUNNING, "Starting", now->state == MACHINE_STARTING, "LastUp",
        last_up, "Stream", "default", "VMType", program_vm_type(m->provider), "CPUs",
        (json_int_t)m->resources.cpus, "Memory", bytes(m->resources.memory_mib), "Swap",
        bytes(m->resources.swap_mib), "DiskSize", bytes(m->resources.disk_gib << 10), "Port",
        (json_int_t)m->ssh.port, "RemoteUsername", m->ssh.user, "IdentityPath", m->ssh.identity,
        "UserModeNetworking", is_user_mode(m));
}

// Podman Desktop asks once for each of podman's providers, and shows what it is told twice as two
// machines: each of ours is told where its like belongs.
static bool is_asked_for(const struct machine *m)
{
    const char *provider = getenv("CONTAINERS_MACHINE_PROVIDER");
    if (!peer_is_asked || !provider || !*provider || provider_find(provider))
        return true;
    return strcasecmp(provider, program_vm_type(m->provider)) == 0;
}

// A machine that cannot be read is logged, and the others are shown.
static int add_own(struct rows *rows, struct error *err)
{
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    cleanup_free char *file = paths_connections();
    cleanup_free char *connection = NULL, *uri = NULL;
    struct error ignored;
    if (machine_names(&names, err) < 0)
        return -1;
    if (connection_default(file, &connection, &uri, &ignored) < 0)
        log_warn("%s", ignored.message);
    for (size_t i = 0; i < names.count; i++) {
        CLEANUP(machine_release) struct machine m = MACHINE_INIT;
        CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
        if (machine_load(&m, names.items[i], &ignored) < 0) {
            log_error("%s", ignored.message);
            continue;
        }
        if (machine_ask(&now, names.items[i], &ignored) < 0)
            log_error("%s", ignored.message);
        if (is_asked_for(&m))
            add_row(rows, describe(&m, &now, is_default(&m, connection, uri)));
    }
    return 0;
}

// What podman has itself; it is asked in the same way that we were.
static void add_podmans(struct rows *rows, bool all_providers)
{
    const char *const words[] = {"list", "--format", "json",
                                 all_providers ? "--all-providers" : NULL, NULL};
    const char *const plain[] = {"list", "--format", "json", NULL};
    cleanup_json json_t *list = NULL;
    struct error err;
    json_t *machine;
    size_t i;
    if (peer_ask(&list, words, &err) < 0 &&
        // podman 6 lists all of them always and has no such option any more
        (!all_providers || err.code != ECHILD || peer_ask(&list, plain, &err) < 0))
        peer_report(&err);
    json_array_foreach(list, i, machine)
    {
        if (json_is_object(machine))
            add_row(rows, json_incref(machine));
    }
}

static char *time_ago(int64_t wall_ns)
{
    cleanup_free char *duration = units_duration(clock_wall_ns() - wall_ns);
    return xasprintf("%s ago", duration);
}

static char *last_up(const struct row *row)
{
    if (flag_of(row->machine, "Starting"))
        return xstrdup("Currently starting");
    if (row->alive)
        return xstrdup("Currently running");
    return row->last_up_ns ? time_ago(row->last_up_ns) : xstrdup("Never");
}

static json_t *human_size(const json_t *machine, const char *key)
{
    cleanup_free char *text = units_size(strtoull(text_of(machine, key), NULL, 10));
    return json_string(text);
}

// For people and templates. podman leaves the other fields empty here.
static json_t *human_form(const struct row *row)
{
    const json_t *m = row->machine;
    int64_t created_ns = 0;
    clock_parse_rfc3339(text_of(m, "Created"), &created_ns);
    cleanup_free char *name =
        xasprintf("%s%s", text_of(m, "Name"), flag_of(m, "Default") ? "*" : "");
    cleanup_free char *created = time_ago(created_ns);
    cleanup_free char *up = last_up(row);
    return json_pack(
        "{s:s, s:b, s:s, s:b, s:b, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:i, s:s, s:s, s:b}", "Name",
        name, "Default", flag_of(m, "Default"), "Created", created, "Running",
        flag_of(m, "Running") && !flag_of(m, "Starting"), "Starting", flag_of(m, "Starting"),
        "LastUp", up, "Stream", "", "VMType", text_of(m, "VMType"), "CPUs",
        json_integer_value(json_object_get(m, "CPUs")), "Memory", human_size(m, "Memory"), "Swap",
        human_size(m, "Swap"), "DiskSize", human_size(m, "DiskSize"), "Port", 0, "RemoteUsername",
        "", "IdentityPath", "", "UserModeNetworking", false);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(rows_release) struct rows rows = {NULL, 0};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_json json_t *list = json_array(), *titles = headers();
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 || add_own(&rows, err) < 0)
        return -1;
    add_podmans(&rows, values.all_providers.value);
    if (rows.count)
        qsort(rows.items, rows.count, sizeof(*rows.items), compare_rows);

    const char *format = values.format        ? values.format
                         : values.quiet.value ? "{{.Name}}\\n"
                                              : default_format;
    bool json = format_is_json(format);
    for (size_t i = 0; i < rows.count; i++)
        json_array_append_new(list, json ? json_incref(rows.items[i].machine)
                                         : human_form(&rows.items[i]));
    int result = 0;
    if (json) {
        output_json(&out, list, 4, true);
    } else {
        struct value top = {values.noheading.value ? NULL : &type_headers, titles};
        result = format_run("list", format, top, (struct value){&type_rows, list}, &out, err);
    }
    output_write(&out);
    return result;
}

static const struct option_spec options[] = {
    {.name = "all-providers", // podman 5
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, all_providers)},
    {.name = "format",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, format),
     .help = "Format machine output using JSON or a Go template"},
    {.name = "noheading",
     .letter = 'n',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, noheading),
     .help = "Do not print headers"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Show only machine names"},
    {.name = NULL},
};

const struct command command_list = {
    .name = "list",
    .alias = "ls",
    .operands = "[options]",
    .summary = "List machines",
    .details = "List managed virtual machines.",
    .examples = "list\nlist --format json\nls",
    .options = options,
    .run = run,
};
