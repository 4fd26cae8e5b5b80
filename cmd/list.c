// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// list: every machine and what it is doing. Takes no lock and waits for nobody.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/format.h"
#include "cmd/output.h"
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

struct row {
    struct machine m;
    struct machine_now now;
    bool is_default;
};

struct rows {
    struct row *items;
    size_t count;
};

static void rows_release(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        machine_release(&rows->items[i].m);
        machine_now_release(&rows->items[i].now);
    }
    free(rows->items);
}

// The network leads through a port of the host, as podman's own does.
static bool is_user_mode(const struct machine *m)
{
    const struct provider *provider = provider_find(m->provider);
    return provider && provider->network->user_mode;
}

// What tools look for in VMType decides what they do: ramalama passes a GPU on when it reads
// "krun", Podman Desktop knows podman's names only. So a row is called after the podman provider
// that has the same hypervisor; `inspect` tells our own name.
static const char *vm_type(const struct machine *m)
{
    if (strcmp(m->provider, "vmnet-krunkit") == 0)
        return "libkrun";
    if (strcmp(m->provider, "vmnet-vfkit") == 0)
        return "applehv";
    return m->provider;
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
    int running = (right->now.state != MACHINE_STOPPED) - (left->now.state != MACHINE_STOPPED);
    if (running)
        return running;
    if (left->now.last_up_ns != right->now.last_up_ns)
        return left->now.last_up_ns > right->now.last_up_ns ? -1 : 1;
    return strcmp(left->m.name, right->m.name);
}

// A machine that cannot be read is logged, and the others are shown.
static int load_rows(struct rows *rows, struct error *err)
{
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    cleanup_free char *file = paths_connections();
    cleanup_free char *connection = NULL, *uri = NULL;
    struct error ignored;
    if (machine_names(&names, err) < 0)
        return -1;
    if (connection_default(file, &connection, &uri, &ignored) < 0)
        log_warn("%s", ignored.message);

    rows->items = xcalloc(names.count + 1, sizeof(*rows->items));
    for (size_t i = 0; i < names.count; i++) {
        struct row *row = &rows->items[rows->count];
        if (machine_load(&row->m, names.items[i], &ignored) < 0) {
            log_error("%s", ignored.message);
            continue;
        }
        if (machine_ask(&row->now, names.items[i], &ignored) < 0)
            log_error("%s", ignored.message);
        row->is_default = is_default(&row->m, connection, uri);
        rows->count++;
    }
    qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
    return 0;
}

static json_t *bytes(uint64_t count, bool human)
{
    cleanup_free char *text =
        human ? units_size(count) : xasprintf("%llu", (unsigned long long)count);
    return json_string(text);
}

// For programs.
static json_t *machine_form(const struct row *row)
{
    const struct machine *m = &row->m;
    cleanup_free char *created = clock_format_rfc3339(m->created_ns);
    cleanup_free char *last_up = clock_format_rfc3339(row->now.last_up_ns);
    // Never both of Running and Starting: Podman Desktop takes Running for usable.
    return json_pack(
        "{s:s, s:b, s:s, s:b, s:b, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:I, s:s, s:s, s:b}", "Name",
        m->name, "Default", row->is_default, "Created", created, "Running",
        row->now.state == MACHINE_RUNNING, "Starting", row->now.state == MACHINE_STARTING, "LastUp",
        last_up, "Stream", "default", "VMType", vm_type(m), "CPUs", (json_int_t)m->resources.cpus,
        "Memory", bytes(m->resources.memory_mib << 20, false), "Swap", bytes(0, false), "DiskSize",
        bytes(m->resources.disk_gib << 30, false), "Port", (json_int_t)m->ssh.port,
        "RemoteUsername", m->ssh.user, "IdentityPath", m->ssh.identity, "UserModeNetworking",
        is_user_mode(m));
}

static char *time_ago(int64_t wall_ns)
{
    cleanup_free char *duration = units_duration(clock_wall_ns() - wall_ns);
    return xasprintf("%s ago", duration);
}

static char *last_up(const struct machine_now *now)
{
    if (now->state == MACHINE_STARTING)
        return xstrdup("Currently starting");
    if (now->state == MACHINE_RUNNING)
        return xstrdup("Currently running");
    return now->last_up_ns ? time_ago(now->last_up_ns) : xstrdup("Never");
}

// For people and templates. podman leaves the other fields empty here.
static json_t *human_form(const struct row *row)
{
    const struct machine *m = &row->m;
    cleanup_free char *name = xasprintf("%s%s", m->name, row->is_default ? "*" : "");
    cleanup_free char *created = time_ago(m->created_ns);
    cleanup_free char *up = last_up(&row->now);
    return json_pack(
        "{s:s, s:b, s:s, s:b, s:b, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:i, s:s, s:s, s:b}", "Name",
        name, "Default", row->is_default, "Created", created, "Running",
        row->now.state == MACHINE_RUNNING, "Starting", row->now.state == MACHINE_STARTING, "LastUp",
        up, "Stream", "", "VMType", vm_type(m), "CPUs", (json_int_t)m->resources.cpus, "Memory",
        bytes(m->resources.memory_mib << 20, true), "Swap", bytes(0, true), "DiskSize",
        bytes(m->resources.disk_gib << 30, true), "Port", 0, "RemoteUsername", "", "IdentityPath",
        "", "UserModeNetworking", false);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(rows_release) struct rows rows = {NULL, 0};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_json json_t *list = json_array(), *titles = headers();
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 || load_rows(&rows, err) < 0)
        return -1;

    const char *format = values.format        ? values.format
                         : values.quiet.value ? "{{.Name}}\\n"
                                              : default_format;
    bool json = format_is_json(format);
    for (size_t i = 0; i < rows.count; i++)
        json_array_append_new(list,
                              json ? machine_form(&rows.items[i]) : human_form(&rows.items[i]));
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
