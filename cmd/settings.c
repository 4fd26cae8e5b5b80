// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "cmd/target.h"

void settings_release(struct settings *settings)
{
    strvec_release(&settings->dns);
}

static int apply_network(struct machine *m, const struct settings *settings, struct error *err)
{
    const struct provider *provider;
    if (!settings->network && !settings->offload && !settings->isolated.given)
        return 0;
    if (target_provider(&provider, m, err) < 0)
        return -1;
    if (provider->network->user_mode)
        return error_set(err, EINVAL,
                         "--network, --isolated and --offload are for the vmnet providers: %s has "
                         "a network of its own kind",
                         provider->name);
    if (settings->isolated.given)
        m->network.isolated = settings->isolated.value;
    if (settings->network && network_options_parse(&m->network, settings->network, err) < 0)
        return -1;
    if (settings->offload && network_offload_parse(&m->network.offload, settings->offload, err) < 0)
        return -1;
    return network_options_check(&m->network, err);
}

static int apply_policy(struct machine *m, const struct settings *settings, struct error *err)
{
    const char *policy = settings->restart_policy;
    if (!policy)
        return 0;
    bool restart = strcmp(policy, "on-failure") == 0;
    if (!restart && strcmp(policy, "no") != 0)
        return error_set(err, EINVAL, "invalid restart policy \"%s\": there are no and on-failure",
                         policy);
    m->restart = restart;
    return 0;
}

static int apply_dns(struct machine *m, const struct settings *settings, struct error *err)
{
    const struct strvec *given = &settings->dns;
    if (given->count == 0)
        return 0;
    strvec_release(&m->dns);
    if (given->count == 1 && !*given->items[0])
        return 0;
    for (size_t i = 0; i < given->count; i++) {
        unsigned char address[16];
        const char *text = given->items[i];
        if (inet_pton(AF_INET, text, address) != 1 && inet_pton(AF_INET6, text, address) != 1)
            return error_set(err, EINVAL, "invalid DNS server \"%s\": give its IP address", text);
        strvec_push(&m->dns, text);
    }
    return 0;
}

int settings_apply(struct machine *m, const struct settings *settings, struct error *err)
{
    if (settings->import_native_ca.given)
        m->import_native_ca = settings->import_native_ca.value;
    if (settings->localhost_ports.given)
        m->localhost_ports = settings->localhost_ports.value;
    if (apply_network(m, settings, err) < 0 || apply_policy(m, settings, err) < 0)
        return -1;
    return apply_dns(m, settings, err);
}
