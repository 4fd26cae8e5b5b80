// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/checkup.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/platform.h"
#include "base/process.h"
#include "provider/host.h"
#include "provider/launchd.h"
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/virtiofsd.h"

static const int64_t tool_ms = 10000;
static const uint64_t least_disk_bytes = (uint64_t)10 << 30;

// The oldest that are known to be good: before krunkit 1.2.1 some builds do not find their
// firmware, vfkit 0.6.2 can cut the guest's power, vmnet-helper 0.11 fixes a subnet that others
// use.
static const struct {
    const char *program, *update;
    unsigned major, minor, patch;
} floors[] = {
    {"krunkit", "brew upgrade krunkit", 1, 2, 1},
    {"vfkit", "brew upgrade vfkit", 0, 6, 3},
    {"vmnet-run", "brew upgrade vmnet-helper", 0, 12, 0},
};

void checkup_add(struct checkup *checkup, const char *check, enum verdict verdict, char *what,
                 char *remedy)
{
    checkup->findings =
        xrealloc(checkup->findings, (checkup->count + 1) * sizeof(*checkup->findings));
    checkup->findings[checkup->count++] = (struct finding){check, verdict, what, remedy};
}

void checkup_release(struct checkup *checkup)
{
    for (size_t i = 0; i < checkup->count; i++) {
        free(checkup->findings[i].what);
        free(checkup->findings[i].remedy);
    }
    free(checkup->findings);
    *checkup = (struct checkup)CHECKUP_INIT;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"good", "warning", "bad"};
    return names[verdict];
}

// Runs a small tool of the system. False: it is not there, or it failed.
static bool ask(struct strbuf *out, const char *const *words)
{
    struct error ignored;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf complaint = STRBUF_INIT;
    strvec_pushv(&argv, words);
    return process_run_within(&argv, tool_ms, out, &complaint, &ignored) == 0;
}

static void check_system(struct checkup *checkup)
{
    unsigned major, minor;
    host_macos_version(&major, &minor);
    if (!host_is_macos()) {
        checkup_add(checkup, "system", VERDICT_GOOD,
                    xasprintf("%s on %s", platform_name, platform_arch()), NULL);
        return;
    }
    char *what = xasprintf("macOS %u.%u on %s", major, minor, platform_arch());
    if (major < 13)
        checkup_add(checkup, "system", VERDICT_BAD, what,
                    xstrdup("update macOS: 13 is the first that vfkit runs on, 14 the first for "
                            "krunkit"));
    else if (major < 26)
        checkup_add(checkup, "system", VERDICT_WARNING, what,
                    xstrdup("update to macOS 26: vmnet needs no root there, and from 26.2 on the "
                            "network is fast"));
    else
        checkup_add(checkup, "system", VERDICT_GOOD, what, NULL);

    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    static const char *const inside[] = {"sysctl", "-n", "kern.hv_vmm_present", NULL};
    if (ask(&out, inside) && out.text[0] == '1')
        checkup_add(checkup, "virtualization", VERDICT_WARNING,
                    xstrdup("this macOS runs in a virtual machine itself"),
                    xstrdup("machines start here only with nested virtualization (M3 and later, "
                            "macOS 15 and later)"));
}

static void check_version(struct checkup *checkup, const char *path, const struct version *version)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    for (size_t i = 0; slash && i < ARRAY_SIZE(floors); i++) {
        if (strcmp(slash + 1, floors[i].program) != 0)
            continue;
        cleanup_free char *text = version_text(version);
        bool good = version_at_least(version, floors[i].major, floors[i].minor, floors[i].patch);
        checkup_add(checkup, "tools", good ? VERDICT_GOOD : VERDICT_WARNING,
                    xasprintf("%s %s at %s", floors[i].program, text, path),
                    good ? NULL
                         : xasprintf("%u.%u.%u or later is recommended: `%s`", floors[i].major,
                                     floors[i].minor, floors[i].patch, floors[i].update));
        return;
    }
    if (path)
        checkup_add(checkup, "tools", VERDICT_GOOD, xstrdup(path), NULL);
}

// What the probe of init and start would say. Its message ends in what to do.
static void check_tools(struct checkup *checkup, const struct provider *provider)
{
    struct error err;
    CLEANUP(tools_release) struct tools tools = TOOLS_INIT;
    char name[] = "doctor";
    const struct machine m = {.name = name, .resources = {.cpus = 1, .memory_mib = 512}};
    tools.arch = platform_arch();
    tools.folder = machine_folder(name);
    tools.control = machine_path(name, MACHINE_CONTROL_SOCKET);
    bool is_default = strcmp(provider->name, platform_default_provider) == 0;
    enum verdict missing = is_default ? VERDICT_BAD : VERDICT_WARNING;
    if (provider->hypervisor->probe(&tools, &m, &err) < 0)
        checkup_add(checkup, "tools", missing, xasprintf("provider %s cannot work", provider->name),
                    xstrdup(err.message));
    else
        check_version(checkup, tools.hypervisor, &tools.hypervisor_version);
    if (provider->network->probe(&tools, &m, provider->hypervisor, &err) < 0)
        checkup_add(checkup, "network", missing,
                    xasprintf("the network of %s cannot work", provider->name),
                    xstrdup(err.message));
    else
        check_version(checkup, tools.network, &tools.network_version);
    if (tools.notice)
        checkup_add(checkup, "tools", VERDICT_WARNING, xstrdup(provider->name),
                    xstrdup(tools.notice));
}

// What qemu shares folders by.
static void check_sharing(struct checkup *checkup)
{
    cleanup_free char *program = NULL;
    bool read_only;
    if (virtiofsd_find(&program, &read_only))
        checkup_add(checkup, "tools", VERDICT_GOOD, steal_string(&program), NULL);
    else
        checkup_add(checkup, "tools", VERDICT_WARNING,
                    xstrdup("there is no virtiofsd 1.0 or later: folders are shared by 9p, which "
                            "Debian's cloud kernels do not have"),
                    xstrdup("`apt install virtiofsd` or `dnf install virtiofsd`"));
}

static void check_disk(struct checkup *checkup)
{
    struct statvfs volume;
    cleanup_free char *home = paths_home();
    if (statvfs(home, &volume) < 0)
        return;
    uint64_t free_bytes = (uint64_t)volume.f_bavail * volume.f_frsize;
    bool good = free_bytes >= least_disk_bytes;
    checkup_add(checkup, "disk", good ? VERDICT_GOOD : VERDICT_WARNING,
                xasprintf("%llu GiB free for '%s'", (unsigned long long)(free_bytes >> 30), home),
                good ? NULL
                     : xstrdup("make room: an image and a guest's packages take about 6 GiB, and "
                               "containers come on top"));
}

bool checkup_firewall_is_on(const char *text)
{
    return strstr(text, "enabled") || strstr(text, "State = 1") || strstr(text, "State = 2");
}

bool checkup_is_blocked(const char *text)
{
    return strstr(text, "blocked") && !strstr(text, "not blocked");
}

// macOS' own DHCP server gives the guests their addresses, and a firewall may keep it from hearing
// them, even after it was allowed once (lima#1259).
static void check_firewall(struct checkup *checkup)
{
    static const char program[] = "/usr/libexec/ApplicationFirewall/socketfilterfw";
    cleanup_free char *found = process_find("socketfilterfw", NULL);
    const char *tool = found ? found : program;
    CLEANUP(strbuf_release) struct strbuf state = STRBUF_INIT, blocked = STRBUF_INIT;
    const char *const ask_state[] = {tool, "--getglobalstate", NULL};
    const char *const ask_blocked[] = {tool, "--getappblocked", "/usr/libexec/bootpd", NULL};
    if (!ask(&state, ask_state))
        return;
    if (!checkup_firewall_is_on(state.text)) {
        checkup_add(checkup, "firewall", VERDICT_GOOD, xstrdup("the firewall is off"), NULL);
        return;
    }
    bool bad = ask(&blocked, ask_blocked) && checkup_is_blocked(blocked.text);
    checkup_add(checkup, "firewall", bad ? VERDICT_BAD : VERDICT_GOOD,
                xasprintf("the firewall is on and %s bootpd, which gives guests their addresses",
                          bad ? "blocks" : "lets through"),
                bad ? xasprintf("run `sudo %s --remove /usr/libexec/bootpd`, then the same with "
                                "--add and with --unblockapp",
                                program)
                    : NULL);
}

// Tunnels take routes and answers that belong to the bridge.
static void check_tunnels(struct checkup *checkup)
{
    static const char *const kinds[] = {"utun", "ipsec", "ppp", "tun", "wg"};
    CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next)
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
            if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) &&
                strncmp(one->ifa_name, kinds[i], strlen(kinds[i])) == 0)
                strbuf_addf(&names, "%s%s", names.length ? ", " : "", one->ifa_name);
    freeifaddrs(all);
    if (names.length)
        checkup_add(checkup, "vpn", VERDICT_WARNING, xasprintf("a VPN is up (%s)", names.text),
                    xstrdup("if a guest's connections hang or it has no DNS, try without the VPN, "
                            "or give --dns at init"));
}

void checkup_jobs(struct strvec *machines, const char *text)
{
    cleanup_free char *prefix = launchd_label("");
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    strvec_split(&lines, text, '\n');
    for (size_t i = 0; i < lines.count; i++) {
        const char *label = strstr(lines.items[i], prefix);
        if (label && label > lines.items[i] && strchr(" \t", label[-1]))
            strvec_push(machines, label + strlen(prefix));
    }
}

static void check_jobs(struct checkup *checkup)
{
    static const char *const list[] = {"launchctl", "list", NULL};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    CLEANUP(strvec_release) struct strvec machines = STRVEC_INIT;
    if (!ask(&out, list))
        return;
    checkup_jobs(&machines, out.text);
    for (size_t i = 0; i < machines.count; i++) {
        if (machine_exists(machines.items[i]))
            continue;
        cleanup_free char *label = launchd_label(machines.items[i]);
        checkup_add(
            checkup, "jobs", VERDICT_WARNING,
            xasprintf("launchd has a job for machine \"%s\", which is gone", machines.items[i]),
            xasprintf("run `launchctl bootout gui/%lu/%s`", (unsigned long)getuid(), label));
    }
}

void checkup_host(struct checkup *checkup)
{
    check_system(checkup);
    for (unsigned i = 0; provider_at(i); i++)
        if (provider_is_native(provider_at(i)) &&
            provider_at(i)->network->user_mode != host_is_macos())
            check_tools(checkup, provider_at(i));
    check_disk(checkup);
    if (!host_is_macos()) {
        check_sharing(checkup);
        return;
    }
    check_firewall(checkup);
    check_tunnels(checkup);
    check_jobs(checkup);
}
