// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/lease.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"

static const size_t largest_file = 4 << 20;
static const unsigned type_ethernet = 1, type_duid = 0xff;

enum { MAC_LENGTH = 6, ID_LENGTH = 64 };

struct hardware {
    unsigned type;
    size_t length;
    unsigned char bytes[ID_LENGTH];
};

// How well an entry fits; the better one comes before the newer one.
enum fit { FIT_NONE, FIT_NAME, FIT_MAC };

struct entry {
    char name[256], address[INET_ADDRSTRLEN];
    struct hardware hardware;
    int64_t ends; // seconds since 1970; 0: not said, which is taken for "runs"
    enum fit fit;
};

// Colon-separated hexadecimal bytes of one or two digits, as many as `bytes` has room for.
static size_t parse_bytes(const char *text, unsigned char *bytes, size_t room)
{
    size_t count = 0;
    while (count < room) {
        char *end;
        unsigned long value = strtoul(text, &end, 16);
        if (end == text || end - text > 2 || value > 0xff)
            return 0;
        bytes[count++] = (unsigned char)value;
        if (*end != ':')
            return *end == '\0' ? count : 0;
        text = end + 1;
    }
    return 0;
}

// "1,52:54:0:ab:c:d"
static void parse_hardware(struct hardware *hardware, const char *text)
{
    char *end;
    unsigned long type = strtoul(text, &end, 16);
    if (*end != ',' || type > type_duid)
        return;
    hardware->type = (unsigned)type;
    hardware->length = parse_bytes(end + 1, hardware->bytes, ID_LENGTH);
}

static void copy_text(char *to, size_t size, const char *from)
{
    if (strlen(from) < size)
        memcpy(to, from, strlen(from) + 1);
}

static void set_field(struct entry *entry, const char *key, const char *value)
{
    struct in_addr parsed;
    if (strcmp(key, "name") == 0)
        copy_text(entry->name, sizeof(entry->name), value);
    else if (strcmp(key, "ip_address") == 0 && inet_pton(AF_INET, value, &parsed) == 1)
        copy_text(entry->address, sizeof(entry->address), value);
    else if (strcmp(key, "hw_address") == 0)
        parse_hardware(&entry->hardware, value);
    else if (strcmp(key, "lease") == 0)
        entry->ends = strtoll(value, NULL, 16);
}

// A DUID that is made of a link-layer address ends in it: RFC 4361 puts four bytes before the
// DUID, RFC 8415 says which types (1 and 3) those are.
static bool duid_has_mac(const struct hardware *id, const unsigned char *mac)
{
    if (id->length < 4 + 4 + MAC_LENGTH || id->bytes[4] != 0)
        return false;
    unsigned char kind = id->bytes[5];
    size_t start = kind == 1 ? 4 + 8 : 4 + 4;
    return (kind == 1 || kind == 3) && id->length == start + MAC_LENGTH &&
           memcmp(id->bytes + start, mac, MAC_LENGTH) == 0;
}

// bootpd has the name that the guest sent: whole, or without a domain.
static bool same_host(const char *sent, const char *name)
{
    size_t label = strcspn(name, ".");
    return *sent && (strcasecmp(sent, name) == 0 ||
                     (strlen(sent) == label && strncasecmp(sent, name, label) == 0));
}

static enum fit fit_of(const struct entry *entry, const unsigned char *mac, const char *name)
{
    const struct hardware *hardware = &entry->hardware;
    if (hardware->type == type_ethernet)
        return hardware->length == MAC_LENGTH && memcmp(hardware->bytes, mac, MAC_LENGTH) == 0
                   ? FIT_MAC
                   : FIT_NONE;
    if (hardware->type != type_duid)
        return FIT_NONE;
    if (duid_has_mac(hardware, mac))
        return FIT_MAC;
    return same_host(entry->name, name) ? FIT_NAME : FIT_NONE;
}

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

// The best so far, best first, no address twice.
struct found {
    struct entry entries[LEASE_MOST + 1];
    size_t count;
};

static bool better(const struct entry *entry, const struct entry *other)
{
    return entry->fit != other->fit ? entry->fit > other->fit : entry->ends > other->ends;
}

static void found_add(struct found *found, const struct entry *entry)
{
    size_t at = 0;
    while (at < found->count && strcmp(found->entries[at].address, entry->address) != 0)
        at++;
    if (at == found->count) {
        found->entries[found->count++] = *entry;
    } else {
        if (!better(entry, &found->entries[at]))
            return;
        found->entries[at] = *entry;
    }
    for (; at > 0 && better(entry, &found->entries[at - 1]); at--) {
        found->entries[at] = found->entries[at - 1];
        found->entries[at - 1] = *entry;
    }
    if (found->count > LEASE_MOST)
        found->count = LEASE_MOST;
}

void lease_search(struct strvec *addresses, const char *text, size_t length, const char *mac,
                  const char *name, int64_t now)
{
    unsigned char wanted[MAC_LENGTH + 1];
    if (parse_bytes(mac, wanted, sizeof(wanted)) != MAC_LENGTH)
        return;

    cleanup_free char *copy = xstrndup(text, length);
    struct entry entry = {0};
    struct found found = {.count = 0};
    char *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line = trim(line);
        char *equals = strchr(line, '=');
        if (strcmp(line, "{") == 0) {
            entry = (struct entry){0};
        } else if (strcmp(line, "}") == 0) {
            entry.fit = fit_of(&entry, wanted, name);
            bool runs = entry.ends == 0 || entry.ends > now;
            if (entry.address[0] && runs && entry.fit != FIT_NONE)
                found_add(&found, &entry);
            entry = (struct entry){0};
        } else if (equals) {
            *equals = '\0';
            set_field(&entry, line, equals + 1);
        }
    }
    for (size_t i = 0; i < found.count; i++)
        strvec_push(addresses, found.entries[i].address);
}

int lease_find(struct strvec *addresses, const char *file, const char *mac, const char *name,
               int64_t now, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (file_read(&text, file, largest_file, err) < 0)
        return -1;
    size_t before = addresses->count;
    lease_search(addresses, text.text, text.length, mac, name, now);
    if (addresses->count == before)
        return error_set(err, ENOENT, "no lease for %s in '%s' yet", mac, file);
    return 0;
}
