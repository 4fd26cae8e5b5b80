// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "cmd/command.h"
#include "cmd/toml.h"
#include "provider/paths.h"

static const size_t largest_file = 1 << 20;

// The places of containers.conf and containers.conf.d, the nearest first. The caller frees them.
static void find_places(struct strvec *places)
{
    strvec_take(places, paths_containers_config());
    strvec_push(places, "/etc/containers");
    strvec_push(places, "/usr/share/containers");
}

static int by_file_name(const void *a, const void *b)
{
    const char *left = strrchr(*(char *const *)a, '/'), *right = strrchr(*(char *const *)b, '/');
    return strcmp(left, right);
}

static bool has_namesake(const struct strvec *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(strrchr(files->items[i], '/') + 1, name) == 0)
            return true;
    return false;
}

// The user's drop-in hides the system's of the same name.
static void find_drop_ins(struct strvec *files, const struct strvec *places)
{
    CLEANUP(strvec_release) struct strvec found = STRVEC_INIT;
    for (size_t i = 0; i < places->count; i++) {
        cleanup_free char *folder = xasprintf("%s/containers.conf.d", places->items[i]);
        cleanup_dir DIR *dir = opendir(folder);
        const struct dirent *entry;
        while (dir && (entry = readdir(dir))) {
            size_t length = strlen(entry->d_name);
            if (length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0 &&
                !has_namesake(&found, entry->d_name))
                strvec_pushf(&found, "%s/%s", folder, entry->d_name);
        }
    }
    if (found.count)
        qsort(found.items, found.count, sizeof(*found.items), by_file_name);
    for (size_t i = 0; i < found.count; i++)
        strvec_push(files, found.items[i]);
}

static void find_files(struct strvec *files)
{
    const char *only = getenv("CONTAINERS_CONF"), *last = getenv("CONTAINERS_CONF_OVERRIDE");
    if (only && *only) {
        strvec_push(files, only);
    } else {
        CLEANUP(strvec_release) struct strvec places = STRVEC_INIT;
        find_places(&places);
        for (size_t i = 0; i < places.count && files->count == 0; i++) {
            cleanup_free char *path = xasprintf("%s/containers.conf", places.items[i]);
            if (file_exists(path))
                strvec_push(files, path);
        }
        find_drop_ins(files, &places);
    }
    if (last && *last)
        strvec_push(files, last);
}

// An array with {append=true} in it comes after what was there, any other replaces it.
static json_t *merged_array(const json_t *old, const json_t *new)
{
    json_t *items = json_array();
    bool append = false;
    json_t *item;
    size_t i;
    json_array_foreach(new, i, item)
    {
        if (json_is_object(item))
            append = json_is_true(json_object_get(item, "append"));
        else
            json_array_append(items, item);
    }
    if (!append || !json_is_array(old))
        return items;
    json_t *all = json_copy((json_t *)old);
    json_array_extend(all, items);
    json_decref(items);
    return all;
}

static void merge(json_t *into, json_t *from)
{
    const char *key;
    json_t *value;
    json_object_foreach(from, key, value)
    {
        json_t *old = json_object_get(into, key);
        if (json_is_object(value) && json_is_object(old))
            merge(old, value);
        else if (json_is_array(value))
            json_object_set_new(into, key, merged_array(old, value));
        else
            json_object_set(into, key, value);
    }
}

static int read_one(json_t *all, const char *path, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    cleanup_json json_t *root = NULL;
    if (file_read(&text, path, largest_file, err) < 0)
        return -1;
    if (toml_parse(&root, text.text, text.length, err) < 0)
        return error_prefix(err, "decode configuration %s", path);
    merge(all, root);
    return 0;
}

static int get_strings(const json_t *table, const char *key, struct strvec *list, bool *given,
                       struct error *err)
{
    const json_t *array = json_object_get(table, key), *item;
    size_t i;
    if (!array)
        return 0;
    if (!json_is_array(array))
        return error_set(err, EBADMSG, "'%s' is not an array", key);
    json_array_foreach(array, i, item)
    {
        if (!json_is_string(item))
            return error_set(err, EBADMSG, "'%s' holds something that is no string", key);
        strvec_push(list, json_string_value(item));
    }
    *given = true;
    return 0;
}

static int export_environment(const json_t *engine, struct error *err)
{
    CLEANUP(strvec_release) struct strvec pairs = STRVEC_INIT;
    bool given;
    if (get_strings(engine, "env", &pairs, &given, err) < 0)
        return -1;
    for (size_t i = 0; i < pairs.count; i++) {
        cleanup_free char *name = xstrdup(pairs.items[i]);
        char *value = strchr(name, '=');
        if (!value)
            continue; // podman takes the word from the environment, where it is already
        *value++ = '\0';
        setenv(name, value, 0);
    }
    return 0;
}

static int read_fields(struct config *config, const json_t *root, struct error *err)
{
    const json_t *machine = json_object_get(root, "machine");
    const json_t *containers = json_object_get(root, "containers");
    if (json_get_uint(machine, "cpus", &config->cpus, err) < 0 ||
        json_get_uint(machine, "memory", &config->memory_mib, err) < 0 ||
        json_get_uint(machine, "disk_size", &config->disk_gib, err) < 0 ||
        json_get_string(machine, "image", &config->image, err) < 0 ||
        json_get_string(machine, "user", &config->user, err) < 0 ||
        json_get_string(machine, "provider", &config->provider, err) < 0 ||
        json_get_bool(machine, "import_native_ca", &config->import_native_ca, err) < 0 ||
        json_get_string(containers, "tz", &config->timezone, err) < 0 ||
        get_strings(machine, "volumes", &config->volumes, &config->volumes_given, err) < 0)
        return -1;
    return export_environment(json_object_get(root, "engine"), err);
}

int config_load(struct config *config, struct error *err)
{
    CLEANUP(strvec_release) struct strvec files = STRVEC_INIT;
    cleanup_json json_t *all = json_object();
    find_files(&files);
    int result = 0;
    for (size_t i = 0; i < files.count && result == 0; i++)
        result = read_one(all, files.items[i], err);
    if (result == 0)
        result = read_fields(config, all, err);
    if (result < 0) {
        err->code = COMMAND_PLAIN;
        return error_prefix(err, "Failed to obtain podman configuration");
    }
    return 0;
}

void config_release(struct config *config)
{
    free(config->image);
    free(config->user);
    free(config->provider);
    free(config->timezone);
    strvec_release(&config->volumes);
    *config = (struct config)CONFIG_INIT;
}
