// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// os: podman's machines are updated by whole images (bootc); ours are ordinary installations, so
// `upgrade` has the guest's own package manager do it and `apply` can only say so.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/process.h"
#include "cmd/command.h"
#include "cmd/guest.h"
#include "cmd/output.h"
#include "cmd/start.h"
#include "cmd/stop.h"
#include "cmd/target.h"

struct values {
    struct option_bool restart, dry_run;
    const char *format, *host_version;
};

// Exit status 100 of `check`: there is something newer.
static const char check[] =
    "if command -v dnf >/dev/null; then dnf -q check-update; "
    "elif command -v apt-get >/dev/null; then "
    "apt-get -q update >/dev/null && if apt-get -s upgrade | grep '^Inst '; then exit 100; fi; "
    "else echo 'the guest has neither dnf nor apt-get' >&2; exit 1; fi";
static const char upgrade[] =
    "if command -v dnf >/dev/null; then dnf -y --refresh upgrade; "
    "elif command -v apt-get >/dev/null; then "
    "export DEBIAN_FRONTEND=noninteractive; apt-get update && apt-get -y upgrade; "
    "else echo 'the guest has neither dnf nor apt-get' >&2; exit 1; fi";
enum { STATUS_NEWER = 100 };

static int in_guest(const struct machine *m, const char *command, bool quiet, int *status,
                    struct error *err)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    int wait_status;
    if (guest_ssh_words(&words, m, "root", err) < 0)
        return -1;
    strvec_push(&words, command);
    fflush(stdout);
    if (process_pass(&words, quiet, &wait_status, err) < 0)
        return -1;
    *status = (wait_status >> 8) & 0xff;
    return wait_status & 0x7f ? error_set(err, ECHILD, "ssh was killed") : 0;
}

static int failed(int status, struct error *err)
{
    return error_set(err, ECHILD, "exit status %d", status);
}

static int restart(const char *name, struct error *err)
{
    const struct start_options options = {
        .no_info = true,
        .update_connection_given = true,
        .timeout_s = start_default_timeout_s,
    };
    if (stop_machine(name, false, err) < 0 || start_machine(name, &options, err) < 0)
        return -1;
    printf("Machine \"%s\" restarted successfully\n", name);
    return 0;
}

static int tell_json(bool newer)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_json json_t *report = json_pack(
        "{s:{s:s}, s:{s:s, s:s, s:s, s:b}}", "host", "version", PROJECT_VERSION, "machine",
        "current_hash", "", "new_hash", "", "version", "", "inband_update_available", newer);
    output_json(&out, report, 0, false);
    strbuf_addc(&out, '\n');
    output_write(&out);
    return 0;
}

static int run_upgrade(const struct values *values, const char *name, struct error *err)
{
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    bool json = values->format != NULL;
    int status;
    if (machine_load(&m, name, err) < 0)
        return -1;
    if (json && strcmp(values->format, "json") != 0)
        return error_set(err, EINVAL, "only value of `json` is supported");
    if (values->restart.value && (json || values->dry_run.value))
        return error_set(err, EINVAL, "--restart cannot be used with --dry-run or --format");
    if (json || values->dry_run.value) {
        if (in_guest(&m, check, json, &status, err) < 0)
            return -1;
        if (status != 0 && status != STATUS_NEWER)
            return failed(status, err);
        return json ? tell_json(status == STATUS_NEWER) : 0;
    }
    if (in_guest(&m, upgrade, false, &status, err) < 0)
        return -1;
    if (status != 0)
        return failed(status, err);
    return values->restart.value ? restart(name, err) : 0;
}

static int run_apply(const char *name, struct error *err)
{
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    return error_set(err, ENOTSUP,
                     "machine \"%s\" is not made of a bootable container image, so none can be "
                     "applied: update its packages with `%s os upgrade`, or init a new machine "
                     "from another image",
                     name, command_program);
}

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {0};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0)
        return -1;
    if (operands.count == 0) {
        options_help(self, &values);
        return error_set(err, EINVAL, "missing command '%s os COMMAND'", command_program);
    }
    const char *verb = operands.items[0];
    bool apply = strcmp(verb, "apply") == 0;
    if (!apply && strcmp(verb, "upgrade") != 0)
        return error_set(err, EINVAL,
                         "unrecognized command `%s os %s`\nTry '%s os --help' for more "
                         "information",
                         command_program, verb, command_program);
    if (apply && (operands.count < 2 || operands.count > 3))
        return error_set(err, EINVAL, "accepts between 1 and 2 arg(s), received %zu",
                         operands.count - 1);
    if (!apply && operands.count > 2)
        return error_set(err, EINVAL, "accepts at most 1 arg(s), received %zu", operands.count - 1);
    size_t at = apply ? 2 : 1;
    const char *name =
        operands.count > at && *operands.items[at] ? operands.items[at] : default_machine;
    return apply ? run_apply(name, err) : run_upgrade(&values, name, err);
}

static const struct option_spec options[] = {
    {.name = "dry-run",
     .letter = 'n',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, dry_run),
     .help = "Only check if an upgrade is available"},
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, format),
     .help = "Show whether an upgrade is available, as json"},
    {.name = "host-version",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, host_version)},
    {.name = "restart",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, restart),
     .help = "Restart VM to apply changes"},
    {.name = NULL},
};

const struct command command_os = {
    .name = "os",
    .operands = "[command]",
    .summary = "Manage a virtual machine's OS",
    .details = "Manage a virtual machine's operating system: `upgrade [NAME]` updates the guest's "
               "packages",
    .examples = "os upgrade\nos upgrade --restart myvm",
    .most = COMMAND_ANY,
    .options = options,
    .run = run,
};
