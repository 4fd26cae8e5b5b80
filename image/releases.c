// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/releases.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "image/catalog.h"
#include "image/digest.h"
#include "image/http.h"

static const char list_url[] = "https://fedoraproject.org/releases.json";
static const size_t list_limit = 16 << 20;

// 0: not a whole number of at most four digits.
static unsigned read_version(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > 4 || strspn(text, "0123456789") != length)
        return 0;
    return (unsigned)strtoul(text, NULL, 10);
}

static uint64_t read_size(const char *text)
{
    uint64_t size;
    int end = 0;
    if (!isdigit((unsigned char)*text) || sscanf(text, "%" SCNu64 "%n", &size, &end) != 1)
        return 0;
    return text[end] ? 0 : size;
}

static bool is_generic_image(const char *link)
{
    static const char prefix[] = "Fedora-Cloud-Base-Generic", suffix[] = ".qcow2";
    const char *name = strrchr(link, '/');
    size_t length = strlen(link);
    bool fetched = strncmp(link, "https://", 8) == 0 || strncmp(link, "http://", 7) == 0;
    return fetched && name && strncmp(name + 1, prefix, strlen(prefix)) == 0 &&
           length > strlen(suffix) && strcmp(link + length - strlen(suffix), suffix) == 0;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

int releases_choose(struct image_ref *ref, const char *text, size_t length, const char *arch,
                    const char *name, struct error *err)
{
    json_error_t where;
    cleanup_json json_t *list = json_loadb(text, length, 0, &where);
    if (!json_is_array(list))
        return error_set(err, EBADMSG, "'%s' is not a list of releases: %s", name,
                         list ? "it is not a JSON array" : where.text);
    const json_t *best = NULL;
    unsigned newest = 0;
    char best_digest[DIGEST_HEX] = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        char digest[DIGEST_HEX];
        unsigned version = read_version(text_of(row, "version"));
        if (version <= newest || strcmp(text_of(row, "arch"), arch) != 0 ||
            strcmp(text_of(row, "variant"), "Cloud") != 0 ||
            !is_generic_image(text_of(row, "link")) ||
            !digest_parse(digest, text_of(row, "sha256")))
            continue;
        newest = version;
        best = row;
        memcpy(best_digest, digest, sizeof(digest));
    }
    if (!best)
        return error_set(err, ENOENT,
                         "no Fedora cloud image for %s in '%s': use a known name, such as '%s'",
                         arch, name, catalog_default);
    ref->source = xstrdup(text_of(best, "link"));
    ref->sha256 = xstrdup(best_digest);
    ref->label = xasprintf("fedora-%u", newest);
    ref->size = read_size(text_of(best, "size"));
    return 0;
}

int releases_latest(struct image_ref *ref, const char *arch, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    const char *url = getenv("PODMAN_MACHINE_VMNET_RELEASES");
    if (!url || !*url)
        url = list_url;
    if (http_get(&text, url, list_limit, err) < 0)
        return error_append(err, " (a known name, such as '%s', needs no list of releases)",
                            catalog_default);
    return releases_choose(ref, text.text, text.length, arch, url, err);
}
