// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/agent.h"

#include <ctype.h>

#include "base/strbuf.h"

// None of the values holds a quote: seed_write() lets no such character through.
static void set(struct strbuf *script, const char *name, const char *value)
{
    strbuf_addf(script, "%s = '%s'\n", name, value);
}

static void set_port(struct strbuf *script, const char *name, unsigned port)
{
    strbuf_addf(script, "%s = %u\n", name, port);
}

char *agent_script(const struct seed *seed)
{
    const struct seed_vsock *vsock = seed->vsock;
    struct strbuf script = STRBUF_INIT;
    strbuf_adds(&script, "#!/usr/bin/python3 -I\nMAC = '");
    for (const char *c = seed->mac; *c; c++)
        strbuf_addc(&script, (char)tolower((unsigned char)*c));
    strbuf_adds(&script, "'\n");
    set(&script, "STATE_FILE", seed->state_file);
    set_port(&script, "REPORT_PORT", vsock->report);
    set_port(&script, "SSH_PORT", vsock->ssh);
    set_port(&script, "API_ROOT_PORT", vsock->api_root);
    set_port(&script, "API_USER_PORT", vsock->api_user);
    set_port(&script, "CONTROL_PORT", vsock->control);
    set(&script, "API_ROOT_SOCKET", vsock->api_root_socket);
    set(&script, "API_USER_SOCKET", vsock->api_user_socket);
    set(&script, "TOKEN", vsock->token ? vsock->token : "");
    strbuf_adds(&script, agent_body);
    return strbuf_steal(&script);
}
