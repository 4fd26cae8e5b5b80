// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/random.h"
#include "provider/paths.h"
#include "provider/share.h"
#include "provider/tool.h"

static const size_t longest_name = 30; // podman's limit, in bytes

// A change of the record's meaning gets a new number; an older program then refuses the record.
static const uint64_t record_version = 1;

static bool matches_name_rule(const char *name)
{
    if (!isalnum((unsigned char)name[0]))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_.-", *name))
            return false;
    return true;
}

int machine_check_name(const char *name, struct error *err)
{
    static const char *const reserved[] = {"qemu", "wsl", "applehv", "libkrun", "hyperv"};
    if (strlen(name) > longest_name)
        return error_set(err, EINVAL, "machine name \"%s\" must be %zu characters or less", name,
                         longest_name);
    if (!matches_name_rule(name))
        return error_set(err, EINVAL,
                         "invalid name \"%s\": names must match [a-zA-Z0-9][a-zA-Z0-9_.-]*: "
                         "invalid argument",
                         name);
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
        if (strcasecmp(name, reserved[i]) == 0)
            return error_set(err, EINVAL, "cannot use \"%s\" for a machine name", name);
    return 0;
}

int machine_check_user(const char *user, struct error *err)
{
    if (matches_name_rule(user))
        return 0;
    return error_set(err, EINVAL,
                     "invalid username \"%s\": names must match [a-zA-Z0-9][a-zA-Z0-9_.-]*: "
                     "invalid argument",
                     user);
}

char *machine_folder(const char *name)
{
    cleanup_free char *machines = paths_machines();
    return xasprintf("%s/%s", machines, name);
}

char *machine_path(const char *name, enum machine_file file)
{
    static const char *const names[] = {
        [MACHINE_RECORD] = "machine.json",
        [MACHINE_DISK] = "disk.raw",
        [MACHINE_SEED] = "cidata.iso",
        [MACHINE_EFI_VARS] = "efi-vars",
        [MACHINE_KEY] = "id_ed25519",
        [MACHINE_HOST_KEY] = "host_ed25519",
        [MACHINE_MONITOR_LOCK] = "monitor.lock",
        [MACHINE_VM_LOCK] = "vm.lock",
        [MACHINE_STATUS] = "status.json",
        [MACHINE_LAST_EXIT] = "last-exit.json",
        [MACHINE_VM_ARGV] = "vm.argv",
        [MACHINE_VM_LOG] = "vm.log",
        [MACHINE_SERIAL_LOG] = "serial.log",
        [MACHINE_MONITOR_LOG] = "monitor.log",
        [MACHINE_KNOWN_HOSTS] = "known_hosts",
        [MACHINE_LAUNCHD_PLIST] = "launchd.plist",
        [MACHINE_REPORT] = "report.json",
        [MACHINE_VSOCK_TOKEN] = "vsock-token",
        [MACHINE_CONTEXT_ID] = "context-id",
        [MACHINE_PLAYBOOK] = "playbook.yaml",
        [MACHINE_PORTS] = "ports.json",
        [MACHINE_CONTROL_SOCKET] = "control.sock",
        [MACHINE_API_SOCKET] = "api.sock",
        [MACHINE_PORTS_SOCKET] = "ports.sock",
        [MACHINE_REPORT_SOCKET] = "report.sock",
        [MACHINE_SSH_SOCKET] = "ssh.sock",
        [MACHINE_PODMAN_SOCKET] = "podman.sock",
        [MACHINE_SHUTDOWN_SOCKET] = "off.sock",
        [MACHINE_API_TRIAL_SOCKET] = "api-try.sock",
        [MACHINE_SSHD_SOCKET] = "sshd.sock",
    };
    if (file >= MACHINE_CONTROL_SOCKET) {
        cleanup_free char *runtime = paths_runtime();
        return xasprintf("%s/%s-%s", runtime, name, names[file]);
    }
    cleanup_free char *folder = machine_folder(name);
    return xasprintf("%s/%s", folder, names[file]);
}

bool machine_exists(const char *name)
{
    struct error ignored;
    if (!matches_name_rule(name) || machine_check_name(name, &ignored) < 0)
        return false;
    cleanup_free char *path = machine_path(name, MACHINE_RECORD);
    return file_exists(path);
}

static int read_fields(struct machine *m, const json_t *root, struct error *err)
{
    uint64_t version = 0;
    cleanup_free char *created_text = NULL;
    const json_t *resources = json_object_get(root, "resources");
    const json_t *image = json_object_get(root, "image");
    const json_t *ssh = json_object_get(root, "ssh");
    if (json_get_uint(root, "version", &version, err) < 0)
        return -1;
    if (version != record_version)
        return error_set(err, EBADMSG, "incompatible machine config (version %llu)",
                         (unsigned long long)version);
    if (json_get_string(root, "name", &m->name, err) < 0 ||
        json_get_string(root, "provider", &m->provider, err) < 0 ||
        json_get_string(root, "mac", &m->mac, err) < 0 ||
        json_get_string(root, "instance_id", &m->instance_id, err) < 0 ||
        json_get_string(root, "created", &created_text, err) < 0 ||
        json_get_string(root, "timezone", &m->timezone, err) < 0 ||
        json_get_bool(root, "rootful", &m->rootful, err) < 0 ||
        json_get_bool(root, "rootful_changed", &m->rootful_changed, err) < 0 ||
        json_get_bool(root, "dns_changed", &m->dns_changed, err) < 0 ||
        json_get_bool(root, "restart", &m->restart, err) < 0 ||
        json_get_bool(root, "import_native_ca", &m->import_native_ca, err) < 0 ||
        json_get_bool(root, "localhost_ports", &m->localhost_ports, err) < 0 ||
        network_options_from_json(&m->network, json_object_get(root, "network"), err) < 0 ||
        mounts_from_json(&m->mounts, json_object_get(root, "mounts"), err) < 0 ||
        json_get_uint(resources, "cpus", &m->resources.cpus, err) < 0 ||
        json_get_uint(resources, "memory_mib", &m->resources.memory_mib, err) < 0 ||
        json_get_uint(resources, "disk_gib", &m->resources.disk_gib, err) < 0 ||
        json_get_uint(resources, "swap_mib", &m->resources.swap_mib, err) < 0 ||
        json_get_string(image, "source", &m->image.source, err) < 0 ||
        json_get_string(image, "digest", &m->image.digest, err) < 0 ||
        json_get_string(ssh, "user", &m->ssh.user, err) < 0 ||
        json_get_uint(ssh, "uid", &m->ssh.uid, err) < 0 ||
        json_get_string(ssh, "identity", &m->ssh.identity, err) < 0 ||
        json_get_uint(ssh, "port", &m->ssh.port, err) < 0)
        return -1;
    if (created_text && !clock_parse_rfc3339(created_text, &m->created_ns))
        return error_set(err, EBADMSG, "field 'created' is not a time");
    const json_t *server;
    size_t i;
    json_array_foreach(json_object_get(root, "dns"), i, server)
    {
        if (json_is_string(server))
            strvec_push(&m->dns, json_string_value(server));
    }
    if (!m->name || !m->provider || !m->mac || !m->instance_id || !m->ssh.user || !m->ssh.identity)
        return error_set(err, EBADMSG, "a field is missing");
    return 0;
}

int machine_load(struct machine *m, const char *name, struct error *err)
{
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);

    cleanup_free char *path = machine_path(name, MACHINE_RECORD);
    cleanup_json json_t *root = NULL;
    if (json_read_file(&root, path, err) < 0)
        return -1;
    CLEANUP(machine_release) struct machine loaded = MACHINE_INIT;
    if (read_fields(&loaded, root, err) < 0)
        return error_prefix(err, "cannot use machine record '%s'", path);
    if (strcmp(loaded.name, name) != 0)
        return error_set(err, EBADMSG, "machine record '%s' is about \"%s\"", path, loaded.name);
    *m = loaded;
    loaded = (struct machine)MACHINE_INIT;
    return 0;
}

int machine_save(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_RECORD);
    cleanup_free char *created = clock_format_rfc3339(m->created_ns);
    cleanup_json json_t *root = json_pack(
        "{s:I, s:s, s:s, s:s, s:s, s:s, s:{s:I, s:I, s:I, s:I},"
        " s:{s:s*, s:s*},"
        " s:{s:s, s:I, s:s, s:I}, s:b, s:s*, s:b, s:b, s:b, s:o, s:o}",
        "version", (json_int_t)record_version, "name", m->name, "provider", m->provider, "mac",
        m->mac, "instance_id", m->instance_id, "created", created, "resources", "cpus",
        (json_int_t)m->resources.cpus, "memory_mib", (json_int_t)m->resources.memory_mib,
        "disk_gib", (json_int_t)m->resources.disk_gib, "swap_mib",
        (json_int_t)m->resources.swap_mib, "image", "source", m->image.source, "digest",
        m->image.digest, "ssh", "user", m->ssh.user, "uid", (json_int_t)m->ssh.uid, "identity",
        m->ssh.identity, "port", (json_int_t)m->ssh.port, "rootful", m->rootful, "timezone",
        m->timezone, "restart", m->restart, "import_native_ca", m->import_native_ca,
        "localhost_ports", m->localhost_ports, "network", network_options_to_json(&m->network),
        "dns", json_array());
    if (!root)
        return error_set(err, EINVAL, "cannot write '%s': a value is not valid UTF-8", path);
    if (m->rootful_changed)
        json_object_set_new(root, "rootful_changed", json_true());
    json_t *mounts = mounts_to_json(&m->mounts);
    if (!mounts)
        return error_set(err, EINVAL, "cannot write '%s': a path is not valid UTF-8", path);
    json_object_set_new(root, "mounts", mounts);
    if (m->dns_changed)
        json_object_set_new(root, "dns_changed", json_true());
    for (size_t i = 0; i < m->dns.count; i++)
        json_array_append_new(json_object_get(root, "dns"), json_string(m->dns.items[i]));
    return json_write_file(path, root, 0600, err);
}

void machine_release(struct machine *m)
{
    free(m->name);
    free(m->provider);
    free(m->mac);
    free(m->instance_id);
    free(m->image.source);
    free(m->image.digest);
    free(m->ssh.user);
    free(m->ssh.identity);
    free(m->timezone);
    network_options_release(&m->network);
    mounts_release(&m->mounts);
    strvec_release(&m->dns);
    *m = (struct machine)MACHINE_INIT;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int machine_names(struct strvec *names, struct error *err)
{
    cleanup_free char *machines = paths_machines();
    cleanup_dir DIR *dir = opendir(machines);
    if (!dir && errno == ENOENT)
        return 0;
    if (!dir)
        return error_errno(err, "cannot read folder '%s'", machines);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry && errno)
            return error_errno(err, "cannot read folder '%s'", machines);
        if (!entry)
            break;
        if (machine_exists(entry->d_name))
            strvec_push(names, entry->d_name);
    }
    if (names->count)
        qsort(names->items, names->count, sizeof(*names->items), by_text);
    return 0;
}

int machine_lock(struct lock *lock, const char *name, int64_t timeout_ms, struct error *err)
{
    cleanup_free char *data = paths_data();
    cleanup_free char *folder = xasprintf("%s/locks", data);
    cleanup_free char *path = xasprintf("%s/%s.lock", folder, name);
    if (file_make_dirs(folder, 0700, err) < 0)
        return -1;
    int64_t patience_ms = timeout_ms < 0 || timeout_ms > 1000 ? 1000 : timeout_ms;
    if (lock_take(lock, path, patience_ms, err) == 0)
        return 0;
    if (err->code != EBUSY || patience_ms == timeout_ms)
        return -1;
    fprintf(stderr, "Waiting for another command on machine \"%s\" to end\n", name);
    return lock_take(lock, path, timeout_ms < 0 ? -1 : timeout_ms - patience_ms, err);
}

int machine_make_token(const struct machine *m, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_VSOCK_TOKEN);
    if (file_exists(path))
        return 0;
    unsigned char bytes[32];
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        strbuf_addf(&text, "%02x", bytes[i]);
    return file_write_atomic(path, text.text, text.length, 0600, err);
}

int machine_remove(const char *name, struct error *err)
{
    cleanup_free char *folder = machine_folder(name);
    cleanup_free char *record = machine_path(name, MACHINE_RECORD);
    cleanup_free char *monitor = machine_path(name, MACHINE_MONITOR_LOCK);
    cleanup_free char *vm = machine_path(name, MACHINE_VM_LOCK);
    if (lock_is_held(monitor) || lock_is_held(vm))
        return error_set(err, EBUSY, "machine \"%s\" is running", name);
    cleanup_dir DIR *dir = opendir(folder);
    if (!dir && errno != ENOENT)
        return error_errno(err, "cannot read folder '%s'", folder);

    // The record goes last: a removal that is cut can be repeated by the same verb.
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strcmp(entry->d_name, strrchr(record, '/') + 1) == 0)
            continue;
        cleanup_free char *path = xasprintf("%s/%s", folder, entry->d_name);
        if (file_remove_tree(path, err) < 0)
            return -1;
    }
    static const enum machine_file sockets[] = {
        MACHINE_CONTROL_SOCKET,  MACHINE_API_SOCKET,  MACHINE_PORTS_SOCKET,
        MACHINE_REPORT_SOCKET,   MACHINE_SSH_SOCKET,  MACHINE_PODMAN_SOCKET,
        MACHINE_SHUTDOWN_SOCKET, MACHINE_SSHD_SOCKET, MACHINE_API_TRIAL_SOCKET};
    for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
        cleanup_free char *path = machine_path(name, sockets[i]);
        if (unlink(path) < 0 && errno != ENOENT)
            return error_errno(err, "cannot remove '%s'", path);
    }
    if (shares_clear_sockets(name, err) < 0)
        return -1;
    tool_forget_folders(name);
    return file_remove_tree(folder, err);
}
