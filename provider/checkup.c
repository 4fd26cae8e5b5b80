// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/checkup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/platform.h"
#include "provider/host.h"
#include "provider/launchd.h"
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/preflight.h"
#include "provider/virtiofsd.h"
#include "provider/vsock.h"

static const size_t longest_plist = 65536;
static const uint64_t least_disk_bytes = (uint64_t)10 << 30;

void checkup_add(struct checkup *checkup, const char *check, enum verdict verdict, char *what,
                 char *remedy)
{
    // Two rows may have a tool in common.
    for (size_t i = 0; i < checkup->count; i++) {
        if (strcmp(checkup->findings[i].check, check) == 0 &&
            strcmp(checkup->findings[i].what, what) == 0) {
            free(what);
            free(remedy);
            return;
        }
    }
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
    if (major < 26)
        checkup_add(checkup, "system", VERDICT_WARNING, what,
                    xstrdup("update to macOS 26: vmnet needs no root there, and from 26.2 on the "
                            "network is fast"));
    else
        checkup_add(checkup, "system", VERDICT_GOOD, what, NULL);

    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    static const char *const inside[] = {"sysctl", "-n", "kern.hv_vmm_present", NULL};
    if (preflight_ask(&out, inside) && out.text[0] == '1')
        checkup_add(checkup, "virtualization", VERDICT_WARNING,
                    xstrdup("this macOS runs in a virtual machine itself"),
                    xstrdup("machines start here only with nested virtualization (M3 and later, "
                            "macOS 15 and later)"));
}

static void check_version(struct checkup *checkup, const char *path, const struct version *version)
{
    if (!path)
        return;
    cleanup_free char *text = version_known(version) ? version_text(version) : xstrdup("");
    char *advice = preflight_advice(path, version);
    checkup_add(checkup, "tools", advice ? VERDICT_WARNING : VERDICT_GOOD,
                *text ? xasprintf("%s %s at %s", strrchr(path, '/') + 1, text, path)
                      : xstrdup(path),
                advice);
}

// The library that krunkit is a front of. It says its version nowhere but in Homebrew's link to it,
// PREFIX/opt/libkrun -> ../Cellar/libkrun/1.18.0. Elsewhere nothing is told.
static void check_libkrun(struct checkup *checkup, const char *krunkit)
{
    char target[PATH_MAX];
    cleanup_free char *prefix = xstrdup(krunkit);
    for (int i = 0; i < 2; i++) // PREFIX/bin/krunkit
        if (strrchr(prefix, '/'))
            *strrchr(prefix, '/') = '\0';
    cleanup_free char *link = xasprintf("%s/opt/libkrun", prefix);
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0)
        return;
    target[length] = '\0';
    const char *name = strrchr(target, '/');
    struct version version = version_parse(name ? name : target);
    check_version(checkup, link, &version);
}

// What qemu's guests are reached by, besides ssh. `qemu` NULL: there is none.
static void check_vsock(struct checkup *checkup, const char *qemu)
{
    struct error err;
    cleanup_close int fd = -1;
    unsigned id;
    const char *remedy = "`modprobe vhost_vsock`, as root";
    if (platform_vhost_vsock(&fd, &id, &err) == 0) {
        if (!qemu || vsock_known_to(qemu)) {
            checkup_add(checkup, "vsock", VERDICT_GOOD, xstrdup("vhost-vsock can be used"), NULL);
            return;
        }
        error_set(&err, ENOTSUP, "'%s' has no vhost-vsock-pci", qemu);
        remedy = "install a qemu with that device, or leave it so: ssh does as well";
    } else if (err.code == EACCES || err.code == EPERM) {
        remedy = "join the group of that device, mostly kvm";
    } else if (err.code != ENOENT && err.code != ENXIO && err.code != ENODEV) {
        remedy = "leave it so, ssh does as well, or look at the kernel's log for that device";
    }
    checkup_add(checkup, "vsock", VERDICT_WARNING,
                xasprintf("podman's API socket goes through ssh: %s", err.message),
                xstrdup(remedy));
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
    if (preflight_host(provider->hypervisor, &err) < 0)
        checkup_add(checkup, "system", missing,
                    xasprintf("provider %s cannot work", provider->name), xstrdup(err.message));
    if (provider->hypervisor->probe(&tools, &m, &err) < 0)
        checkup_add(checkup, "tools", missing, xasprintf("provider %s cannot work", provider->name),
                    xstrdup(err.message));
    else
        check_version(checkup, tools.hypervisor, &tools.hypervisor_version);
    if (tools.hypervisor && provider->hypervisor == &hypervisor_krunkit)
        check_libkrun(checkup, tools.hypervisor);
    if (provider->network->probe(&tools, &m, provider->hypervisor, &err) < 0)
        checkup_add(checkup, "network", missing,
                    xasprintf("the network of %s cannot work", provider->name),
                    xstrdup(err.message));
    else
        check_version(checkup, tools.network, &tools.network_version);
    if (tools.notice)
        checkup_add(checkup, "tools", VERDICT_WARNING, xstrdup(provider->name),
                    xstrdup(tools.notice));
    if (provider->vsock == VSOCK_VHOST)
        check_vsock(checkup, tools.hypervisor);
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
    uint64_t free_bytes;
    if (!preflight_free_space(&free_bytes))
        return;
    bool good = free_bytes >= least_disk_bytes;
    checkup_add(checkup, "disk", good ? VERDICT_GOOD : VERDICT_WARNING,
                xasprintf("%llu GiB free for machines", (unsigned long long)(free_bytes >> 30)),
                good ? NULL
                     : xstrdup("make room: an image and a guest's packages take about 6 GiB, and "
                               "containers come on top"));
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
    if (!preflight_ask(&out, list))
        return;
    checkup_jobs(&machines, out.text);
    for (size_t i = 0; i < machines.count; i++) {
        if (machine_exists(machines.items[i]))
            continue;
        cleanup_free char *label = launchd_label(machines.items[i]);
        cleanup_free char *job = xasprintf("gui/%lu/%s", (unsigned long)getuid(), label);
        const char *const print[] = {"launchctl", "print", job, NULL};
        CLEANUP(strbuf_release) struct strbuf ignored = STRBUF_INIT;
        const char *domain = preflight_ask(&ignored, print) ? "gui" : "user";
        checkup_add(
            checkup, "jobs", VERDICT_WARNING,
            xasprintf("launchd has a job for machine \"%s\", which is gone", machines.items[i]),
            xasprintf("run `launchctl bootout %s/%lu/%s`", domain, (unsigned long)getuid(), label));
    }
}

// The program of a property list; NULL: it has none that can be read.
static char *program_of(const char *text)
{
    static const char key[] = "<key>ProgramArguments</key>", open[] = "<string>";
    const char *at = strstr(text, key);
    at = at ? strstr(at, open) : NULL;
    if (!at)
        return NULL;
    at += strlen(open);
    size_t length = strcspn(at, "<");
    return at[0] == '/' && !memchr(at, '&', length) ? xstrndup(at, length) : NULL;
}

static void check_agent(struct checkup *checkup, const char *path, const char *machine)
{
    struct error ignored;
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (!machine_exists(machine)) {
        checkup_add(checkup, "jobs", VERDICT_WARNING,
                    xasprintf("'%s' starts machine \"%s\" at login, which is gone", path, machine),
                    xasprintf("run `rm '%s'`", path));
        return;
    }
    if (file_read(&text, path, longest_plist, &ignored) < 0)
        return;
    cleanup_free char *program = program_of(text.text);
    if (program && access(program, X_OK) < 0)
        checkup_add(
            checkup, "jobs", VERDICT_BAD,
            xasprintf("machine \"%s\" does not start at login: '%s' is gone", machine, program),
            xasprintf("run `podman-machine-vmnet set --autostart %s`", machine));
}

// What `set --autostart` has written.
static void check_agents(struct checkup *checkup)
{
    static const char suffix[] = ".plist";
    cleanup_free char *folder = paths_launch_agents();
    cleanup_free char *prefix = launchd_label("");
    cleanup_dir DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), around = strlen(prefix) + strlen(suffix);
        if (length <= around || strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            strcmp(entry->d_name + length - strlen(suffix), suffix) != 0)
            continue;
        cleanup_free char *machine = xstrndup(entry->d_name + strlen(prefix), length - around);
        cleanup_free char *path = xasprintf("%s/%s", folder, entry->d_name);
        check_agent(checkup, path, machine);
    }
}

static void check_ssh(struct checkup *checkup)
{
    struct error err;
    if (preflight_ssh(&err) < 0)
        checkup_add(checkup, "tools", VERDICT_BAD, xstrdup("there is no OpenSSH"),
                    xstrdup(err.message));
}

void checkup_host(struct checkup *checkup)
{
    check_system(checkup);
    check_ssh(checkup);
    for (unsigned i = 0; provider_at(i); i++)
        if (provider_is_native(provider_at(i)) &&
            provider_at(i)->network->user_mode != host_is_macos())
            check_tools(checkup, provider_at(i));
    check_disk(checkup);
    if (!host_is_macos()) {
        check_sharing(checkup);
        return;
    }
    checkup_networks(checkup);
    check_jobs(checkup);
    check_agents(checkup);
}
