// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cmd/format.h"

// format_cases.jsonl holds what podman's own code (its report package over Go's text/template)
// made of these two lists: [verb, --format, output, error or null] on each line.

static const struct type type_file, type_file_pointer;

static const struct type_field file_fields[] = {
    {"Path", &type_string, NULL},
    {"Symlink", &(const struct type){.kind = TYPE_POINTER, .name = "*string", .of = &type_string},
     "symlink"},
    {0},
};
static const struct type type_file = {
    .kind = TYPE_STRUCT, .name = "define.VMFile", .fields = file_fields};
static const struct type type_file_pointer = {
    .kind = TYPE_POINTER, .name = "*define.VMFile", .of = &type_file};

static const struct type_field connection_fields[] = {
    {"PodmanSocket", &type_file_pointer, NULL}, {"PodmanPipe", &type_file_pointer, NULL}, {0}};
static const struct type type_connection = {
    .kind = TYPE_STRUCT, .name = "machine.ConnectionConfig", .fields = connection_fields};

static const struct type type_usbs = {
    .kind = TYPE_LIST, .name = "[]vmconfigs.USBConfig", .of = &type_string};
static const struct type_field resources_fields[] = {{"CPUs", &type_int, NULL},
                                                     {"DiskSize", &type_int, NULL},
                                                     {"Memory", &type_int, NULL},
                                                     {"USBs", &type_usbs, NULL},
                                                     {0}};
static const struct type type_resources = {
    .kind = TYPE_STRUCT, .name = "vmconfigs.ResourceConfig", .fields = resources_fields};

static const struct type_field ssh_fields[] = {{"IdentityPath", &type_string, NULL},
                                               {"Port", &type_int, NULL},
                                               {"RemoteUsername", &type_string, NULL},
                                               {0}};
static const struct type type_ssh = {
    .kind = TYPE_STRUCT, .name = "vmconfigs.SSHConfig", .fields = ssh_fields};

static const struct type_field inspect_fields[] = {
    {"ConfigDir", &type_file, NULL},
    {"ConnectionInfo", &type_connection, NULL},
    {"Created", &type_time, NULL},
    {"LastUp", &type_time, NULL},
    {"Name", &type_string, NULL},
    {"Resources", &type_resources, NULL},
    {"SSHConfig", &type_ssh, NULL},
    {"State", &type_string, NULL},
    {"UserModeNetworking", &type_bool, NULL},
    {"Rootful", &type_bool, NULL},
    {"Rosetta", &type_bool, NULL},
    {0},
};
static const struct type type_inspect = {
    .kind = TYPE_STRUCT, .name = "machine.InspectInfo", .fields = inspect_fields};
static const struct type type_inspects = {
    .kind = TYPE_LIST, .name = "[]machine.InspectInfo", .of = &type_inspect};

static const char inspect_json[] =
    "[{'ConfigDir':{'Path':'/c/a'},'ConnectionInfo':{'PodmanSocket':{'Path':'/r/a-api.sock'},"
    "'PodmanPipe':null},'Created':'2026-11-30T17:08:37.582503035Z',"
    "'LastUp':'0001-01-01T00:00:00Z','Name':'a','Resources':{'CPUs':1,'DiskSize':100,"
    "'Memory':2048,'USBs':[]},'SSHConfig':{'IdentityPath':'/k/a','Port':43673,"
    "'RemoteUsername':'core'},'State':'running','UserModeNetworking':true,'Rootful':true,"
    "'Rosetta':false},"
    "{'ConfigDir':{'Path':'/c/b'},'ConnectionInfo':{'PodmanSocket':{'Path':'/r/b-api.sock'},"
    "'PodmanPipe':null},'Created':'2026-01-02T03:04:05Z','LastUp':'2026-02-03T04:05:06.7Z',"
    "'Name':'b<&>','Resources':{'CPUs':4,'DiskSize':11,'Memory':4096,'USBs':[]},"
    "'SSHConfig':{'IdentityPath':'/k/b','Port':22,'RemoteUsername':'core'},'State':'stopped',"
    "'UserModeNetworking':false,'Rootful':false,'Rosetta':false}]";

static const struct type_field list_fields[] = {
    {"Name", &type_string, NULL},
    {"Default", &type_bool, NULL},
    {"Created", &type_string, NULL},
    {"Running", &type_bool, NULL},
    {"Starting", &type_bool, NULL},
    {"LastUp", &type_string, NULL},
    {"Stream", &type_string, NULL},
    {"VMType", &type_string, NULL},
    {"CPUs", &type_int, NULL},
    {"Memory", &type_string, NULL},
    {"Swap", &type_string, NULL},
    {"DiskSize", &type_string, NULL},
    {"Port", &type_int, NULL},
    {"RemoteUsername", &type_string, NULL},
    {"IdentityPath", &type_string, NULL},
    {"UserModeNetworking", &type_bool, NULL},
    {0},
};
static const struct type type_row = {
    .kind = TYPE_STRUCT, .name = "entities.ListReporter", .fields = list_fields};
static const struct type type_row_pointer = {
    .kind = TYPE_POINTER, .name = "*entities.ListReporter", .of = &type_row};
static const struct type type_rows = {
    .kind = TYPE_LIST, .name = "[]*entities.ListReporter", .of = &type_row_pointer};
static const struct type type_headers = {
    .kind = TYPE_LIST, .name = "[]map[string]string", .of = &type_string_map};

static const char list_json[] =
    "[{'Name':'a*','Default':true,'Created':'2 hours ago','Running':true,'Starting':false,"
    "'LastUp':'Currently running','Stream':'','VMType':'libkrun','CPUs':4,'Memory':'2GiB',"
    "'Swap':'0B','DiskSize':'100GiB','Port':0,'RemoteUsername':'','IdentityPath':'',"
    "'UserModeNetworking':false},"
    "{'Name':'longer-than-twelve','Default':false,'Created':'3 weeks ago','Running':false,"
    "'Starting':false,'LastUp':'Never','Stream':'','VMType':'qemu','CPUs':1,'Memory':'1.5GiB',"
    "'Swap':'0B','DiskSize':'11GiB','Port':0,'RemoteUsername':'','IdentityPath':'',"
    "'UserModeNetworking':false}]";

static const char headers_json[] =
    "[{'Name':'NAME','Default':'DEFAULT','Created':'CREATED','Running':'RUNNING',"
    "'Starting':'STARTING','LastUp':'LAST UP','Stream':'STREAM','VMType':'VM TYPE','CPUs':'CPUS',"
    "'Memory':'MEMORY','Swap':'SWAP','DiskSize':'DISK SIZE','Port':'PORT',"
    "'RemoteUsername':'REMOTE USERNAME','IdentityPath':'IDENTITY PATH',"
    "'UserModeNetworking':'USER MODE NETWORKING'}]";

static json_t *parse_fixture(const char *text)
{
    cleanup_free char *json = xstrdup(text);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *value = json_loads(json, 0, NULL);
    assert_non_null(value);
    return value;
}

static bool check(const json_t *row, struct value headers, struct value rows)
{
    const char *name = json_string_value(json_array_get(row, 0));
    const char *text = json_string_value(json_array_get(row, 1));
    const char *wanted = json_string_value(json_array_get(row, 2));
    const char *message = json_string_value(json_array_get(row, 3));
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    struct error err = {0};
    bool failed = format_run(name, text, headers, rows, &out, &err) < 0;
    if (strcmp(out.text, wanted) == 0 && strcmp(err.message, message ? message : "") == 0 &&
        failed == (message != NULL))
        return true;
    print_error("'%s'\n  gave   '%s' '%s'\n  wanted '%s' '%s'\n", text, out.text, err.message,
                wanted, message ? message : "");
    return false;
}

static void same_as_podman(void **state)
{
    (void)state;
    cleanup_json json_t *inspect = parse_fixture(inspect_json), *list = parse_fixture(list_json),
                        *headers = parse_fixture(headers_json);
    cleanup_free char *cases = get_text(FORMAT_CASES);
    size_t wrong = 0, count = 0;
    for (char *line = strtok(cases, "\n"); line; line = strtok(NULL, "\n"), count++) {
        cleanup_json json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        if (strcmp(json_string_value(json_array_get(row, 0)), "inspect") == 0)
            wrong += !check(row, (struct value){0}, (struct value){&type_inspects, inspect});
        else
            wrong += !check(row, (struct value){&type_headers, headers},
                            (struct value){&type_rows, list});
    }
    assert_true(count > 100);
    assert_int_equal(wrong, 0);
}

static void knows_requests_for_json(void **state)
{
    (void)state;
    static const char *const yes[] = {"json", " json ", "{{json}}", "{{ json. }}", "{{json.}}\n"};
    static const char *const no[] = {"JSON", "{{json .}}", "jsonx", "{{json", "json.", "", "xjson"};
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
        assert_true(format_is_json(yes[i]));
    for (size_t i = 0; i < ARRAY_SIZE(no); i++)
        assert_false(format_is_json(no[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_podman),
        cmocka_unit_test(knows_requests_for_json),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
