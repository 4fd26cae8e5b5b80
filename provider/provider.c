// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/provider.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/platform.h"
#include "provider/control.h"
#include "provider/host.h"
#include "provider/machine.h"
#include "provider/paths.h"
#include "provider/preflight.h"

static const struct provider providers[] = {
    {
        .name = "vmnet-krunkit",
        .hypervisor = &hypervisor_krunkit,
        .network = &network_vmnet,
        .agent_vsock = true,
        .vsock = VSOCK_SOCKETS,
        .rootful_default = true,
    },
    {
        .name = "vmnet-vfkit",
        .hypervisor = &hypervisor_vfkit,
        .network = &network_vmnet,
        .agent_vsock = true,
        .vsock = VSOCK_SOCKETS,
        .rootful_default = true,
    },
    {
        .name = "qemu",
        .hypervisor = &hypervisor_qemu,
        .network = &network_user,
        .vsock = VSOCK_VHOST,
    },
};

const struct provider *provider_at(unsigned index)
{
    return index < ARRAY_SIZE(providers) ? &providers[index] : NULL;
}

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}

bool provider_is_native(const struct provider *provider)
{
    for (const char *const *name = platform_providers; *name; name++)
        if (strcmp(*name, provider->name) == 0)
            return true;
    return host_is_pretended() && !provider->network->user_mode;
}

static int check_limit(const char *what, const char *unit, uint64_t value, uint64_t limit,
                       const struct hypervisor *hypervisor, struct error *err)
{
    if (value == 0)
        return error_set(err, EINVAL, "the machine has no %s", what);
    if (limit && value > limit)
        return error_set(err, EINVAL,
                         "%" PRIu64 "%s of %s is more than the %" PRIu64 "%s that %s takes", value,
                         unit, what, limit, unit, hypervisor->name);
    return 0;
}

int provider_check_size(const struct provider *provider, const struct machine *m, struct error *err)
{
    const struct hypervisor *hypervisor = provider->hypervisor;
    if (check_limit("cpus", "", m->resources.cpus, hypervisor->cpu_limit, hypervisor, err) < 0)
        return -1;
    return check_limit("memory", " MiB", m->resources.memory_mib, hypervisor->memory_limit_mib,
                       hypervisor, err);
}

// Of tools that work, but not as well as they could.
static void advise(struct tools *tools)
{
    cleanup_free char *hypervisor = preflight_advice(tools->hypervisor, &tools->hypervisor_version);
    cleanup_free char *network = preflight_advice(tools->network, &tools->network_version);
    const char *path = hypervisor ? tools->hypervisor : tools->network;
    const char *advice = hypervisor ? hypervisor : network;
    if (advice && !tools->notice)
        tools->notice = xasprintf("'%s' is old: %s", path, advice);
}

int provider_probe(const struct provider *provider, const struct machine *m, struct tools *tools,
                   struct error *err)
{
    CLEANUP(tools_release) struct tools found = TOOLS_INIT;
    found.arch = platform_arch();
    found.folder = machine_folder(m->name);
    found.control = machine_path(m->name, MACHINE_CONTROL_SOCKET);
    if (provider_check_size(provider, m, err) < 0 ||
        preflight_host(provider->hypervisor, err) < 0 || paths_make_runtime(err) < 0 ||
        control_prepare(found.control, err) < 0 ||
        provider->hypervisor->probe(&found, m, err) < 0 ||
        provider->network->probe(&found, m, provider->hypervisor, err) < 0)
        return -1;
    advise(&found);
    *tools = found;
    found = (struct tools)TOOLS_INIT;
    return 0;
}

int provider_share(const struct provider *provider, const struct machine *m, struct tools *tools,
                   struct error *err)
{
    if (shares_find(&tools->shares, m, err) < 0)
        return -1;
    return tools->shares.count ? provider->hypervisor->share(tools, m, err) : 0;
}

int provider_command(const struct provider *provider, const struct machine *m,
                     const struct tools *tools, struct strvec *argv, struct error *err)
{
    const struct hypervisor *hypervisor = provider->hypervisor;
    if (provider_check_size(provider, m, err) < 0)
        return -1;
    struct network_port port = {.fd = -1, .offload = tools->offload && hypervisor->offload};
    if (provider->network->append(m, tools, argv, &port, err) < 0)
        return -1;
    return hypervisor->append(m, tools, &port, argv, err);
}

void tools_release(struct tools *tools)
{
    free(tools->hypervisor);
    free(tools->network);
    free(tools->firmware);
    free(tools->firmware_vars);
    free(tools->notice);
    free(tools->folder);
    free(tools->control);
    shares_release(&tools->shares);
    free(tools->virtiofsd);
    free(tools->vsock.report);
    free(tools->vsock.ssh);
    free(tools->vsock.api);
    free(tools->vsock.shutdown);
    if (tools->vhost.context_id)
        cleanup_close_fd(&tools->vhost.fd);
    *tools = (struct tools)TOOLS_INIT;
}
