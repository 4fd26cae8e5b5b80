// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// info: the host and its machines. Called as podman for a provider of podman's, it is podman's own
// answer with our machines counted in.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/config.h"
#include "cmd/format.h"
#include "cmd/output.h"
#include "cmd/peer.h"
#include "cmd/program.h"
#include "cmd/text.h"
#include "provider/connection.h"
#include "provider/paths.h"
#include "provider/state.h"

struct values {
    const char *format;
};

static const struct type_field host_fields[] = {
    {.name = "Arch", .type = &type_string},
    {.name = "CurrentMachine", .type = &type_string},
    {.name = "DefaultMachine", .type = &type_string},
    {.name = "EventsDir", .type = &type_string},
    {.name = "MachineConfigDir", .type = &type_string},
    {.name = "MachineImageDir", .type = &type_string},
    {.name = "MachineState", .type = &type_string},
    {.name = "NumberOfMachines", .type = &type_int},
    {.name = "OS", .type = &type_string},
    {.name = "VMType", .type = &type_string},
    {.name = NULL},
};
static const struct type type_host = {
    .kind = TYPE_STRUCT, .name = "entities.MachineHostInfo", .fields = host_fields};
static const struct type type_host_pointer = {
    .kind = TYPE_POINTER, .name = "*entities.MachineHostInfo", .of = &type_host};

static const struct type_field version_fields[] = {
    {.name = "APIVersion", .type = &type_string},  {.name = "Version", .type = &type_string},
    {.name = "GoVersion", .type = &type_string},   {.name = "GitCommit", .type = &type_string},
    {.name = "BuiltTime", .type = &type_string},   {.name = "Built", .type = &type_int},
    {.name = "BuildOrigin", .type = &type_string}, {.name = "OsArch", .type = &type_string},
    {.name = "Os", .type = &type_string},          {.name = NULL},
};
static const struct type type_version = {
    .kind = TYPE_STRUCT, .name = "define.Version", .fields = version_fields};

static const struct type_field info_fields[] = {
    {.name = "Host", .type = &type_host_pointer},
    {.name = "Version", .type = &type_version},
    {.name = NULL},
};
static const struct type type_info = {
    .kind = TYPE_STRUCT, .name = "entities.MachineInfo", .fields = info_fields};

static const char *go_arch(void)
{
    const char *arch = platform_arch();
    return strcmp(arch, "x86_64") == 0 ? "amd64" : strcmp(arch, "aarch64") == 0 ? "arm64" : arch;
}

// The machine that the default connection leads to, "" if it is none of ours.
static char *default_of(const struct strvec *names)
{
    cleanup_free char *file = paths_connections();
    cleanup_free char *connection = NULL, *uri = NULL;
    struct error ignored;
    if (connection_default(file, &connection, &uri, &ignored) < 0 || !connection)
        return xstrdup("");
    for (size_t i = 0; i < names->count; i++) {
        cleanup_free char *root = xasprintf("%s-root", names->items[i]);
        if (strcmp(connection, names->items[i]) == 0 || strcmp(connection, root) == 0)
            return xstrdup(names->items[i]);
    }
    return xstrdup("");
}

static enum machine_state state_of(const char *name)
{
    CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
    struct error err;
    if (machine_ask(&now, name, &err) < 0)
        log_error("%s", err.message);
    return now.state;
}

// The one that runs, else the one that starts, else the default.
static const char *current_of(const struct strvec *names, const char *by_default,
                              enum machine_state *state)
{
    const char *starting = NULL;
    for (size_t i = 0; i < names->count; i++) {
        *state = state_of(names->items[i]);
        if (*state == MACHINE_RUNNING)
            return names->items[i];
        if (*state == MACHINE_STARTING)
            starting = names->items[i];
    }
    *state = starting ? MACHINE_STARTING : MACHINE_STOPPED;
    return starting ? starting : by_default;
}

static json_t *describe(const char *provider, struct error *err)
{
    static const char *const words[] = {[MACHINE_STOPPED] = "Stopped",
                                        [MACHINE_STARTING] = "Starting",
                                        [MACHINE_RUNNING] = "Running"};
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    if (machine_names(&names, err) < 0)
        return NULL;
    cleanup_free char *by_default = default_of(&names);
    cleanup_free char *events = paths_events();
    cleanup_free char *machines = paths_machines();
    cleanup_free char *images = paths_image_cache();
    cleanup_free char *os_arch = xasprintf("%s/%s", platform_name, go_arch());
    enum machine_state state;
    const char *current = current_of(&names, by_default, &state);
    return json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s},"
                     " s:{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s}}",
                     "Host", "Arch", go_arch(), "CurrentMachine", current, "DefaultMachine",
                     by_default, "EventsDir", events, "MachineConfigDir", machines,
                     "MachineImageDir", images, "MachineState", *current ? words[state] : "",
                     "NumberOfMachines", (json_int_t)names.count, "OS", platform_name, "VMType",
                     program_vm_type(provider), "Version", "APIVersion", PROJECT_VERSION, "Version",
                     PROJECT_VERSION, "GoVersion", "", "GitCommit", "", "BuiltTime", "", "Built", 0,
                     "OsArch", os_arch, "Os", platform_name);
}

static const char *text_of(const json_t *host, const char *key)
{
    const char *text = json_string_value(json_object_get(host, key));
    return text ? text : "";
}

static void take_over(json_t *host, json_t *from, const char *key)
{
    json_object_set(host, key, json_object_get(from, key));
}

// What podman's answer lacks: `host` is its, `ours` ours.
static void merge_host(json_t *host, json_t *ours)
{
    bool runs = strcmp(text_of(ours, "MachineState"), "Running") == 0;
    bool other_runs = strcmp(text_of(host, "MachineState"), "Running") == 0;
    if (!*text_of(host, "CurrentMachine") || (runs && !other_runs)) {
        take_over(host, ours, "CurrentMachine");
        take_over(host, ours, "MachineState");
    }
    if (!*text_of(host, "DefaultMachine"))
        take_over(host, ours, "DefaultMachine");
}

static json_t *merged(json_t *ours, bool provider_is_ours)
{
    const char *const words[] = {"info", "--format", "json", NULL};
    cleanup_json json_t *theirs = NULL;
    struct error err;
    if (peer_ask(&theirs, words, &err) < 0) {
        peer_report(&err);
        return json_incref(ours);
    }
    json_t *host = json_object_get(ours, "Host"), *other = json_object_get(theirs, "Host");
    json_int_t count = json_integer_value(json_object_get(host, "NumberOfMachines")) +
                       json_integer_value(json_object_get(other, "NumberOfMachines"));
    json_t *result = provider_is_ours || !json_is_object(other) ? ours : theirs;
    if (result == theirs)
        merge_host(other, host);
    else if (json_is_object(json_object_get(theirs, "Version")))
        take_over(ours, theirs, "Version"); // tools want podman's, not ours
    json_object_set_new(json_object_get(result, "Host"), "NumberOfMachines", json_integer(count));
    return json_incref(result);
}

// --- YAML, as podman prints it without --format
// ---------------------------------------------------

// Whether YAML reads the bare word as the string that it is.
static bool is_plain(const char *text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "~"};
    bool number = true;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(text, words[i]) == 0)
            return false;
    for (const char *c = text; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("/._-+@", *c) &&
            !(*c == ' ' && c != text && c[1]))
            return false;
        number = number && (isdigit((unsigned char)*c) || strchr(".+-eE_", *c));
    }
    return *text && *text != '-' && *text != '@' && !number;
}

static void add_yaml(struct strbuf *out, const json_t *object, unsigned indent)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        strbuf_addf(out, "%*s", (int)indent, "");
        for (const char *c = key; *c; c++)
            strbuf_addc(out, (char)tolower((unsigned char)*c));
        strbuf_addc(out, ':');
        if (json_is_object(value)) {
            strbuf_addc(out, '\n');
            add_yaml(out, value, indent + 4);
            continue;
        }
        strbuf_addc(out, ' ');
        const char *text = json_string_value(value);
        if (text && !is_plain(text))
            text_quote(out, text);
        else if (text)
            strbuf_adds(out, text);
        else
            output_json(out, value, 0, false);
        strbuf_addc(out, '\n');
    }
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    CLEANUP(config_release) struct config config = CONFIG_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        config_load(&config, err) < 0)
        return -1;
    const char *variable = getenv("CONTAINERS_MACHINE_PROVIDER");
    const char *chosen = variable ? variable : config.provider;
    bool named = chosen && *chosen && program_has_provider(chosen);
    cleanup_json json_t *ours = describe(named ? chosen : platform_default_provider, err);
    if (!ours)
        return -1;
    cleanup_json json_t *info = merged(ours, named);
    int result = 0;
    if (!values.format) {
        add_yaml(&out, info, 0);
        strbuf_addc(&out, '\n');
    } else if (format_is_json(values.format)) {
        output_json(&out, info, 2, false);
        strbuf_addc(&out, '\n');
    } else {
        result = format_run_one("info", values.format, (struct value){&type_info, info}, &out, err);
    }
    output_write(&out);
    return result;
}

static const struct option_spec options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, format),
     .help = "Change the output format to JSON or a Go template"},
    {.name = NULL},
};

const struct command command_info = {
    .name = "info",
    .operands = "[options]",
    .summary = "Display machine host info",
    .details = "Display information pertaining to the machine host.",
    .examples = "info",
    .options = options,
    .run = run,
};
