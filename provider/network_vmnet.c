// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// macOS's vmnet through vmnet-helper (0.11.0 and later, the first with vmnet-run): the guest's
// card is a datagram socket whose other end is the helper, and macOS's bootpd gives it an address.

#include "provider/network.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hostname.h"
#include "base/process.h"
#include "provider/host.h"
#include "provider/lease.h"
#include "provider/machine.h"
#include "provider/mdns.h"
#include "provider/offload.h"
#include "provider/preflight.h"
#include "provider/report.h"
#include "provider/tool.h"

// run.c: 3 is the helper's end, 4 the command's, and both were closed before.
static const int command_fd = 4;
static const unsigned first_without_root = 26; // macOS: run.c, requires_root()
static const unsigned ssh_port = 22;
static const int64_t mdns_ms = 1000;
static const char default_leases[] = "/var/db/dhcpd_leases";

// Before macOS 26 the helper must be root, and vmnet-run calls sudo with these words (run.c,
// build_helper_argv). Nobody can type a password for a VM that starts by itself.
static int check_sudo(const char *helper, struct error *err)
{
    unsigned major, minor;
    host_macos_version(&major, &minor);
    if (major == 0 || major >= first_without_root)
        return 0;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    strvec_push(&argv, "sudo");
    strvec_push(&argv, "--non-interactive");
    strvec_push(&argv, "--close-from=4");
    strvec_push(&argv, helper);
    strvec_push(&argv, "--version");
    if (process_run(&argv, NULL, err) == 0)
        return 0;
    error_prefix(err, "vmnet-helper needs root on macOS %u and cannot get it", major);
    return error_append(err, ": install it with vmnet-helper's own install script, which adds a "
                             "rule to /etc/sudoers.d");
}

// vmnet-helper 0.11 refuses to isolate in the shared mode (run.c, parse_options()).
static bool can_isolate(const struct network_options *options, const struct version *helper)
{
    return !options->isolated || options->mode != NETWORK_SHARED || !version_known(helper) ||
           version_at_least(helper, 0, 12, 0);
}

// What the options need of macOS and vmnet-helper.
static int check_options(const struct machine *m, const struct version *helper, struct error *err)
{
    unsigned major, minor;
    host_macos_version(&major, &minor);
    if (m->network.mode == NETWORK_BROKER && major && major < first_without_root)
        return error_set(err, ENOTSUP, "a broker's network needs macOS 26 or later: this is %u.%u",
                         major, minor);
    cleanup_free char *version = version_text(helper);
    if (!can_isolate(&m->network, helper))
        return error_set(err, ENOTSUP,
                         "an isolated machine on the shared network needs vmnet-helper 0.12 or "
                         "later, and this is %s: update it, or choose the network host",
                         version);
    return network_options_check(&m->network, err);
}

static void plan_offload(struct tools *tools, const struct machine *m,
                         const struct hypervisor *hypervisor)
{
    struct offload_facts facts = {
        .hypervisor = hypervisor->offload,
        .helper = tools->network_version,
        .bridge = offload_ask_bridge(m),
    };
    host_macos_version(&facts.macos_major, &facts.macos_minor);
    cleanup_free char *notice = NULL;
    tools->offload = offload_plan(m->network.offload, &facts, &notice);
    if (!tools->notice)
        tools->notice = steal_string(&notice);
}

static int vmnet_probe(struct tools *tools, const struct machine *m,
                       const struct hypervisor *hypervisor, struct error *err)
{
    static const char *const names[] = {"vmnet-run", NULL};
    static const char install[] = "install vmnet-helper 0.11 or later: `brew tap "
                                  "nirs/vmnet-helper && brew install vmnet-helper` on macOS 26 or "
                                  "later, its own install script before";
    if (tool_find(&tools->network, names, install, err) < 0)
        return -1;

    // vmnet-run looks for the helper beside the path that it was called by, links not followed.
    cleanup_free char *copy = xstrdup(tools->network);
    cleanup_free char *helper = xasprintf("%s/vmnet-helper", dirname(copy));
    if (access(helper, X_OK) < 0)
        return error_errno(err, "cannot use '%s', which has no vmnet-helper beside it",
                           tools->network);
    tools->network_version = version_of(tools->network);
    if (preflight_tool(tools->network, &tools->network_version, err) < 0 ||
        check_options(m, &tools->network_version, err) < 0 || check_sudo(helper, err) < 0)
        return -1;
    plan_offload(tools, m, hypervisor);
    return 0;
}

static int vmnet_append(const struct machine *m, const struct tools *tools, struct strvec *argv,
                        struct network_port *port, struct error *err)
{
    const struct network_options *options = &m->network;
    if (!tools->network || tools->network[0] != '/')
        return error_set(err, EINVAL, "vmnet-run must be called by its absolute path");
    strvec_push(argv, tools->network);
    // The shared mode is its default. No addresses are ever given: 0.12 and later find a network
    // that is free.
    if (options->mode == NETWORK_HOST || options->mode == NETWORK_BRIDGED) {
        strvec_push(argv, "--operation-mode");
        strvec_push(argv, options->mode == NETWORK_HOST ? "host" : "bridged");
    }
    if (options->mode == NETWORK_BRIDGED)
        strvec_push(argv, "--shared-interface");
    if (options->mode == NETWORK_BROKER)
        strvec_push(argv, "--network");
    if (options->name)
        strvec_push(argv, options->name);
    if (options->isolated)
        strvec_push(argv, "--enable-isolation");
    if (port->offload) {
        strvec_push(argv, "--enable-tso");
        strvec_push(argv, "--enable-checksum-offload");
    }
    strvec_push(argv, "--");
    port->fd = command_fd;
    return 0;
}

// The monitor's relay (relay.h): over vsock, without the network.
static int find_relay(const struct machine *m, struct strvec *hosts, unsigned *port,
                      struct error *err)
{
    if (m->ssh.port == 0)
        return error_set(err, ENOENT, "no ssh port was chosen for machine '%s'", m->name);
    strvec_push(hosts, "127.0.0.1");
    *port = (unsigned)m->ssh.port;
    return 0;
}

static int find_report(const struct machine *m, struct strvec *hosts, unsigned *port,
                       struct error *err)
{
    CLEANUP(report_release) struct report report = REPORT_INIT;
    if (report_read(&report, m->name, err) < 0)
        return err->code == ENOENT ? error_set(err, ENOENT, "the guest has not reported yet") : -1;
    if (report.addresses.count == 0)
        return error_set(err, ENOENT, "the guest reports that it has no address");
    for (size_t i = 0; i < report.addresses.count; i++)
        strvec_push(hosts, report.addresses.items[i]);
    *port = ssh_port;
    return 0;
}

static int find_lease(const struct machine *m, struct strvec *hosts, unsigned *port,
                      struct error *err)
{
    const char *file = getenv("PODMAN_MACHINE_VMNET_LEASES");
    if (!file || !*file)
        file = default_leases;
    if (lease_find(hosts, file, m->mac, m->name, clock_wall_ns() / 1000000000, err) < 0)
        return -1;
    *port = ssh_port;
    return 0;
}

static int find_mdns(const struct machine *m, struct strvec *hosts, unsigned *port,
                     struct error *err)
{
    cleanup_free char *name = hostname_of(m->name);
    char *host;
    if (mdns_find(&host, name, mdns_ms, err) < 0)
        return -1;
    strvec_take(hosts, host);
    *port = ssh_port;
    return 0;
}

static const struct way ways[] = {
    {.name = "relay", .local = true, .find = find_relay},
    {.name = "report", .find = find_report},
    {.name = "lease", .find = find_lease},
    {.name = "mDNS", .find = find_mdns},
    {.name = NULL},
};

const struct network network_vmnet = {
    .name = "vmnet",
    .probe = vmnet_probe,
    .append = vmnet_append,
    .helper = "vmnet-helper",
    .ways = ways,
    .needs_port = true,
};
