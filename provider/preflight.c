// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/preflight.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "base/process.h"
#include "provider/host.h"
#include "provider/hypervisor.h"
#include "provider/paths.h"

static const int64_t tool_ms = 10000;

// krunkit 1.0 is the first with a card on an inherited descriptor, and before 1.2.1 some builds do
// not find their firmware; vfkit 0.5 is the first with such a card and --timesync, and 0.6.2 can
// cut the guest's power; vmnet-helper 0.11 is the first with vmnet-run, and fixes a subnet that
// others use; libkrun 1.18 sends again what the kernel had no room for, as offloading needs.
static const struct tool {
    const char *program, *update;
    struct version least, good;
} tools[] = {
    {"krunkit", "brew upgrade krunkit", {1, 0, 0}, {1, 2, 1}},
    {"vfkit", "brew upgrade vfkit", {0, 5, 0}, {0, 6, 3}},
    {"libkrun", "brew upgrade libkrun", {0, 0, 0}, {1, 18, 0}},
    {"vmnet-run", "brew upgrade vmnet-helper", {0, 11, 0}, {0, 12, 0}},
};

bool preflight_ask(struct strbuf *out, const char *const *words)
{
    struct error ignored;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf complaint = STRBUF_INIT;
    strvec_pushv(&argv, words);
    return process_run_within(&argv, tool_ms, out, &complaint, &ignored) == 0;
}

int preflight_host(const struct hypervisor *hypervisor, struct error *err)
{
    unsigned major, minor;
    if (!host_is_macos() || hypervisor->macos_floor == 0)
        return 0;
    host_macos_version(&major, &minor);
    if (major < hypervisor->macos_floor)
        return error_set(err, ENOTSUP,
                         "%s needs macOS %u or later, and this is %u.%u: update macOS, or choose "
                         "another provider",
                         hypervisor->name, hypervisor->macos_floor, major, minor);
    if (hypervisor->arch && !host_is_pretended() && strcmp(hypervisor->arch, platform_arch()) != 0)
        return error_set(err, ENOTSUP, "%s runs on %s, and this is %s: choose another provider",
                         hypervisor->name, hypervisor->arch, platform_arch());
    static const char *const support[] = {"sysctl", "-n", "kern.hv_support", NULL};
    CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT;
    if (preflight_ask(&answer, support) && answer.text[0] == '0')
        return error_set(err, ENOTSUP,
                         "this Mac lets no program run virtual machines (sysctl kern.hv_support "
                         "is 0): where it is one itself, it needs nested virtualization, which "
                         "an M3 or later has under macOS 15 or later");
    return 0;
}

static const struct tool *find_tool(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < ARRAY_SIZE(tools); i++)
        if (strcmp(slash + 1, tools[i].program) == 0)
            return &tools[i];
    return NULL;
}

static bool is_below(const struct version *version, const struct version *floor)
{
    return version_known(version) &&
           !version_at_least(version, floor->major, floor->minor, floor->patch);
}

int preflight_tool(const char *path, const struct version *version, struct error *err)
{
    const struct tool *tool = find_tool(path);
    if (!tool || !is_below(version, &tool->least))
        return 0;
    cleanup_free char *text = version_text(version);
    return error_set(err, ENOTSUP,
                     "'%s' is %s %s, and %u.%u is the first that can use vmnet: update it with "
                     "`%s`",
                     path, tool->program, text, tool->least.major, tool->least.minor, tool->update);
}

char *preflight_advice(const char *path, const struct version *version)
{
    const struct tool *tool = path ? find_tool(path) : NULL;
    if (!tool || !is_below(version, &tool->good))
        return NULL;
    cleanup_free char *good = version_text(&tool->good);
    return xasprintf("%s or later is recommended: `%s`", good, tool->update);
}

int preflight_ssh(struct error *err)
{
    static const char *const names[] = {"ssh", "ssh-keygen"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        cleanup_free char *found = process_find(names[i], NULL);
        if (!found)
            return error_set(err, ENOENT,
                             "cannot find '%s' in $PATH: install OpenSSH's client (openssh-client)",
                             names[i]);
    }
    return 0;
}

bool preflight_free_space(uint64_t *bytes)
{
    struct statvfs volume;
    cleanup_free char *machines = paths_machines();
    cleanup_free char *home = paths_home();
    const char *place = file_exists(machines) ? machines : home;
    if (statvfs(place, &volume) < 0 || volume.f_blocks == 0)
        return false;
    *bytes = (uint64_t)volume.f_bavail * volume.f_frsize;
    return true;
}
