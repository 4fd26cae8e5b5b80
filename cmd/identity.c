// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/identity.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cloudinit/seed.h"
#include "provider/guest.h"
#include "provider/guest_session.h"
#include "provider/ssh.h"

int identity_make_keys(const struct machine *m, const struct provider *provider, struct error *err)
{
    cleanup_free char *own = machine_path(m->name, MACHINE_KEY);
    cleanup_free char *host_key = machine_path(m->name, MACHINE_HOST_KEY);
    if (strcmp(m->ssh.identity, own) == 0 && ssh_key_create(own, m->name, err) < 0)
        return -1;
    if (provider->vsock == VSOCK_VHOST && machine_make_token(m, err) < 0)
        return -1;
    return ssh_key_create(host_key, m->name, err);
}

static const size_t largest_playbook = 1 << 20;

int identity_read_playbook(struct strbuf *text, const char *source, struct error *err)
{
    if (access(source, R_OK) < 0) // podman's words
        return error_set(err, errno, "open %s: %s", source,
                         errno == ENOENT ? "no such file or directory" : "permission denied");
    if (file_read(text, source, largest_playbook, err) < 0)
        return -1;
    if (strlen(text->text) != text->length)
        return error_set(err, EINVAL, "playbook '%s' is not a text", source);
    return 0;
}

int identity_keep_playbook(const struct machine *m, const struct strbuf *text, struct error *err)
{
    cleanup_free char *path = machine_path(m->name, MACHINE_PLAYBOOK);
    return file_write_atomic(path, text->text, text->length, 0600, err);
}

int identity_write_seed(const struct machine *m, const struct provider *provider, struct error *err)
{
    cleanup_free char *iso = machine_path(m->name, MACHINE_SEED);
    cleanup_free char *host_key_path = machine_path(m->name, MACHINE_HOST_KEY);
    cleanup_free char *public_key = NULL, *host_key_public = NULL;
    CLEANUP(strbuf_release) struct strbuf host_key = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf playbook = STRBUF_INIT;
    cleanup_free char *playbook_path = machine_path(m->name, MACHINE_PLAYBOOK);
    bool has_playbook = file_exists(playbook_path);
    if (has_playbook && identity_read_playbook(&playbook, playbook_path, err) < 0)
        return -1;
    if (ssh_key_public(&public_key, m->ssh.identity, err) < 0 ||
        ssh_key_public(&host_key_public, host_key_path, err) < 0 ||
        file_read(&host_key, host_key_path, 16384, err) < 0)
        return -1;
    cleanup_free char *token_path = machine_path(m->name, MACHINE_VSOCK_TOKEN);
    CLEANUP(strbuf_release) struct strbuf token = STRBUF_INIT;
    bool has_token = file_exists(token_path);
    if (has_token && file_read(&token, token_path, 4096, err) < 0)
        return -1;
    if (has_token && (token.length == 0 || strspn(token.text, "0123456789abcdef") != token.length))
        return error_set(err, EINVAL,
                         "'%s' is damaged: remove it, then podman is reached through ssh",
                         token_path);
    cleanup_free char *root_socket = guest_socket(m, true), *user_socket = guest_socket(m, false);
    const struct seed_vsock vsock = {
        .program = GUEST_AGENT_PROGRAM,
        .report = provider->vsock == VSOCK_SOCKETS ? GUEST_VSOCK_REPORT : 0,
        .ssh = GUEST_VSOCK_SSH,
        .api_root = GUEST_VSOCK_API_ROOT,
        .api_user = GUEST_VSOCK_API_USER,
        .control = GUEST_VSOCK_CONTROL,
        .api_root_socket = root_socket,
        .api_user_socket = user_socket,
        .token = has_token ? token.text : NULL,
    };
    cleanup_free struct seed_volume *items = xrealloc(NULL, (m->mounts.count + 1) * sizeof(*items));
    for (size_t i = 0; i < m->mounts.count; i++)
        items[i] = (struct seed_volume){.tag = m->mounts.items[i].tag,
                                        .target = m->mounts.items[i].target,
                                        .read_only = m->mounts.items[i].read_only};
    const struct seed_volumes volumes = {
        .items = items,
        .count = m->mounts.count,
        .program = GUEST_VOLUMES_PROGRAM,
        .unit = GUEST_VOLUMES_UNIT,
        .state_file = GUEST_VOLUMES_FILE,
        .containers_config = GUEST_CONTAINERS_CONFIG,
    };
    const struct seed seed = {
        .instance_id = m->instance_id,
        .hostname = m->name,
        .user = m->ssh.user,
        .uid = (unsigned)m->ssh.uid,
        .rootful = m->rootful,
        .public_key = public_key,
        .host_key = host_key.text,
        .host_key_public = host_key_public,
        .mac = m->mac,
        .dns = (const char *const *)m->dns.items,
        .timezone = m->timezone,
        .agent_vsock = provider->agent_vsock,
        .vsock = provider->vsock == VSOCK_SOCKETS || has_token ? &vsock : NULL,
        .volumes = m->mounts.count ? &volumes : NULL,
        .state_file = GUEST_STATE_FILE,
        .playbook = has_playbook ? playbook.text : NULL,
        .playbook_file = GUEST_PLAYBOOK_FILE,
        .provision_program = GUEST_PROVISION_PROGRAM,
        .provision_unit = GUEST_PROVISION_UNIT,
        .provider_name = provider->name,
    };
    return seed_write(&seed, iso, err);
}
