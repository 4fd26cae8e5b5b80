// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/connection.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "provider/guest.h"
#include "provider/machine.h"

static const char preferred_default[] = "podman-machine-default";

// The file's content, and the parts of it that we change: `root` owns them.
struct document {
    json_t *root;        // NULL: there is no file
    json_t *connection;  // {"Default", "Connections"}
    json_t *connections; // name -> {"URI", "Identity", ...}
};

static void document_release(struct document *document)
{
    json_decref(document->root);
}

// The object at `key`, which an absent or null one becomes.
static int get_object(json_t *parent, const char *key, const char *file, json_t **object,
                      struct error *err)
{
    json_t *value = json_object_get(parent, key);
    if (!value || json_is_null(value)) {
        value = json_object();
        json_object_set_new(parent, key, value);
    }
    if (!json_is_object(value))
        return error_set(err, EBADMSG, "'%s': \"%s\" is not an object", file, key);
    *object = value;
    return 0;
}

static int document_read(struct document *document, const char *file, struct error *err)
{
    if (json_read_file(&document->root, file, err) < 0) {
        if (err->code != ENOENT)
            return -1;
        document->root = json_object();
    }
    json_t *farm;
    if (get_object(document->root, "Connection", file, &document->connection, err) < 0 ||
        get_object(document->connection, "Connections", file, &document->connections, err) < 0 ||
        get_object(document->root, "Farm", file, &farm, err) < 0)
        return -1;
    const json_t *name = json_object_get(document->connection, "Default");
    if (name && !json_is_null(name) && !json_is_string(name))
        return error_set(err, EBADMSG, "'%s': \"Default\" is not a string", file);
    return 0;
}

static const char *default_name(const struct document *document)
{
    const char *name = json_string_value(json_object_get(document->connection, "Default"));
    return name ? name : "";
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The object's keys: the `first` ones in their order, then the others, by name if `sorted`. The
// caller frees the array; the keys are the object's.
static const char **ordered_keys(json_t *object, const char *const *first, bool sorted)
{
    const char **keys = xcalloc(json_object_size(object) + 1, sizeof(*keys));
    size_t count = 0;
    for (; first && *first; first++)
        if (json_object_get(object, *first))
            keys[count++] = *first;
    size_t known = count;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        bool listed = false;
        for (size_t i = 0; i < known; i++)
            listed = listed || strcmp(keys[i], key) == 0;
        if (!listed)
            keys[count++] = key;
    }
    if (sorted)
        qsort(keys + known, count - known, sizeof(*keys), compare_names);
    return keys;
}

// Puts an object's members into podman's order: Go writes structs as they are declared and maps
// by name.
static void put_in_order(json_t *object, const char *const *first, bool sorted)
{
    json_t *copy = json_object();
    const char **keys = ordered_keys(object, first, sorted);
    for (size_t i = 0; keys[i]; i++)
        json_object_set(copy, keys[i], json_object_get(object, keys[i]));
    json_object_clear(object);
    json_object_update(object, copy);
    json_decref(copy);
    free(keys);
}

static char *document_text(struct document *document)
{
    static const char *const root_keys[] = {"Connection", "Farm", NULL};
    static const char *const connection_keys[] = {"Default", "Connections", NULL};
    static const char *const entry_keys[] = {"URI",   "Identity",  "TLSCert", "TLSKey",
                                             "TLSCA", "IsMachine", NULL};
    const char *name;
    json_t *entry;
    json_object_foreach(document->connections, name, entry)
    {
        if (json_is_object(entry))
            put_in_order(entry, entry_keys, false);
    }
    put_in_order(document->connections, NULL, true);
    if (json_object_size(document->connections) == 0)
        json_object_del(document->connection, "Connections");
    put_in_order(document->connection, connection_keys, false);
    put_in_order(document->root, root_keys, false);
    cleanup_free char *text = json_compact(document->root);
    return xasprintf("%s\n", text);
}

// A change: begins with podman's lock and the file as it is, ends with the file written.
struct edit {
    const char *file;
    struct lock lock;
    struct document document;
    json_t *before;
};

static void edit_release(struct edit *edit)
{
    document_release(&edit->document);
    json_decref(edit->before);
    lock_release(&edit->lock);
}

static int edit_begin(struct edit *edit, const char *file, struct error *err)
{
    edit->file = file;
    cleanup_free char *copy = xstrdup(file);
    cleanup_free char *lock = xasprintf("%s.lock", file);
    if (file_make_dirs(dirname(copy), 0700, err) < 0 ||
        lock_take_record(&edit->lock, lock, err) < 0 ||
        document_read(&edit->document, file, err) < 0)
        return -1;
    edit->before = json_deep_copy(edit->document.root);
    return 0;
}

static int edit_end(struct edit *edit, struct error *err)
{
    if (json_equal(edit->before, edit->document.root))
        return 0;
    struct stat st = {.st_mode = 0644};
    if (stat(edit->file, &st) < 0 && errno != ENOENT)
        return error_errno(err, "cannot look at '%s'", edit->file);
    cleanup_free char *text = document_text(&edit->document);
    return file_write_atomic(edit->file, text, strlen(text), st.st_mode & 07777, err);
}

// "ssh://USER@HOST:PORT" and the socket's path; IPv6 as URLs have it.
static char *make_uri(const struct connection *connection, const char *user, const char *path)
{
    CLEANUP(strbuf_release) struct strbuf uri = STRBUF_INIT;
    bool brackets = strchr(connection->host, ':') != NULL;
    strbuf_addf(&uri, "ssh://%s@%s", user, brackets ? "[" : "");
    for (const char *at = connection->host; *at; at++) {
        if (*at == '%')
            strbuf_adds(&uri, "%25");
        else
            strbuf_addc(&uri, *at);
    }
    strbuf_addf(&uri, "%s:%u%s", brackets ? "]" : "", connection->port, path);
    return strbuf_steal(&uri);
}

void connection_uris(const struct connection *connection, char **uri, char **root_uri)
{
    cleanup_free char *path = xasprintf(GUEST_USER_SOCKET_FORMAT, connection->uid);
    *uri = make_uri(connection, connection->user, path);
    *root_uri = make_uri(connection, "root", GUEST_ROOT_SOCKET);
}

static int put_entry(struct document *document, const char *name, const char *uri,
                     const char *identity, struct error *err)
{
    json_t *entry = json_object_get(document->connections, name);
    if (!json_is_object(entry)) {
        entry = json_object();
        if (json_object_set_new(document->connections, name, entry) < 0)
            return error_set(err, EINVAL, "connection name '%s' is not valid UTF-8", name);
    }
    json_object_del(entry, "IsMachine"); // podman would look for a machine of its own
    if (json_object_set_new(entry, "URI", json_string(uri)) < 0 ||
        json_object_set_new(entry, "Identity", json_string(identity)) < 0)
        return error_set(err, EINVAL, "'%s' or '%s' is not valid UTF-8", uri, identity);
    return 0;
}

// Whether the entry is there and somebody else's: ours are known by their key.
static bool is_foreign(const struct document *document, const char *name, const char *identity)
{
    const json_t *entry = json_object_get(document->connections, name);
    const char *own = json_string_value(json_object_get(entry, "Identity"));
    return entry && identity && !(own && strcmp(own, identity) == 0);
}

static int check_own(const struct document *document, const char *machine, const char *identity,
                     struct error *err)
{
    cleanup_free char *root_name = xasprintf("%s-root", machine);
    const char *const names[] = {machine, root_name};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (is_foreign(document, names[i], identity))
            return error_set(err, EEXIST,
                             "cannot overwrite connection \"%s\": it is not this machine's; "
                             "remove it with `podman system connection rm %s`",
                             names[i], names[i]);
    return 0;
}

int connection_check_own(const char *file, const char *machine, const char *identity,
                         struct error *err)
{
    CLEANUP(document_release) struct document document = {0};
    if (document_read(&document, file, err) < 0)
        return -1;
    return check_own(&document, machine, identity, err);
}

int connection_add(const char *file, const struct connection *connection, struct error *err)
{
    CLEANUP(edit_release) struct edit edit = {.lock = LOCK_INIT};
    if (edit_begin(&edit, file, err) < 0)
        return -1;
    const char *name = connection->machine;
    if (check_own(&edit.document, name, connection->identity, err) < 0)
        return -1;
    cleanup_free char *root_name = xasprintf("%s-root", name);
    cleanup_free char *uri = NULL, *root_uri = NULL;
    connection_uris(connection, &uri, &root_uri);

    bool first = json_object_size(edit.document.connections) == 0;
    if (put_entry(&edit.document, name, uri, connection->identity, err) < 0 ||
        put_entry(&edit.document, root_name, root_uri, connection->identity, err) < 0)
        return -1;
    if (first)
        json_object_set_new(edit.document.connection, "Default",
                            json_string(connection->rootful ? root_name : name));
    return edit_end(&edit, err);
}

// The connection by which a machine of ours is meant to be used, if that is what it names.
static const char *preferred_twin(const struct document *document, const char *const *names,
                                  const char *chosen)
{
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    struct error ignored;
    cleanup_free char *root = xasprintf("%s-root", chosen);
    if (!json_object_get(document->connections, root) || !machine_exists(chosen) ||
        machine_load(&m, chosen, &ignored) < 0 || !m.rootful)
        return chosen;
    while (strcmp(*names, root) != 0)
        names++;
    return *names;
}

static void choose_default(struct document *document)
{
    const char **names = ordered_keys(document->connections, NULL, true);
    const char *chosen =
        json_object_get(document->connections, preferred_default) ? preferred_default : names[0];
    if (chosen)
        chosen = preferred_twin(document, names, chosen);
    if (chosen)
        json_object_set_new(document->connection, "Default", json_string(chosen));
    else
        json_object_del(document->connection, "Default");
    free(names);
}

int connection_remove(const char *file, const char *machine, const char *identity,
                      struct error *err)
{
    if (!file_exists(file))
        return 0;
    CLEANUP(edit_release) struct edit edit = {.lock = LOCK_INIT};
    if (edit_begin(&edit, file, err) < 0)
        return -1;
    cleanup_free char *root_name = xasprintf("%s-root", machine);
    const char *const names[] = {machine, root_name};
    bool was_default = false;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (is_foreign(&edit.document, names[i], identity))
            continue;
        was_default |= strcmp(default_name(&edit.document), names[i]) == 0;
        json_object_del(edit.document.connections, names[i]);
    }
    if (was_default)
        choose_default(&edit.document);
    return edit_end(&edit, err);
}

int connection_set_default(const char *file, const char *name, struct error *err)
{
    CLEANUP(edit_release) struct edit edit = {.lock = LOCK_INIT};
    bool exists = file_exists(file);
    if (exists && edit_begin(&edit, file, err) < 0)
        return -1;
    if (!exists || !json_object_get(edit.document.connections, name))
        return error_set(err, ENOENT, "connection \"%s\" not found", name);
    json_object_set_new(edit.document.connection, "Default", json_string(name));
    return edit_end(&edit, err);
}

// Readers take no lock, as podman's do not: the file is only ever replaced as a whole.
int connection_check_free(const char *file, const char *machine, struct error *err)
{
    CLEANUP(document_release) struct document document = {0};
    if (document_read(&document, file, err) < 0)
        return -1;
    cleanup_free char *root_name = xasprintf("%s-root", machine);
    const char *const names[] = {machine, root_name};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (json_object_get(document.connections, names[i]))
            return error_set(err, EEXIST,
                             "system connection \"%s\" already exists. consider a different "
                             "machine name or remove the connection with `podman system connection "
                             "rm`",
                             names[i]);
    return 0;
}

int connection_default(const char *file, char **name, char **uri, struct error *err)
{
    CLEANUP(document_release) struct document document = {0};
    if (document_read(&document, file, err) < 0)
        return -1;
    const char *chosen = default_name(&document);
    const json_t *entry = json_object_get(document.connections, chosen);
    const char *found = json_string_value(json_object_get(entry, "URI"));
    *name = found ? xstrdup(chosen) : NULL;
    *uri = found ? xstrdup(found) : NULL;
    return 0;
}
