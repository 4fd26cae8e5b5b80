// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/documents.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "cloudinit/agent.h"
#include "cloudinit/pack.h"
#include "cloudinit/provision.h"
#include "cloudinit/volumes.h"

// Takes the reference to `root`.
static int dump(json_t *root, const char *header, char **text, struct error *err)
{
    cleanup_json json_t *document = root;
    cleanup_free char *json = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
    if (!json)
        return error_set(err, EINVAL, "cannot write the seed: a value is not valid UTF-8");
    *text = xasprintf("%s%s\n", header, json);
    return 0;
}

// What every boot does before anything else of cloud-init's, until provisioning is done:
//
// Per-instance modules (users, keys, files) are marked as run before they run, so what a power
// cut took from them would be lost for good. Without the marks they run again.
//
// The unit is made in /run, so that no later boot meets half of it, and it is in nobody's `wants`,
// so that neither a target nor cloud-init's last stage waits for it. It comes after the stage that
// makes the user and writes the script; cloud-init calls that stage's unit by one or the other
// name.
static char *boot_command(const struct seed *seed)
{
    return xasprintf("line=\n"
                     "[ ! -r %s ] || read -r line <%s || :\n"
                     "if [ \"$line\" != done ]; then\n"
                     "rm -f /var/lib/cloud/instance/sem/config_*\n"
                     "mkdir -p /run/systemd/system\n"
                     "cat >/run/systemd/system/%s <<'END'\n"
                     "[Unit]\n"
                     "Description=Set up this podman machine\n"
                     "After=cloud-init.service cloud-init-network.service\n"
                     "[Service]\n"
                     "Type=oneshot\n"
                     "ExecStart=%s\n"
                     "END\n"
                     "systemctl start --no-block %s\n"
                     "fi",
                     seed->state_file, seed->state_file, seed->provision_unit,
                     seed->provision_program, seed->provision_unit);
}

// It sorts before the files of the distributions and of cloud-init, and sshd takes what it reads
// first. Written before sshd starts. (cloud-init's own ssh_pwauth would restart sshd at the end
// of the boot, just when the host is waiting for an answer.)
static const char sshd_config[] = "PermitRootLogin prohibit-password\n"
                                  "PasswordAuthentication no\n"
                                  "KbdInteractiveAuthentication no\n"
                                  "AllowStreamLocalForwarding yes\n"
                                  "AllowTcpForwarding yes\n";

// Appends to `files`.
static int add_packed(json_t *files, const char *path, const char *permissions, const char *text,
                      struct error *err)
{
    cleanup_free char *packed = NULL;
    if (pack_text(text, &packed, err) < 0)
        return -1;
    json_array_append_new(files, json_pack("{s:s, s:s, s:s, s:s}", "path", path, "permissions",
                                           permissions, "encoding", "gz+b64", "content", packed));
    return 0;
}

static json_t *write_files(const struct seed *seed, struct error *err)
{
    cleanup_free char *provision = provision_script(seed);
    cleanup_free char *agent = seed->vsock ? agent_script(seed) : NULL;
    cleanup_free char *volumes = seed->volumes ? volumes_script(seed) : NULL;
    cleanup_json json_t *files = json_array();
    if (add_packed(files, seed->provision_program, "0755", provision, err) < 0)
        return NULL;
    json_array_append_new(files, json_pack("{s:s, s:s, s:s}", "path",
                                           "/etc/ssh/sshd_config.d/00-podman-machine-vmnet.conf",
                                           "permissions", "0600", "content", sshd_config));
    if ((agent &&
         add_packed(files, seed->vsock->program, "0700", agent, err) < 0) || // a token may be in it
        (volumes && add_packed(files, seed->volumes->program, "0755", volumes, err) < 0) ||
        (seed->playbook && add_packed(files, seed->playbook_file, "0600", seed->playbook, err) < 0))
        return NULL;
    return json_incref(files);
}

int document_user_data(const struct seed *seed, char **text, struct error *err)
{
    json_t *files = write_files(seed, err);
    if (!files)
        return -1;
    cleanup_free char *command = boot_command(seed);
    // OpenSSH refuses a private key without the newline at its end.
    size_t length = strlen(seed->host_key);
    const char *newline = length > 0 && seed->host_key[length - 1] == '\n' ? "" : "\n";
    json_t *keys = json_pack("{s:s+, s:s}", "ed25519_private", seed->host_key, newline,
                             "ed25519_public", seed->host_key_public);
    json_t *root =
        json_pack("{s:s, s:[s]}", "name", "root", "ssh_authorized_keys", seed->public_key);
    json_t *user =
        json_pack("{s:s, s:I, s:s, s:s, s:b, s:[s]}", "name", seed->user, "uid",
                  (json_int_t)seed->uid, "shell", "/bin/bash", "sudo", "ALL=(ALL) NOPASSWD:ALL",
                  "lock_passwd", true, "ssh_authorized_keys", seed->public_key);
    return dump(json_pack("{s:b, s:b, s:o, s:b, s:{s:b}, s:[o, o], s:o, s:[s]}", "disable_root",
                          false, "ssh_deletekeys", true, "ssh_keys", keys, "no_ssh_fingerprints",
                          true, "ssh", "emit_keys_to_console", false, "users", root, user,
                          "write_files", files, "bootcmd", command),
                "#cloud-config\n", text, err);
}

int document_meta_data(const struct seed *seed, char **text, struct error *err)
{
    cleanup_free char *hostname = seed_hostname(seed->hostname);
    return dump(
        json_pack("{s:s, s:s}", "instance-id", seed->instance_id, "local-hostname", hostname), "",
        text, err);
}

// No `set-name`: with it, cloud-init gives the whole configuration up when there is no interface
// of that address. No `use-dns: false` either: the servers of --dns come first, and those that
// DHCP tells of stay as the fallback where a firm's network lets no other through.
int document_network_config(const struct seed *seed, char **text, struct error *err)
{
    cleanup_free char *mac = xstrdup(seed->mac);
    for (char *c = mac; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    json_t *ethernet = json_pack("{s:{s:s}, s:b, s:s}", "match", "macaddress", mac, "dhcp4", true,
                                 "dhcp-identifier", "mac");
    if (seed->dns && seed->dns[0]) {
        json_t *servers = json_array();
        for (size_t i = 0; seed->dns[i]; i++)
            json_array_append_new(servers, json_string(seed->dns[i]));
        json_object_set_new(ethernet, "nameservers", json_pack("{s:o}", "addresses", servers));
    }
    return dump(json_pack("{s:i, s:{s:o}}", "version", 2, "ethernets", "eth0", ethernet), "", text,
                err);
}
