// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/provision.h"

#include <string.h>

#include "base/strbuf.h"

static const unsigned subid_first = 100000, subid_count = 1000000;

// None of the values holds a quote: seed_write() lets no such character through.
static void set(struct strbuf *script, const char *name, const char *value)
{
    strbuf_addf(script, "%s='%s'\n", name, value ? value : "");
}

// podman's rule: the range moves up when the user's own id lies in it.
static unsigned subid_start(unsigned uid)
{
    return uid >= subid_first && uid - subid_first < subid_count ? uid + 1 : subid_first;
}

static bool shares_containers_config(const struct seed *seed)
{
    const struct seed_volumes *volumes = seed->volumes;
    for (size_t i = 0; volumes && i < volumes->count; i++)
        if (strcmp(volumes->items[i].target, volumes->containers_config) == 0)
            return true;
    return false;
}

char *provision_script(const struct seed *seed)
{
    struct strbuf script = STRBUF_INIT;
    strbuf_adds(&script, "#!/bin/sh\n");
    set(&script, "PROVIDER", seed->provider_name);
    set(&script, "STATE_FILE", seed->state_file);
    set(&script, "GUEST_USER", seed->user);
    strbuf_addf(&script, "GUEST_UID=%u\n", seed->uid);
    strbuf_addf(&script, "SUBID_START=%u\n", subid_start(seed->uid));
    set(&script, "ROOTFUL", seed->rootful ? "yes" : "");
    set(&script, "AGENT", seed->agent_vsock ? "yes" : "");
    set(&script, "VSOCK_PROGRAM", seed->vsock ? seed->vsock->program : NULL);
    set(&script, "VOLUMES_PROGRAM", seed->volumes ? seed->volumes->program : NULL);
    set(&script, "VOLUMES_UNIT", seed->volumes ? seed->volumes->unit : NULL);
    set(&script, "CONTAINERS_SHARED", shares_containers_config(seed) ? "yes" : "");
    set(&script, "PLAYBOOK", seed->playbook ? seed->playbook_file : NULL);
    set(&script, "TIMEZONE", seed->timezone);
    if (seed->playbook)
        strbuf_adds(&script, playbook_body);
    strbuf_adds(&script, provision_body);
    return strbuf_steal(&script);
}
