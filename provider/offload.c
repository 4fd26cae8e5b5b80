// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/offload.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/lock.h"
#include "provider/machine.h"
#include "provider/provider.h"

static const unsigned helper_major = 0, helper_minor = 13; // with buffers for large packets
static const unsigned macos_major = 26, macos_minor = 2;
static const size_t longest_command_line = 65536;

// NULL: it can be on here.
static const char *obstacle(const struct offload_facts *facts)
{
    if (!facts->hypervisor)
        return "this provider's network card cannot do it";
    if (facts->macos_major < macos_major ||
        (facts->macos_major == macos_major && facts->macos_minor < macos_minor))
        return "it is slow before macOS 26.2";
    if (!version_at_least(&facts->helper, helper_major, helper_minor, 0))
        return "it needs vmnet-helper 0.13 or later";
    return NULL;
}

bool offload_plan(enum network_offload wanted, const struct offload_facts *facts, char **notice)
{
    static const char slow[] = "other machines run on the same bridge with offload %s and this one "
                               "with it %s: all of them will be slow until they agree";
    const char *why_not = obstacle(facts);
    *notice = NULL;
    if (wanted == OFFLOAD_ON && why_not)
        *notice = xasprintf("offload is off: %s", why_not);
    else if (wanted == OFFLOAD_ON && facts->bridge == OFFLOAD_BRIDGE_OFF)
        *notice = xstrdup("offload is off, as it is for the other machines that run on this "
                          "bridge: mixed, all of them would be slow");
    bool on = wanted != OFFLOAD_OFF && !why_not && facts->bridge != OFFLOAD_BRIDGE_OFF;
    if (!on && facts->bridge == OFFLOAD_BRIDGE_ON) {
        cleanup_free char *first = *notice;
        cleanup_free char *second = xasprintf(slow, "on", "off");
        *notice = first ? xasprintf("%s; %s", first, second) : steal_string(&second);
    }
    return on;
}

static bool is_on(const char *name)
{
    struct error ignored;
    cleanup_free char *path = machine_path(name, MACHINE_VM_ARGV);
    CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
    return file_read(&line, path, longest_command_line, &ignored) == 0 &&
           strstr(line.text, " --enable-tso ");
}

enum offload_bridge offload_ask_bridge(const struct machine *m)
{
    struct error ignored;
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    enum offload_bridge found = OFFLOAD_BRIDGE_FREE;
    if (machine_names(&names, &ignored) < 0)
        return found;
    for (size_t i = 0; i < names.count; i++) {
        CLEANUP(machine_release) struct machine other = MACHINE_INIT;
        cleanup_free char *lock = machine_path(names.items[i], MACHINE_VM_LOCK);
        if (strcmp(names.items[i], m->name) == 0 || !lock_is_held(lock) ||
            machine_load(&other, names.items[i], &ignored) < 0)
            continue;
        const struct provider *provider = provider_find(other.provider);
        if (!provider || provider->network != &network_vmnet ||
            !network_options_share(&m->network, &other.network))
            continue;
        if (!is_on(other.name))
            return OFFLOAD_BRIDGE_OFF; // the slow one decides
        found = OFFLOAD_BRIDGE_ON;
    }
    return found;
}
