// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "provider/machine.h"

static const char *const phase_names[] = {
    [PHASE_STARTING] = "starting", [PHASE_BOOTING] = "booting",
    [PHASE_SSH] = "ssh",           [PHASE_PROVISIONING] = "provisioning",
    [PHASE_READY] = "ready",       [PHASE_STOPPING] = "stopping",
    [PHASE_FAILED] = "failed",
};

const char *phase_name(enum phase phase)
{
    return phase_names[phase];
}

int status_write(const char *machine, const struct status *status, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_STATUS);
    cleanup_free char *changed = clock_format_rfc3339(status->changed_ns);
    cleanup_json json_t *root =
        json_pack("{s:s, s:s*, s:s, s:I, s:I, s:s*, s:I, s:s*}", "phase", phase_name(status->phase),
                  "detail", status->detail, "changed", changed, "monitor_pid",
                  (json_int_t)status->monitor_pid, "vm_pid", (json_int_t)status->vm_pid, "host",
                  status->host, "port", (json_int_t)status->port, "address", status->address);
    if (!root)
        return error_set(err, EINVAL, "cannot write '%s': a value is not valid UTF-8", path);
    return json_write_file(path, root, 0600, err);
}

int status_read(struct status *status, const char *machine, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_STATUS);
    cleanup_json json_t *root = NULL;
    if (json_read_file(&root, path, err) < 0)
        return -1;

    CLEANUP(status_release) struct status read = STATUS_INIT;
    cleanup_free char *phase = NULL, *changed = NULL;
    uint64_t monitor_pid = 0, vm_pid = 0;
    if (json_get_string(root, "phase", &phase, err) < 0 ||
        json_get_string(root, "detail", &read.detail, err) < 0 ||
        json_get_string(root, "changed", &changed, err) < 0 ||
        json_get_uint(root, "monitor_pid", &monitor_pid, err) < 0 ||
        json_get_uint(root, "vm_pid", &vm_pid, err) < 0 ||
        json_get_string(root, "host", &read.host, err) < 0 ||
        json_get_uint(root, "port", &read.port, err) < 0 ||
        json_get_string(root, "address", &read.address, err) < 0)
        return error_prefix(err, "cannot use '%s'", path);
    read.monitor_pid = (int64_t)monitor_pid;
    read.vm_pid = (int64_t)vm_pid;

    size_t i = 0;
    while (i < ARRAY_SIZE(phase_names) && !(phase && strcmp(phase, phase_names[i]) == 0))
        i++;
    if (i == ARRAY_SIZE(phase_names) || !changed || !clock_parse_rfc3339(changed, &read.changed_ns))
        return error_set(err, EBADMSG, "cannot use '%s': unknown phase or time", path);
    read.phase = (enum phase)i;
    *status = read;
    read = (struct status)STATUS_INIT;
    return 0;
}

void status_release(struct status *status)
{
    free(status->detail);
    free(status->host);
    free(status->address);
    *status = (struct status)STATUS_INIT;
}

void status_set_phase(struct status *status, enum phase phase, const char *detail)
{
    char *copy = detail ? xstrdup(detail) : NULL; // it may be the old one
    free(status->detail);
    status->detail = copy;
    status->phase = phase;
    status->changed_ns = clock_wall_ns();
}

void status_set_host(struct status *status, const char *host, uint64_t port)
{
    free(status->host);
    status->host = xstrdup(host);
    status->port = port;
}

bool status_set_address(struct status *status, const char *address)
{
    bool same = address && status->address ? strcmp(address, status->address) == 0
                                           : address == status->address;
    if (same)
        return false;
    free(status->address);
    status->address = address ? xstrdup(address) : NULL;
    return true;
}

int status_forget(const char *machine, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_STATUS);
    if (unlink(path) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove '%s'", path);
    return 0;
}

int last_exit_write(const char *machine, const struct last_exit *last, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_LAST_EXIT);
    cleanup_free char *at = clock_format_rfc3339(last->at_ns);
    // What a hypervisor prints may be anything; JSON takes UTF-8 only.
    json_t *log = json_string(last->log ? last->log : "");
    if (!log)
        log = json_string("(not text)");
    cleanup_json json_t *root =
        json_pack("{s:s, s:i, s:b, s:o}", "at", at, "wait_status", last->wait_status, "expected",
                  last->expected, "log", log);
    return json_write_file(path, root, 0600, err);
}

void last_exit_now(struct last_exit *last, const char *machine, int wait_status, bool expected)
{
    struct error err;
    cleanup_free char *log = machine_path(machine, MACHINE_VM_LOG);
    *last = (struct last_exit){
        .at_ns = clock_wall_ns(),
        .wait_status = wait_status,
        .expected = expected,
        .log = file_tail(log, 20),
    };
    if (last_exit_write(machine, last, &err) < 0)
        log_error("%s", err.message);
}

int last_exit_read(struct last_exit *last, const char *machine, struct error *err)
{
    cleanup_free char *path = machine_path(machine, MACHINE_LAST_EXIT);
    cleanup_json json_t *root = NULL;
    if (json_read_file(&root, path, err) < 0)
        return -1;

    CLEANUP(last_exit_release) struct last_exit read = LAST_EXIT_INIT;
    cleanup_free char *at = NULL;
    uint64_t wait_status = 0;
    if (json_get_string(root, "at", &at, err) < 0 ||
        json_get_uint(root, "wait_status", &wait_status, err) < 0 ||
        json_get_bool(root, "expected", &read.expected, err) < 0 ||
        json_get_string(root, "log", &read.log, err) < 0)
        return error_prefix(err, "cannot use '%s'", path);
    if (!at || !clock_parse_rfc3339(at, &read.at_ns))
        return error_set(err, EBADMSG, "cannot use '%s': it has no time", path);
    read.wait_status = (int)wait_status;
    *last = read;
    read = (struct last_exit)LAST_EXIT_INIT;
    return 0;
}

void last_exit_release(struct last_exit *last)
{
    free(last->log);
    *last = (struct last_exit)LAST_EXIT_INIT;
}
