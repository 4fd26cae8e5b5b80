// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/value.h"

#include <string.h>

#include "base/clock.h"
#include "cmd/units.h"

const struct type type_string = {.kind = TYPE_STRING, .name = "string"};
const struct type type_bool = {.kind = TYPE_BOOL, .name = "bool"};
const struct type type_int = {.kind = TYPE_INT, .name = "int"};
const struct type type_time = {.kind = TYPE_TIME, .name = "time.Time"};
const struct type type_strings = {.kind = TYPE_LIST, .name = "[]string", .of = &type_string};
const struct type type_string_map = {
    .kind = TYPE_MAP, .name = "map[string]string", .of = &type_string};

struct value value_target(struct value value, bool *nil)
{
    *nil =
        value.type && value.type->kind == TYPE_POINTER && (!value.data || json_is_null(value.data));
    if (value.type && value.type->kind == TYPE_POINTER && !*nil)
        value.type = value.type->of;
    return value;
}

bool value_field(struct value structure, const char *name, struct value *field)
{
    for (const struct type_field *row = structure.type->fields; row->name; row++) {
        if (strcmp(row->name, name) == 0) {
            const char *key = row->key ? row->key : row->name;
            *field = (struct value){row->type, json_object_get(structure.data, key)};
            return true;
        }
    }
    return false;
}

const char *value_text(struct value value)
{
    const char *text = json_string_value(value.data);
    return text ? text : "";
}

json_int_t value_number(struct value value)
{
    return json_integer_value(value.data);
}

const char *value_type_name(struct value value)
{
    return value.type ? value.type->name : "<nil>";
}

bool value_true(struct value value)
{
    if (!value.type)
        return false;
    switch (value.type->kind) {
    case TYPE_STRING:
        return *value_text(value) != '\0';
    case TYPE_BOOL:
        return json_is_true(value.data);
    case TYPE_INT:
        return value_number(value) != 0;
    case TYPE_LIST:
        return json_array_size(value.data) > 0;
    case TYPE_MAP:
        return json_object_size(value.data) > 0;
    case TYPE_POINTER:
        return value.data && !json_is_null(value.data);
    case TYPE_TIME:
    case TYPE_STRUCT:
        break;
    }
    return true;
}

static void print_time(struct strbuf *out, struct value value)
{
    int64_t wall_ns = 0;
    clock_parse_rfc3339(value_text(value), &wall_ns);
    cleanup_free char *text = units_time(wall_ns, units_default_layout);
    strbuf_adds(out, text);
}

void value_print(struct strbuf *out, struct value value)
{
    const char *before = "";
    bool nil;
    if (!value.type) {
        strbuf_adds(out, "<nil>");
        return;
    }
    switch (value.type->kind) {
    case TYPE_STRING:
        strbuf_adds(out, value_text(value));
        break;
    case TYPE_BOOL:
        strbuf_adds(out, json_is_true(value.data) ? "true" : "false");
        break;
    case TYPE_INT:
        strbuf_addf(out, "%" JSON_INTEGER_FORMAT, value_number(value));
        break;
    case TYPE_TIME:
        print_time(out, value);
        break;
    case TYPE_POINTER:
        // Go prints the address of what a nested pointer leads to: of no use to anybody.
        value = value_target(value, &nil);
        strbuf_adds(out, nil ? "<nil>" : "&");
        if (!nil)
            value_print(out, value);
        break;
    case TYPE_STRUCT:
        strbuf_addc(out, '{');
        for (const struct type_field *row = value.type->fields; row->name; row++) {
            struct value field;
            value_field(value, row->name, &field);
            strbuf_adds(out, before);
            value_print(out, field);
            before = " ";
        }
        strbuf_addc(out, '}');
        break;
    case TYPE_LIST:
        strbuf_addc(out, '[');
        for (size_t i = 0; i < json_array_size(value.data); i++) {
            strbuf_adds(out, before);
            value_print(out, (struct value){value.type->of, json_array_get(value.data, i)});
            before = " ";
        }
        strbuf_addc(out, ']');
        break;
    case TYPE_MAP: {
        const char *key;
        json_t *item;
        strbuf_adds(out, "map[");
        json_object_foreach((json_t *)value.data, key, item)
        {
            strbuf_addf(out, "%s%s:", before, key);
            value_print(out, (struct value){value.type->of, item});
            before = " ";
        }
        strbuf_addc(out, ']');
        break;
    }
    }
}
