// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

// jansson with our errors and ownership: `cleanup_json json_t *root = NULL;`
#define cleanup_json CLEANUP(json_cleanup)
void json_cleanup(json_t **value);

// Reads an object. ENOENT when the file is absent, EBADMSG when it is not a JSON object.
int json_read_file(json_t **root, const char *path, struct error *err);

// Writes atomically, keys in the order they were set, indented by two spaces.
int json_write_file(const char *path, const json_t *root, mode_t mode, struct error *err);

// Field access for records. An absent or null field leaves the out-parameter as it is;
// a field of another type is EBADMSG. Strings are copied, the old value is freed.
int json_get_string(const json_t *object, const char *key, char **text, struct error *err);
int json_get_uint(const json_t *object, const char *key, uint64_t *number, struct error *err);
int json_get_bool(const json_t *object, const char *key, bool *flag, struct error *err);

// A value as JSON text, compact, no escaping of slashes, UTF-8 kept. The caller frees with free().
char *json_compact(const json_t *value);

#endif
