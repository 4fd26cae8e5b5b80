// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/known_hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strvec.h"

static const size_t largest_file = 16 << 20;
static const char blanks[] = " \t\r\n";

// What a change wants: lines with `tag` go, `names` go from all lines, `line` comes in.
struct change {
    char *tag;
    struct strvec names;
    char *line; // NULL: only removing
};

static void change_release(struct change *change)
{
    free(change->tag);
    free(change->line);
    strvec_release(&change->names);
}

// Fields of one line, all within it: "[@marker] HOSTS TYPE KEY [COMMENT]".
struct fields {
    bool marker;
    const char *hosts, *comment;
    size_t hosts_length, comment_length;
};

static const char *next_field(const char *at, const char *end, size_t *length)
{
    while (at < end && strchr(blanks, *at))
        at++;
    const char *start = at;
    while (at < end && !strchr(blanks, *at))
        at++;
    *length = (size_t)(at - start);
    return start;
}

static void parse_line(const char *line, const char *end, struct fields *fields)
{
    size_t length;
    fields->hosts = next_field(line, end, &fields->hosts_length);
    fields->marker = fields->hosts < end && *fields->hosts == '@';
    if (fields->marker)
        fields->hosts =
            next_field(fields->hosts + fields->hosts_length, end, &fields->hosts_length);
    const char *type = next_field(fields->hosts + fields->hosts_length, end, &length);
    const char *key = next_field(type + length, end, &length);
    fields->comment = next_field(key + length, end, &length);
    while (end > fields->comment && strchr(blanks, end[-1]))
        end--;
    fields->comment_length = (size_t)(end - fields->comment);
}

// "|1|SALT|HASH": base64, the hash is HMAC-SHA1 of the name with the salt as the key.
static bool hash_matches(const char *hashed, size_t length, const char *name)
{
    const char *end = hashed + length;
    const char *salt = hashed + 3;
    if (length < 3 || strncmp(hashed, "|1|", 3) != 0)
        return false;
    const char *bar = memchr(salt, '|', (size_t)(end - salt));
    unsigned char key[96], digest[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE];
    unsigned digest_length = 0;
    if (!bar || bar - salt > 128)
        return false;
    int key_length = EVP_DecodeBlock(key, (const unsigned char *)salt, (int)(bar - salt));
    for (const char *at = bar; key_length > 0 && at > salt && at[-1] == '='; at--)
        key_length--; // padding, which it counts as bytes
    if (key_length <= 0 || !HMAC(EVP_sha1(), key, key_length, (const unsigned char *)name,
                                 strlen(name), digest, &digest_length))
        return false;
    EVP_EncodeBlock((unsigned char *)text, digest, (int)digest_length);
    return strlen(text) == (size_t)(end - bar - 1) && strncmp(text, bar + 1, strlen(text)) == 0;
}

static bool is_named(const char *name, size_t length, const struct strvec *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strlen(names->items[i]) == length && strncasecmp(names->items[i], name, length) == 0)
            return true;
        if (length > 0 && name[0] == '|' && hash_matches(name, length, names->items[i]))
            return true;
    }
    return false;
}

// Appends the line without our names; nothing when no host is left in it.
static void keep_line(struct strbuf *out, const char *line, const char *end,
                      const struct fields *fields, const struct strvec *names)
{
    CLEANUP(strbuf_release) struct strbuf hosts = STRBUF_INIT;
    const char *after = fields->hosts + fields->hosts_length;
    bool changed = false;
    for (const char *at = fields->hosts; at < after;) {
        const char *comma = memchr(at, ',', (size_t)(after - at));
        size_t length = (size_t)((comma ? comma : after) - at);
        if (is_named(at, length, names)) {
            changed = true;
        } else {
            if (hosts.length)
                strbuf_addc(&hosts, ',');
            strbuf_add(&hosts, at, length);
        }
        at += length + 1;
    }
    if (!changed) {
        strbuf_add(out, line, (size_t)(end - line));
    } else if (hosts.length) {
        strbuf_add(out, hosts.text, hosts.length);
        strbuf_add(out, after, (size_t)(end - after));
    }
}

static void rewrite(struct strbuf *out, const struct strbuf *old, const struct change *change)
{
    const char *stop = old->text + old->length;
    bool placed = change->line == NULL;
    for (const char *line = old->text, *end; line < stop; line = end) {
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        end = newline ? newline + 1 : stop;
        struct fields fields;
        parse_line(line, end, &fields);
        bool theirs = fields.hosts_length == 0 || *fields.hosts == '#' || fields.marker;
        if (!theirs && fields.comment_length == strlen(change->tag) &&
            memcmp(fields.comment, change->tag, fields.comment_length) == 0) {
            if (placed || strlen(change->line) != (size_t)(end - line) ||
                memcmp(line, change->line, (size_t)(end - line)) != 0)
                continue;
            placed = true;
            strbuf_add(out, line, (size_t)(end - line));
            continue;
        }
        bool pattern = memchr(fields.hosts, '*', fields.hosts_length) ||
                       memchr(fields.hosts, '?', fields.hosts_length);
        if (!placed && !theirs && pattern) {
            strbuf_adds(out, change->line);
            placed = true;
        }
        if (theirs)
            strbuf_add(out, line, (size_t)(end - line));
        else
            keep_line(out, line, end, &fields, &change->names);
    }
    if (placed)
        return;
    if (out->length && out->text[out->length - 1] != '\n')
        strbuf_addc(out, '\n');
    strbuf_adds(out, change->line);
}

// Our processes meet on the folder itself, which no rename replaces and no lock file litters.
static int lock_folder(int *fd, const char *folder, struct error *err)
{
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return error_errno(err, "cannot open folder '%s'", folder);
    if (flock(*fd, LOCK_EX) == 0)
        return 0;
    if (errno == EINTR)
        return error_errno(err, "cannot lock folder '%s'", folder);
    log_debug("folder '%s' cannot be locked: %s", folder, strerror(errno)); // some network mounts
    return 0;
}

static int edit(const char *file, const struct change *change, struct error *err)
{
    char resolved[PATH_MAX];
    bool exists = realpath(file, resolved) != NULL;
    if (!exists && !change->line)
        return 0;
    cleanup_free char *copy = xstrdup(exists ? resolved : file);
    const char *folder = dirname(copy);
    if (file_make_dirs(folder, 0700, err) < 0)
        return -1;
    cleanup_close int lock = -1;
    if (lock_folder(&lock, folder, err) < 0)
        return -1;

    struct stat st = {.st_mode = 0600};
    CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
    if (stat(file, &st) < 0 && errno != ENOENT)
        return error_errno(err, "cannot look at '%s'", file);
    if (file_read(&old, file, largest_file, err) < 0 && err->code != ENOENT)
        return -1;
    rewrite(&new, &old, change);
    if (new.length == old.length && memcmp(new.text, old.text, new.length) == 0)
        return 0;
    return file_write_atomic(file, new.text, new.length, st.st_mode & 07777, err);
}

// The spellings of one host and port; the first two, where there are two, are to be written: of
// an IPv6 address on port 22, OpenSSH looks up the bare one and Go the one in brackets.
static void add_names(struct strvec *names, const char *host, unsigned port)
{
    cleanup_free char *lower = xstrdup(host);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (port == 22) {
        strvec_push(names, lower);
        strvec_pushf(names, "[%s]", lower);
    }
    strvec_pushf(names, "[%s]:%u", lower, port);
}

int known_hosts_set(const char *file, const char *machine, const char *host, unsigned port,
                    const char *key, struct error *err)
{
    size_t type_length, blob_length;
    const char *type = next_field(key, key + strlen(key), &type_length);
    const char *blob = next_field(type + type_length, key + strlen(key), &blob_length);
    if (blob_length == 0)
        return error_set(err, EINVAL, "'%s' is not a public key", key);

    CLEANUP(change_release) struct change change = {.names = STRVEC_INIT};
    change.tag = xasprintf("podman-machine-vmnet:%s", machine);
    add_names(&change.names, host, port);
    const char *const *names = (const char *const *)change.names.items;
    bool both = port == 22 && strchr(host, ':');
    change.line =
        xasprintf("%s%s%s %.*s %.*s %s\n", names[0], both ? "," : "", both ? names[1] : "",
                  (int)type_length, type, (int)blob_length, blob, change.tag);
    return edit(file, &change, err);
}

int known_hosts_remove(const char *file, const char *machine, struct error *err)
{
    CLEANUP(change_release) struct change change = {.names = STRVEC_INIT};
    change.tag = xasprintf("podman-machine-vmnet:%s", machine);
    return edit(file, &change, err);
}
