// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cloudinit/seed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostname.h"
#include "cloudinit/documents.h"
#include "cloudinit/iso.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int unusable(const char *field, const char *value, struct error *err)
{
    return error_set(err, EINVAL, "cannot use '%s' as the guest's %s", value ? value : "", field);
}

static int check(bool good, const char *field, const char *value, struct error *err)
{
    return good ? 0 : unusable(field, value, err);
}

// Not empty, and of these characters only. What passes needs no quoting in any shell, path or unit.
static bool made_of(const char *text, const char *characters)
{
    return text && *text && text[strspn(text, characters)] == '\0';
}

static bool is_path(const char *text)
{
    return made_of(text, LOWER UPPER DIGITS "/._-") && *text == '/' && strrchr(text, '/')[1];
}

// A file below /usr/share/zoneinfo.
static bool is_timezone(const char *text)
{
    return made_of(text, LOWER UPPER DIGITS "/_+-") && *text != '/';
}

// What useradd takes.
static bool is_user(const char *text)
{
    return made_of(text, LOWER DIGITS "_-") && strchr(LOWER "_", *text) && strlen(text) <= 32 &&
           strcmp(text, "root") != 0;
}

// One line of an OpenSSH public key: "TYPE BASE64 [COMMENT]". Control characters would end the
// line, and YAML knows some more that may not occur.
static bool is_public_key(const char *text, const char *type)
{
    if (!text || strncmp(text, type, strlen(type)) != 0 || !strchr(text, ' '))
        return false;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
            return false;
    return true;
}

static bool is_private_key(const char *text)
{
    static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
    return text && strncmp(text, begin, strlen(begin)) == 0 &&
           made_of(text, LOWER UPPER DIGITS "+/= \n-") &&
           strstr(text, "\n-----END OPENSSH PRIVATE KEY-----");
}

static bool is_mac(const char *text)
{
    if (!text || strlen(text) != strlen("52:54:00:12:34:56"))
        return false;
    for (size_t i = 0; text[i]; i++)
        if (!strchr(i % 3 == 2 ? ":" : DIGITS "abcdefABCDEF", text[i]))
            return false;
    return true;
}

static bool is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

int seed_check(const struct seed *seed, struct error *err)
{
    for (const char *const *server = seed->dns; server && *server; server++)
        if (!is_address(*server))
            return unusable("DNS server", *server, err);
    if (seed->timezone && *seed->timezone && !is_timezone(seed->timezone))
        return unusable("time zone", seed->timezone, err);
    if (!is_private_key(seed->host_key)) // never shown
        return error_set(err, EINVAL, "the guest's private host key is not an OpenSSH key");
    if (seed->uid == 0)
        return error_set(err, EINVAL, "the guest's user '%s' cannot have the id 0, root's own",
                         seed->user ? seed->user : "");
    static const char name_characters[] = LOWER UPPER DIGITS "._-";
    if (check(is_user(seed->user), "user", seed->user, err) < 0 ||
        check(is_mac(seed->mac), "MAC address", seed->mac, err) < 0 ||
        check(is_public_key(seed->public_key, ""), "SSH key", seed->public_key, err) < 0 ||
        check(is_public_key(seed->host_key_public, "ssh-ed25519 "), "SSH host key",
              seed->host_key_public, err) < 0 ||
        check(seed->hostname && *seed->hostname, "host name", seed->hostname, err) < 0 ||
        check(made_of(seed->instance_id, name_characters), "instance id", seed->instance_id, err) <
            0 ||
        check(made_of(seed->provider_name, name_characters), "provider", seed->provider_name, err) <
            0 ||
        check(seed->provision_unit && *seed->provision_unit, "provisioning unit",
              seed->provision_unit, err) < 0 ||
        check(is_path(seed->state_file), "state file", seed->state_file, err) < 0)
        return -1;
    const struct seed_vsock *vsock = seed->vsock;
    if (vsock &&
        (check(is_path(vsock->program), "vsock program", vsock->program, err) < 0 ||
         check(is_path(vsock->api_root_socket), "API socket", vsock->api_root_socket, err) < 0 ||
         check(is_path(vsock->api_user_socket), "API socket", vsock->api_user_socket, err) < 0))
        return -1;
    if (vsock && vsock->token && !made_of(vsock->token, LOWER UPPER DIGITS)) // never shown
        return error_set(err, EINVAL, "the token of the vsock ports is not of letters and digits");
    const struct seed_volumes *volumes = seed->volumes;
    if (volumes &&
        (check(is_path(volumes->program), "volumes program", volumes->program, err) < 0 ||
         check(made_of(volumes->unit, name_characters), "volumes unit", volumes->unit, err) < 0 ||
         check(is_path(volumes->state_file), "volumes file", volumes->state_file, err) < 0))
        return -1;
    if (seed->playbook &&
        check(is_path(seed->playbook_file), "playbook file", seed->playbook_file, err) < 0)
        return -1;
    return check(is_path(seed->provision_program), "provisioning program", seed->provision_program,
                 err);
}

int seed_write(const struct seed *seed, const char *iso_path, struct error *err)
{
    if (seed_check(seed, err) < 0)
        return -1;
    cleanup_free char *user_data = NULL, *meta_data = NULL, *network_config = NULL;
    if (document_user_data(seed, &user_data, err) < 0 ||
        document_meta_data(seed, &meta_data, err) < 0 ||
        document_network_config(seed, &network_config, err) < 0)
        return -1;
    const struct iso_file files[] = {
        {"user-data", user_data},
        {"meta-data", meta_data},
        {"network-config", network_config},
    };
    return iso_write(iso_path, "cidata", files, ARRAY_SIZE(files), err);
}

char *seed_hostname(const char *machine_name)
{
    return hostname_of(machine_name);
}
