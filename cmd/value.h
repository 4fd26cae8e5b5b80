// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_VALUE_H
#define CMD_VALUE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

// What templates see: JSON values that know which Go type podman has at that place. The type
// decides what fields there are, how a value prints ("{a b}", "<nil>", a time in Go's form)
// and what an error calls it.
enum type_kind {
    TYPE_STRING,
    TYPE_BOOL,
    TYPE_INT,
    TYPE_TIME, // an RFC 3339 string in JSON
    TYPE_STRUCT,
    TYPE_POINTER, // null in JSON: nil
    TYPE_LIST,
    TYPE_MAP,
};

struct type {
    enum type_kind kind;
    const char *name;                // Go's: "machine.InspectInfo"
    const struct type_field *fields; // of a struct; ends with a row without a name
    const struct type *of;           // what a pointer, list or map holds
};

struct type_field {
    const char *name;
    const struct type *type;
    const char *key; // in JSON; NULL: the name
};

extern const struct type type_string, type_bool, type_int, type_time, type_strings, type_string_map;

// Borrows the data. Without a type it is nothing at all, which Go prints as "<no value>".
struct value {
    const struct type *type;
    const json_t *data;
};

// A pointer's target; any other value as it is. *nil tells of a pointer to nothing.
struct value value_target(struct value value, bool *nil);

bool value_field(struct value structure, const char *name, struct value *field);
bool value_true(struct value value); // what `if` makes of it
void value_print(struct strbuf *out, struct value value);
const char *value_type_name(struct value value);
const char *value_text(struct value value);  // of a string
json_int_t value_number(struct value value); // of an integer

#endif
