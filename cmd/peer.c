// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/peer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/process.h"
#include "cmd/program.h"
#include "provider/paths.h"

bool peer_is_asked;

static const int64_t patience_ms = 10000;

// A `podman` that is a script may call `podman` again, which is us: not for ever.
static const char depth_variable[] = "PODMAN_MACHINE_VMNET_DEPTH";
static const long deepest = 10;

// Where podman's packages for macOS and Homebrew put it: a program started from the Finder has
// none of them on its PATH.
static const char *const usual_folders[] = {"/opt/podman/bin", "/opt/homebrew/bin",
                                            "/usr/local/bin", "/opt/local/bin", "/usr/bin"};

static bool same_file(const char *path, const struct stat *st)
{
    struct stat other;
    return path && stat(path, &other) == 0 && other.st_dev == st->st_dev &&
           other.st_ino == st->st_ino;
}

// Both of our programs can be called podman, by links of any kind.
static bool is_ours(const struct stat *st)
{
    cleanup_free char *running = platform_executable();
    cleanup_free char *full = program_full();
    cleanup_free char *front = program_front();
    return same_file(running, st) || same_file(full, st) || same_file(front, st);
}

static char *candidate(const char *folder)
{
    if (folder[0] != '/')
        return NULL;
    cleanup_free char *path = xasprintf("%s/podman", folder);
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0 || is_ours(&st))
        return NULL;
    return steal_string(&path);
}

char *peer_find(void)
{
    const char *told = getenv("PODMAN_MACHINE_VMNET_PODMAN");
    if (told && *told)
        return access(told, X_OK) == 0 ? xstrdup(told) : NULL;
    const char *search = getenv("PATH");
    CLEANUP(strvec_release) struct strvec folders = STRVEC_INIT;
    strvec_split(&folders, search ? search : "", ':');
    for (size_t i = 0; i < ARRAY_SIZE(usual_folders); i++)
        strvec_push(&folders, usual_folders[i]);
    for (size_t i = 0; i < folders.count; i++) {
        char *path = candidate(folders.items[i]);
        if (path)
            return path;
    }
    return NULL;
}

// --- its machines, by its records
// -----------------------------------------------------------------

static char *records_folder(void)
{
    cleanup_free char *config = paths_containers_config();
    return xasprintf("%s/podman/machine", config);
}

bool peer_has_machine(const char *name, char **provider)
{
    if (strchr(name, '/'))
        return false;
    cleanup_free char *folder = records_folder();
    cleanup_dir DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        cleanup_free char *path = xasprintf("%s/%s/%s.json", folder, entry->d_name, name);
        if (file_exists(path)) {
            if (provider)
                *provider = xstrdup(entry->d_name);
            return true;
        }
    }
    return false;
}

void peer_machine_names(struct strvec *names)
{
    cleanup_free char *folder = records_folder();
    cleanup_dir DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        cleanup_free char *inner = xasprintf("%s/%s", folder, entry->d_name);
        cleanup_dir DIR *records = entry->d_name[0] == '.' ? NULL : opendir(inner);
        const struct dirent *record;
        while (records && (record = readdir(records))) {
            size_t length = strlen(record->d_name);
            if (length > 5 && strcmp(record->d_name + length - 5, ".json") == 0)
                strvec_take(names, xstrndup(record->d_name, length - 5));
        }
    }
}

// --- running it
// -----------------------------------------------------------------------------------

void peer_clean_environment(const char *configured)
{
    const char *chosen = getenv("CONTAINERS_MACHINE_PROVIDER");
    if (chosen && program_has_provider(chosen) && !program_podman_has_provider(chosen)) {
        unsetenv("CONTAINERS_MACHINE_PROVIDER");
        chosen = NULL;
    }
    if (!chosen && configured && program_has_provider(configured) &&
        !program_podman_has_provider(configured))
        setenv("CONTAINERS_MACHINE_PROVIDER", "", 1);
}

int peer_become(const char *path, char **arguments, struct error *err)
{
    const char *text = getenv(depth_variable);
    long depth = text ? strtol(text, NULL, 10) : 0;
    if (depth >= deepest)
        return error_set(err, ELOOP,
                         "'%s' leads back to podman-machine-vmnet: name the podman to "
                         "use in $PODMAN_MACHINE_VMNET_PODMAN",
                         path);
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    cleanup_free char *next = xasprintf("%ld", depth + 1);
    setenv(depth_variable, next, 1);
    strvec_push(&words, path);
    strvec_pushv(&words, (const char *const *)arguments);
    // Not process_exec(): what the caller ignores (nohup) or set is for podman to find as it is.
    execv(path, words.items);
    return error_errno(err, "cannot run '%s'", path);
}

int peer_ask(json_t **answer, const char *const *words, struct error *err)
{
    cleanup_free char *path = peer_is_asked ? peer_find() : NULL;
    if (!path)
        return error_set(err, ENOENT, "there is no other podman");
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT, said = STRBUF_INIT;
    strvec_push(&argv, path);
    strvec_push(&argv, "machine");
    strvec_pushv(&argv, words);
    int result = process_run_within(&argv, patience_ms, &out, &said, err);
    // Tools look for some of its warnings; the error itself is the caller's to tell.
    if (result == 0 && said.length)
        fwrite(said.text, 1, said.length, stderr);
    json_error_t where;
    json_t *root = json_loadb(out.text, out.length, 0, &where);
    if (!root && result == 0)
        return error_set(err, EBADMSG, "'%s' gave no JSON: %s", path, where.text);
    if (result < 0 && !(json_is_array(root) && json_array_size(root) && err->code == ECHILD)) {
        json_decref(root);
        return -1;
    }
    *answer = root; // of several machines those that it has, whatever it said of the others
    return 0;
}

void peer_report(const struct error *err)
{
    if (err->code == ENOENT)
        return;
    if (geteuid() == 0) // podman has no machines for root, and says so each time
        log_debug("podman's own machines are left out: %s", err->message);
    else
        log_warn("podman's own machines are left out: %s", err->message);
}
