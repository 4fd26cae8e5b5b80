// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/monitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process.h"
#include "provider/api.h"
#include "provider/helper.h"
#include "provider/ladder.h"
#include "provider/localhost.h"
#include "provider/paths.h"
#include "provider/plane.h"
#include "provider/port.h"
#include "provider/prober.h"
#include "provider/provider.h"
#include "provider/relay.h"
#include "provider/restarts.h"
#include "provider/status.h"
#include "provider/supervisor.h"
#include "provider/vm.h"
#include "provider/vsock.h"
#include "provider/wake.h"

// The loop's children: the VM, and our own that do what blocks (waiting for the guest, walking the
// ladder, keeping the API socket, relaying ssh), so that a signal or the VM's end is seen at once
// and nothing that hangs can hang the monitor.

static const int64_t tick_ms = 500;
static const int64_t forward_again_ms = 2000;

enum worker { PROBER, LADDER, FORWARDER, RELAY, PORTS, WORKERS };
static const char *const worker_names[WORKERS] = {
    [PROBER] = "the check for readiness",          [LADDER] = "what stops the VM",
    [FORWARDER] = "what keeps the API socket",     [RELAY] = "the relay",
    [PORTS] = "what forwards the published ports",
};

struct monitor {
    struct machine m;
    const struct provider *provider;
    struct lock lock;
    struct status status;
    int64_t ready_timeout_ms;
    pid_t vm;               // our child, or 0 when it was taken over
    pid_t workers[WORKERS]; // 0: not running
    struct plane plane;
    struct helper helper;
    struct sharers sharers;
    char *trouble;         // what is wrong with a machine that runs; NULL: nothing
    int64_t forward_at_ms; // when to (re)start the forwarder
    int reports;           // the prober's pipe, or -1
    struct strbuf unread;  // of that pipe
    bool booted, stopping, hard, vm_gone;
    bool again; // the VM is to be started again when it is gone
    struct restarts restarts;
    int vm_status; // as waitpid gives it
};

static void publish(struct monitor *monitor, enum phase phase, const char *detail)
{
    struct error err;
    status_set_phase(&monitor->status, phase, detail ? detail : monitor->trouble);
    detail = monitor->status.detail; // the other may have been the old one
    log_info("%s%s%s", phase_name(phase), detail ? ": " : "", detail ? detail : "");
    if (status_write(monitor->m.name, &monitor->status, &err) < 0)
        log_error("%s", err.message);
}

// A child of ours that runs our own code: true in it. What it must not keep: the monitor's lock, or
// the machine would seem supervised by a child that outlives us.
static bool fork_worker(struct monitor *monitor, enum worker worker)
{
    pid_t pid = process_fork();
    if (pid < 0)
        log_error("cannot fork: %s", strerror(errno));
    monitor->workers[worker] = pid < 0 ? 0 : pid;
    if (pid != 0)
        return false;
    lock_release(&monitor->lock);
    plane_in_helper(&monitor->plane, worker == RELAY);
    return true;
}

// --- waiting for the guest --------------------------------------------------------------------

static void start_prober(struct monitor *monitor)
{
    int ends[2];
    struct error err;
    if (process_pipe(ends, &err) < 0) {
        log_error("%s", err.message);
        return;
    }
    if (fork_worker(monitor, PROBER)) {
        close(ends[0]);
        prober_run(ends[1], &monitor->m, monitor->provider, monitor->ready_timeout_ms);
    }
    close(ends[1]);
    monitor->reports = ends[0];
}

static void start_ladder(struct monitor *monitor)
{
    if (monitor->workers[LADDER])
        return;
    if (fork_worker(monitor, LADDER)) {
        struct error err;
        const struct ladder ladder = {
            .m = &monitor->m,
            .provider = monitor->provider,
            .hard = monitor->hard,
            .booted = monitor->booted,
        };
        if (ladder_run(&ladder, &err) == 0)
            _exit(0);
        log_error("%s", err.message);
        _exit(1);
    }
}

static void stop(struct monitor *monitor, bool hard)
{
    bool harder = hard && !monitor->hard;
    monitor->hard |= hard;
    if (monitor->stopping && !harder && monitor->workers[LADDER])
        return;
    monitor->stopping = true;
    if (monitor->status.phase != PHASE_FAILED)
        publish(monitor, PHASE_STOPPING, NULL);
    process_end(&monitor->workers[PROBER]);
    if (harder)
        process_end(&monitor->workers[LADDER]);
    start_ladder(monitor);
}

static void set_address(struct monitor *monitor, const char *address)
{
    struct status *status = &monitor->status;
    if (status_set_address(status, address))
        publish(monitor, status->phase == PHASE_BOOTING ? PHASE_SSH : status->phase,
                status->detail);
}

static void apply_report(struct monitor *monitor, const json_t *report)
{
    const char *address = json_string_value(json_object_get(report, "address"));
    if (address) {
        set_address(monitor, address);
        return;
    }
    enum phase phase = (enum phase)json_integer_value(json_object_get(report, "phase"));
    const char *host = json_string_value(json_object_get(report, "host"));
    const char *detail = json_string_value(json_object_get(report, "detail"));
    if (host)
        status_set_host(&monitor->status, host,
                        (uint64_t)json_integer_value(json_object_get(report, "port")));
    if (phase >= PHASE_PROVISIONING && phase != PHASE_FAILED)
        monitor->booted = true;
    if (phase == PHASE_READY)
        monitor->forward_at_ms = clock_monotonic_ms();
    if (phase == PHASE_READY && detail && !monitor->trouble)
        monitor->trouble = xstrdup(detail);
    publish(monitor, phase, detail);
    if (phase == PHASE_FAILED)
        stop(monitor, false);
}

static void read_reports(struct monitor *monitor)
{
    char chunk[4096];
    ssize_t n = read(monitor->reports, chunk, sizeof(chunk));
    if (n <= 0) {
        close(steal_fd(&monitor->reports));
        return;
    }
    strbuf_add(&monitor->unread, chunk, (size_t)n);
    json_t *report;
    while (!monitor->stopping && (report = prober_next(&monitor->unread))) {
        cleanup_json json_t *owned = report;
        apply_report(monitor, owned);
    }
}

// --- vsock ------------------------------------------------------------------------------------

// The guest's own word: where it is, and how far. Kept in a file, where all ways to the guest look
// for it (network_vmnet.c).
static void take_guest_report(void *context, const struct report *report)
{
    struct monitor *monitor = context;
    struct error err;
    const char *address = report->addresses.count ? report->addresses.items[0] : NULL;
    if (report_write(monitor->m.name, report, &err) < 0)
        log_error("%s", err.message);
    log_info("the guest reports: %s, at %s", report->state, address ? address : "no address");
    set_address(monitor, address);
}

static void keep_relaying(struct monitor *monitor)
{
    if (monitor->workers[RELAY] || monitor->plane.relay.fd < 0)
        return;
    if (fork_worker(monitor, RELAY)) {
        relay_run(&monitor->plane.relay, monitor->plane.alive, &monitor->m, monitor->provider);
        _exit(0);
    }
}

// --- podman's API socket on the host ----------------------------------------------------------

static void keep_forwarding(struct monitor *monitor)
{
    if (monitor->workers[FORWARDER] || !monitor->forward_at_ms || monitor->stopping ||
        clock_monotonic_ms() < monitor->forward_at_ms)
        return;
    const struct status *status = &monitor->status;
    if (fork_worker(monitor, FORWARDER))
        api_run(&monitor->m, monitor->provider, status->host, (unsigned)status->port,
                monitor->plane.alive);
    monitor->forward_at_ms = clock_monotonic_ms() + forward_again_ms;
}

// --- published ports on localhost --------------------------------------------------------------

static void keep_ports(struct monitor *monitor)
{
    bool wanted = monitor->m.localhost_ports && monitor->status.phase == PHASE_READY;
    if (wanted && !monitor->workers[PORTS] && fork_worker(monitor, PORTS))
        localhost_run(&monitor->m, monitor->plane.alive);
}

// --- the programs beside the VM -----------------------------------------------------------------

static void take_trouble(struct monitor *monitor, char *text)
{
    free(monitor->trouble);
    monitor->trouble = text;
    log_error("%s", text);
    publish(monitor, monitor->status.phase, NULL);
}

static void take_helper_end(struct monitor *monitor)
{
    if (monitor->stopping)
        return;
    take_trouble(monitor, xasprintf("%s has ended: the machine runs without a network until it is "
                                    "restarted",
                                    monitor->helper.name));
    if (!monitor->m.restart)
        return;
    monitor->again = true;
    stop(monitor, false);
}

// --- the loop ---------------------------------------------------------------------------------

static void reap(struct monitor *monitor)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        sharers_take_end(&monitor->sharers, pid);
        if (pid == monitor->vm) {
            monitor->vm_gone = true;
            monitor->vm_status = status;
        }
        for (int i = 0; i < WORKERS; i++) {
            if (pid != monitor->workers[i])
                continue;
            cleanup_free char *how = process_describe_status(status);
            log_info("%s ended: %s", worker_names[i], how);
            monitor->workers[i] = 0;
        }
    }
}

static void handle_signals(struct monitor *monitor, int fd)
{
    unsigned char numbers[64];
    ssize_t n = read(fd, numbers, sizeof(numbers));
    for (ssize_t i = 0; i < n; i++) {
        if (numbers[i] == SIGCHLD)
            continue;
        monitor->again = false;
        stop(monitor, numbers[i] == SUPERVISOR_SIGNAL_STOP_HARD);
    }
    reap(monitor);
}

static void loop(struct monitor *monitor, int signals)
{
    cleanup_free char *vm_lock = machine_path(monitor->m.name, MACHINE_VM_LOCK);
    while (!monitor->vm_gone) {
        struct pollfd fds[3 + 1 + REPORT_CALLERS] = {
            {.fd = signals, .events = POLLIN},
            {.fd = monitor->reports, .events = POLLIN},
            {.fd = monitor->helper.fd, .events = POLLIN},
        };
        report_listener_watch(&monitor->plane.guest, fds + 3);
        poll(fds, ARRAY_SIZE(fds), (int)tick_ms);
        if (fds[0].revents)
            handle_signals(monitor, signals);
        if (monitor->reports >= 0 && fds[1].revents)
            read_reports(monitor);
        report_listener_read(&monitor->plane.guest, fds + 3, take_guest_report, monitor);
        if (helper_has_ended(&monitor->helper, fds[2].fd >= 0 && fds[2].revents))
            take_helper_end(monitor);
        // One that was taken over is not our child: only its lock tells that it ended.
        if (!monitor->vm && !lock_is_held(vm_lock))
            monitor->vm_gone = true;
        // A prober that died without a word must not leave the machine starting for ever.
        if (!monitor->workers[PROBER] && monitor->reports < 0 && !monitor->stopping &&
            monitor->status.phase < PHASE_READY) {
            publish(monitor, PHASE_FAILED, "the check for readiness ended unexpectedly");
            stop(monitor, false);
        }
        if (!monitor->stopping && sharers_are_lost(&monitor->sharers))
            take_trouble(monitor, xstrdup("virtiofsd has ended: a volume is lost until a restart"));
        keep_forwarding(monitor);
        keep_relaying(monitor);
        keep_ports(monitor);
    }
}

// --- beginning and end ------------------------------------------------------------------------

static int load(struct monitor *monitor, const char *name, struct error *err)
{
    if (machine_load(&monitor->m, name, err) < 0)
        return -1;
    monitor->provider = provider_find(monitor->m.provider);
    if (!monitor->provider)
        return error_set(err, EINVAL, "unsupported provider \"%s\"", monitor->m.provider);
    cleanup_free char *path = machine_path(name, MACHINE_MONITOR_LOCK);
    if (lock_take(&monitor->lock, path, lock_glance_ms, err) < 0) {
        if (err->code != EBUSY)
            return -1;
        return error_set(err, EBUSY, "unable to start \"%s\": already running", name);
    }
    return lock_write_pid(&monitor->lock, getpid(), err);
}

static int start_vm(struct monitor *monitor, struct error *err)
{
    cleanup_free char *vm_lock = machine_path(monitor->m.name, MACHINE_VM_LOCK);
    if (lock_is_held(vm_lock)) {
        monitor->status.vm_pid = lock_read_pid(vm_lock);
        log_info("taking over the VM that runs already (process %ld)",
                 (long)monitor->status.vm_pid);
        monitor->booted = true; // as far as we know
        return plane_open(&monitor->plane, &monitor->m, monitor->provider, err);
    }
    if (monitor->provider->network->needs_port && port_settle(&monitor->m, err) < 0)
        return -1;
    if (paths_make_runtime(err) < 0 || vsock_clear(&monitor->m, err) < 0 ||
        plane_open(&monitor->plane, &monitor->m, monitor->provider, err) < 0 ||
        vm_start(&monitor->m, monitor->provider, &monitor->sharers, &monitor->vm, err) < 0)
        return -1;
    monitor->status.vm_pid = monitor->vm;
    return 0;
}

// A machine with that policy that was up and failed by itself is started again, but not for ever.
static bool will_restart(struct monitor *monitor)
{
    bool failed = !monitor->stopping && monitor->status.phase == PHASE_READY && monitor->vm_status;
    if (!monitor->m.restart || !(failed || monitor->again))
        return monitor->again = false;
    monitor->again = restarts_allow(&monitor->restarts, clock_monotonic_ms());
    cleanup_free char *how = process_describe_status(monitor->vm_status);
    log_warn("the VM ended (%s): %s", how,
             monitor->again ? "starting it again" : "too often to start it again");
    return monitor->again;
}

static int finish(struct monitor *monitor, struct error *err)
{
    struct error ignored;
    cleanup_free char *control = machine_path(monitor->m.name, MACHINE_CONTROL_SOCKET);
    localhost_end(&monitor->workers[PORTS], monitor->m.name);
    for (int i = 0; i < WORKERS; i++)
        process_end(&monitor->workers[i]);
    vm_end_remains(&monitor->m, monitor->vm);
    if (vsock_clear(&monitor->m, &ignored) < 0)
        log_error("%s", ignored.message);
    unlink(control);

    CLEANUP(last_exit_release) struct last_exit last = LAST_EXIT_INIT;
    last_exit_now(&last, monitor->m.name, monitor->vm_status, monitor->stopping && !monitor->again);
    if (will_restart(monitor))
        return 0;

    if (monitor->stopping && monitor->status.phase != PHASE_FAILED) {
        log_info("stopped");
        return status_forget(monitor->m.name, err);
    }
    if (!monitor->stopping) {
        // A guest that was told to power off from inside is no fault either, once it was ready.
        bool clean = monitor->status.phase == PHASE_READY && monitor->vm_status == 0;
        cleanup_free char *how = process_describe_status(monitor->vm_status);
        error_set(err, ECHILD, "the VM ended %s: %s%s%s",
                  monitor->status.phase == PHASE_READY ? "while running" : "while starting", how,
                  last.log[0] ? "\n" : "", last.log);
        if (clean)
            return 0;
        publish(monitor, PHASE_FAILED, err->message);
        return -1;
    }
    return error_set(err, EIO, "%s", monitor->status.detail ? monitor->status.detail : "failed");
}

static void monitor_release(struct monitor *monitor)
{
    status_release(&monitor->status);
    strbuf_release(&monitor->unread);
    if (monitor->reports >= 0)
        close(monitor->reports);
    plane_release(&monitor->plane);
    helper_release(&monitor->helper);
    sharers_release(&monitor->sharers);
    free(monitor->trouble);
    machine_release(&monitor->m);
    lock_release(&monitor->lock); // last: from here on the machine is stopped
}

// What an earlier run has left.
static void begin(struct monitor *monitor)
{
    plane_release(&monitor->plane);
    helper_release(&monitor->helper);
    free(monitor->trouble);
    monitor->trouble = NULL;
    if (monitor->reports >= 0)
        close(steal_fd(&monitor->reports));
    strbuf_reset(&monitor->unread);
    monitor->booted = monitor->stopping = monitor->hard = monitor->vm_gone = monitor->again = false;
    monitor->forward_at_ms = 0;
    monitor->vm = monitor->vm_status = 0;
    monitor->restarts.begun_ms = clock_monotonic_ms();
    free(monitor->status.host);
    free(monitor->status.address);
    monitor->status.host = monitor->status.address = NULL;
}

static int run_once(struct monitor *monitor, int signals, struct error *err)
{
    begin(monitor);
    publish(monitor, PHASE_STARTING, NULL);
    if (start_vm(monitor, err) < 0) {
        publish(monitor, PHASE_FAILED, err->message);
        return -1;
    }
    helper_init(&monitor->helper, monitor->provider->network->helper,
                (pid_t)monitor->status.vm_pid);
    publish(monitor, PHASE_BOOTING, NULL);
    start_prober(monitor);
    loop(monitor, signals);
    return finish(monitor, err);
}

int monitor_run(const char *name, int64_t ready_timeout_ms, struct error *err)
{
    CLEANUP(monitor_release)
    struct monitor monitor = {
        .lock = LOCK_INIT,
        .ready_timeout_ms = ready_timeout_ms,
        .reports = -1,
        .unread = STRBUF_INIT,
    };
    plane_init(&monitor.plane);
    helper_init(&monitor.helper, NULL, 0);
    cleanup_close int signals = -1;
    int result;

    if (load(&monitor, name, err) < 0)
        return -1;
    monitor.status.monitor_pid = getpid();
    if (wake_open(&signals, err) < 0)
        return -1;
    do {
        result = run_once(&monitor, signals, err);
    } while (monitor.again);
    return result;
}
