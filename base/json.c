// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"

// Ours are a few kilobytes; podman's connections file is the largest we read.
static const size_t largest_file = 4 << 20;

void json_cleanup(json_t **value)
{
    json_decref(*value);
}

int json_read_file(json_t **root, const char *path, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (file_read(&text, path, largest_file, err) < 0)
        return -1;

    json_error_t where;
    cleanup_json json_t *parsed = json_loadb(text.text, text.length, 0, &where);
    if (!parsed)
        return error_set(err, EBADMSG, "'%s' is not valid JSON: line %d: %s", path, where.line,
                         where.text);
    if (!json_is_object(parsed))
        return error_set(err, EBADMSG, "'%s' does not hold a JSON object", path);
    *root = json_incref(parsed);
    return 0;
}

int json_write_file(const char *path, const json_t *root, mode_t mode, struct error *err)
{
    cleanup_free char *text = json_dumps(root, JSON_INDENT(2));
    if (!text)
        return error_set(err, EINVAL, "cannot write '%s': a value is not valid UTF-8", path);
    CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s\n", text);
    return file_write_atomic(path, line.text, line.length, mode, err);
}

static int wrong_type(const char *key, const char *wanted, struct error *err)
{
    return error_set(err, EBADMSG, "field '%s' is not %s", key, wanted);
}

int json_get_string(const json_t *object, const char *key, char **text, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return wrong_type(key, "a string", err);
    free(*text);
    *text = xstrdup(json_string_value(value));
    return 0;
}

int json_get_uint(const json_t *object, const char *key, uint64_t *number, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return wrong_type(key, "a whole number", err);
    *number = (uint64_t)json_integer_value(value);
    return 0;
}

int json_get_bool(const json_t *object, const char *key, bool *flag, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_boolean(value))
        return wrong_type(key, "true or false", err);
    *flag = json_is_true(value);
    return 0;
}

char *json_compact(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return text ? text : xstrdup("null");
}
