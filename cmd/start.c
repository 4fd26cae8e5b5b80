// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// start: has the supervisor run the machine's monitor, and follows what that publishes until
// the machine is ready or has failed. The work is the monitor's; ctrl-C here stops it again.

#include "cmd/start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/config.h"
#include "cmd/docker_socket.h"
#include "cmd/events.h"
#include "cmd/follow.h"
#include "cmd/interrupt.h"
#include "cmd/native_ca.h"
#include "cmd/settle.h"
#include "cmd/target.h"
#include "provider/connection.h"
#include "provider/ladder.h"
#include "provider/paths.h"
#include "provider/preflight.h"
#include "provider/registration.h"
#include "provider/state.h"
#include "provider/supervisor.h"

const uint64_t start_default_timeout_s = 1800;
static const uint64_t longest_timeout_s = 30 * 24 * 3600;

static const int64_t api_socket_ms = 75000; // over vsock it may be given up after 60 s (api.c)
static const uint64_t least_space = (uint64_t)1 << 30; // what a guest's updates can take

// Refuses a machine that runs, or with --exist-ok says that there is nothing to do, once it is
// ready; one that is on its way down is waited for.
static int wait_until_startable(const char *name, const struct start_options *options, bool *runs,
                                struct error *err)
{
    int64_t begun_ms = clock_monotonic_ms();
    for (;;) {
        CLEANUP(machine_now_release) struct machine_now now = MACHINE_NOW_INIT;
        if (machine_ask(&now, name, err) < 0)
            return -1;
        if (!now.supervised)
            return 0; // stopped, or a VM whose monitor was killed: the new one takes it over
        int64_t waited_ms = clock_monotonic_ms() - begun_ms;
        bool going = now.status.phase == PHASE_STOPPING || now.status.phase == PHASE_FAILED;
        *runs = options->exist_ok && now.state == MACHINE_RUNNING && !going;
        if (*runs)
            return 0;
        if (!options->exist_ok && !going)
            return error_set(err, EBUSY, "unable to start \"%s\": already running", name);
        if (waited_ms >= (going ? ladder_longest_ms : (int64_t)options->timeout_s * 1000))
            return error_set(err, ETIMEDOUT, "unable to start \"%s\": it is still %s", name,
                             machine_state_name(now.state));
        if (interrupted())
            return interrupt_error(err);
        clock_sleep_ms(200);
    }
}

static int preflight(const struct machine *m, bool quiet, struct error *err)
{
    const struct provider *provider;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    static const enum machine_file needed[] = {MACHINE_DISK, MACHINE_SEED};
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
        cleanup_free char *path = machine_path(m->name, needed[i]);
        if (!file_exists(path))
            return error_set(err, ENOENT,
                             "machine \"%s\" has lost its file '%s': remove it with `%s rm %s` "
                             "and init it again",
                             m->name, path, command_program, m->name);
    }
    cleanup_free char *vm_lock = machine_path(m->name, MACHINE_VM_LOCK);
    if (target_provider(&provider, m, err) < 0 || registration_check(m, err) < 0)
        return -1;
    if (lock_is_held(vm_lock))
        return 0; // it runs, without a monitor: nothing will be started but that
    if (provider_probe(provider, m, &tools, err) < 0 || preflight_ssh(err) < 0 ||
        provider_share(provider, m, &tools, err) < 0)
        return -1;
    if (tools.notice && !quiet)
        log_warn("%s", tools.notice);
    uint64_t space;
    if (preflight_free_space(&space) && space < least_space && !quiet)
        log_warn("only %" PRIu64 " MiB are free for the machine's disk: what the guest writes is "
                 "lost when nothing is left",
                 space >> 20);
    return 0;
}

// podman asks only a person, and only if the answer would change something.
static int decide_connection(const struct machine *m, const struct start_options *options,
                             bool *change, struct error *err)
{
    cleanup_free char *file = paths_connections();
    cleanup_free char *wanted = xasprintf("%s%s", m->name, m->rootful ? "-root" : "");
    cleanup_free char *current = NULL, *uri = NULL;
    *change = options->update_connection_given && options->update_connection;
    if (options->update_connection_given || options->json || !isatty(STDIN_FILENO))
        return 0;
    if (connection_default(file, &current, &uri, err) < 0)
        return -1;
    if (current && strcmp(current, wanted) == 0)
        return 0;
    if (target_confirm("Warning: The machine being started is not set as your default Podman "
                       "connection.\nAs such, Podman commands may not work correctly.\n"
                       "Set the default Podman connection to this machine? [y/N] ",
                       change, err) < 0)
        return -1;
    if (*change)
        printf("Default system connection will be changed to \"%s\"\n ", wanted);
    else
        puts("Default system connection will remain unchanged");
    return 0;
}

static void tell_of_rootful(const struct machine *m)
{
    cleanup_free char *hint = target_hint(m->name);
    printf("\nThis machine is currently configured in rootless mode. If your containers\n"
           "require root permissions (e.g. ports < 1024), or if you run into compatibility\n"
           "issues with non-podman clients, you can switch using the following command:\n\n"
           "\t%s set --rootful%s\n\n",
           command_program, hint);
}

// podman's words (6.0); a failure keeps nothing from working.
static void import_native_ca(const struct machine *m, const struct start_options *options)
{
    struct error err;
    if (!m->import_native_ca)
        return;
    bool failed = native_ca_import(m, &err) < 0;
    if (failed)
        log_warn("Failed to import native CA certificates: %s", err.message);
    if (failed && !options->json)
        puts("Warning: Failed to import host trusted CA certificates. The machine will start "
             "without them.");
    else if (!options->quiet && !options->json)
        puts("The host trusted CA certificates have been imported successfully");
}

// What is wrong with a machine that is ready all the same: a default volume that is not mounted.
static void warn_of_lacks(const char *name)
{
    struct error ignored;
    CLEANUP(status_release) struct status status = STATUS_INIT;
    if (status_read(&status, name, &ignored) == 0 && status.phase == PHASE_READY && status.detail)
        log_warn("%s", status.detail);
}

static int make_default(const struct machine *m, struct error *err)
{
    cleanup_free char *file = paths_connections();
    cleanup_free char *wanted = xasprintf("%s%s", m->name, m->rootful ? "-root" : "");
    return connection_set_default(file, wanted, err);
}

static int start_under_lock(const char *name, const struct start_options *options,
                            struct machine *m, bool *ran, struct error *err)
{
    CLEANUP(lock_release) struct lock lock = LOCK_INIT;
    bool change_default = false;
    pid_t monitor = 0;
    if (machine_lock(&lock, name, -1, err) < 0 || machine_load(m, name, err) < 0 ||
        wait_until_startable(name, options, ran, err) < 0 ||
        (!*ran && preflight(m, options->quiet, err) < 0) ||
        decide_connection(m, options, &change_default, err) < 0)
        return -1;

    if (*ran)
        return change_default ? make_default(m, err) : 0;
    if (interrupted())
        return interrupt_error(err);
    uint64_t old_port = m->ssh.port;
    const struct supervisor *supervisor = supervisor_for(m);
    if (status_forget(name, err) < 0 ||
        supervisor->start(m, (int64_t)options->timeout_s * 1000, &monitor, err) < 0 ||
        follow_start(m, supervisor, monitor,
                     options->json    ? FOLLOW_JSON
                     : options->quiet ? FOLLOW_QUIET
                                      : FOLLOW_PEOPLE,
                     err) < 0)
        return -1;

    // The monitor may have had to choose another port.
    machine_release(m);
    if (machine_load(m, name, err) < 0)
        return -1;
    if (old_port && m->ssh.port != old_port)
        log_warn("detected port conflict on machine ssh port [%" PRIu64 "], reassigning", old_port);
    warn_of_lacks(name);
    if (!m->rootful && !options->quiet && !options->no_info && !options->json)
        tell_of_rootful(m);
    if (settle_guest(m, SETTLE_PROXIES, (int64_t)options->timeout_s * 1000, err) < 0)
        return -1;
    import_native_ca(m, options);
    return change_default ? make_default(m, err) : 0;
}

static void tell_docker_host(const char *still, const char *socket)
{
    printf("You can %sconnect Docker API clients by setting DOCKER_HOST using the\n"
           "following command in your terminal session:\n\n"
           "        export DOCKER_HOST='unix://%s'\n\n",
           still, socket);
}

static void tell_api_socket(const struct machine *m)
{
    cleanup_free char *hint = target_hint(m->name);
    cleanup_free char *socket = machine_path(m->name, MACHINE_API_SOCKET);
    if (follow_api_socket(m->name, api_socket_ms) < 0) {
        log_warn("API socket failed ping test");
        return;
    }
    // Nothing but a Mac has podman's helper for docker's own socket.
    if (strcmp(platform_name, "darwin") != 0) {
        printf("API forwarding listening on: %s\n", socket);
        tell_docker_host("", socket);
        return;
    }
    enum docker_claim claim = docker_socket_claim_here(socket);
    printf("API forwarding listening on: %s\n",
           claim == DOCKER_OURS ? "/var/run/docker.sock" : socket);
    if (claim == DOCKER_OURS)
        puts("Docker API clients default to this address. You do not need to set DOCKER_HOST.\n");
    else if (claim == DOCKER_TAKEN)
        puts("\nAnother process was listening on the default Docker API socket address.");
    else
        printf("\nThe system helper service is not installed; the default Docker API socket\n"
               "address can't be used by podman. If you would like to install it, run the "
               "following commands:\n\n"
               "        sudo podman-mac-helper install\n"
               "        %s stop%s; %s start%s\n\n",
               command_program, hint, command_program, hint);
    if (claim != DOCKER_OURS)
        tell_docker_host("still ", socket);
}

int start_check_format(const char *format, struct error *err)
{
    if (!format || strcmp(format, "json") == 0)
        return 0;
    return error_set(err, EINVAL, "only value of `json` is supported");
}

int start_machine(const char *name, const struct start_options *options, struct error *err)
{
    CLEANUP(machine_release) struct machine m = MACHINE_INIT;
    if (!machine_exists(name))
        return error_set(err, ENOENT, "%s: VM does not exist", name);
    if (options->timeout_s > longest_timeout_s)
        return error_set(err, EINVAL, "a timeout of %" PRIu64 " s is too long: at most %" PRIu64,
                         options->timeout_s, longest_timeout_s);
    // [engine] env may hold the proxies.
    CLEANUP(config_release) struct config config = CONFIG_INIT;
    if (config_load(&config, err) < 0)
        return -1;
    interrupt_watch();
    if (!options->quiet && !options->json) {
        printf("Starting machine \"%s\"\n", name);
        fflush(stdout);
    }
    bool ran = false;
    if (start_under_lock(name, options, &m, &ran, err) < 0)
        return -1;
    if (ran) {
        if (options->json)
            printf("{\"machine\":\"%s\",\"phase\":\"%s\"}\n", name, phase_name(PHASE_READY));
        else
            printf("Machine \"%s\" is already running\n", name);
        return 0;
    }
    if (!options->quiet && !options->no_info && !options->json)
        tell_api_socket(&m);
    if (!options->json)
        printf("Machine \"%s\" started successfully\n", name);
    events_publish(name, "start");
    return 0;
}

struct values {
    struct option_bool exist_ok, quiet, no_info, update_connection;
    struct option_uint timeout;
    const char *format;
};

static int run(const struct command *self, int argc, char **argv, struct error *err)
{
    struct values values = {.timeout = {.value = start_default_timeout_s}};
    CLEANUP(strvec_release) struct strvec operands = STRVEC_INIT;
    if (options_parse(self, argc, argv, &values, &operands, err) < 0 ||
        start_check_format(values.format, err) < 0)
        return -1;
    const struct start_options options = {
        .json = values.format != NULL,
        .quiet = values.quiet.value,
        .no_info = values.no_info.value,
        .exist_ok = values.exist_ok.value,
        .update_connection = values.update_connection.value,
        .update_connection_given = values.update_connection.given,
        .timeout_s = values.timeout.value,
    };
    return start_machine(target_name(&operands), &options, err);
}

static const struct option_spec options[] = {
    {.name = "exist-ok",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, exist_ok),
     .help = "Succeed if the machine runs already, once it is ready"},
    {.name = "format",
     .kind = OPTION_STRING,
     .offset = offsetof(struct values, format),
     .help = "Tell of each step as json, an object a line"},
    {.name = "no-info",
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, no_info),
     .help = "Suppress informational tips"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, quiet),
     .help = "Suppress machine starting status output"},
    {.name = "timeout",
     .kind = OPTION_UINT,
     .offset = offsetof(struct values, timeout),
     .help = "Seconds to wait until the machine is ready"},
    {.name = "update-connection",
     .letter = 'u',
     .kind = OPTION_BOOL,
     .offset = offsetof(struct values, update_connection),
     .help = "Set default system connection for this machine"},
    {.name = NULL},
};

const struct command command_start = {
    .name = "start",
    .operands = "[options] [MACHINE]",
    .summary = "Start an existing machine",
    .details = "Start a managed virtual machine, and wait until its podman answers",
    .most = 1,
    .acts = true,
    .options = options,
    .run = run,
};
