// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// image_resolve(): image/image.h is its contract.

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/catalog.h"
#include "image/digest.h"
#include "image/image.h"
#include "image/releases.h"

// "docker" for "docker://…"; 0: not a URL.
static size_t scheme_length(const char *image)
{
    size_t length = 0;
    while (isalnum((unsigned char)image[length]) || (length && memchr("+-.", image[length], 3)))
        length++;
    return length && strncmp(image + length, "://", 3) == 0 ? length : 0;
}

static bool has_scheme(const char *image, size_t length, const char *scheme)
{
    return length == strlen(scheme) && strncasecmp(image, scheme, length) == 0;
}

// The last part of a path or URL, without its query.
static char *last_part(const char *source)
{
    size_t end = strcspn(source, "?#"), start;
    if (source[0] == '/')
        end = strlen(source);
    while (end > 1 && source[end - 1] == '/')
        end--;
    for (start = end; start > 0 && source[start - 1] != '/';)
        start--;
    return xstrndup(source + start, end - start);
}

static int resolve_file(struct image_ref *ref, const char *path, struct error *err)
{
    cleanup_free char *absolute = realpath(path, NULL);
    if (!absolute)
        return error_errno(err, "cannot open image '%s'", path);
    ref->label = last_part(path);
    ref->source = steal_string(&absolute);
    return 0;
}

static int hex_value(char digit)
{
    if (isdigit((unsigned char)digit))
        return digit - '0';
    return isxdigit((unsigned char)digit) ? tolower((unsigned char)digit) - 'a' + 10 : -1;
}

// "file:///a%20b": the path, with %XX undone.
static int resolve_file_url(struct image_ref *ref, const char *url, struct error *err)
{
    static const char local[] = "localhost/";
    const char *path = strstr(url, "://") + 3;
    if (strncasecmp(path, local, sizeof(local) - 1) == 0)
        path += sizeof(local) - 2;
    if (path[0] != '/')
        return error_set(err, EINVAL, "image '%s' is on another host: only file:///PATH is read",
                         url);
    cleanup_free char *decoded = xmalloc(strlen(path) + 1);
    char *to = decoded;
    for (; *path; path++) {
        int high = *path == '%' ? hex_value(path[1]) : -1;
        int low = high >= 0 ? hex_value(path[2]) : -1;
        *to++ = low >= 0 ? (char)(high * 16 + low) : *path;
        path += low >= 0 ? 2 : 0;
    }
    *to = '\0';
    return resolve_file(ref, decoded, err);
}

static int resolve_latest(struct image_ref *ref, const char *arch, struct error *err)
{
    CLEANUP(image_ref_release) struct image_ref latest = {.source = NULL};
    if (releases_latest(&latest, arch, err) < 0)
        return -1;
    if (ref->sha256 && strcmp(latest.sha256, ref->sha256) != 0)
        return error_set(err, EINVAL, "the digest of image '%s' (%s) is %s, not the given %s",
                         catalog_latest, latest.label, latest.sha256, ref->sha256);
    free(ref->sha256);
    *ref = latest;
    latest = (struct image_ref){.source = NULL};
    return 0;
}

static int resolve_name(struct image_ref *ref, const char *name, const char *arch,
                        struct error *err)
{
    const struct catalog_entry *entry;
    if (strcmp(name, catalog_latest) == 0)
        return resolve_latest(ref, arch, err);
    if (catalog_find(&entry, name, arch, err) < 0)
        return -1;
    if (!entry->sha256 && !ref->sha256)
        return error_set(err, EINVAL,
                         "no digest is known for image '%s' on %s: give it with --image-sha256, "
                         "from the publisher's CHECKSUM file for '%s'",
                         name, arch, entry->url);
    if (entry->sha256 && ref->sha256 && strcmp(entry->sha256, ref->sha256) != 0)
        return error_set(err, EINVAL, "the digest of image '%s' is %s, not the given %s", name,
                         entry->sha256, ref->sha256);
    if (!ref->sha256)
        ref->sha256 = xstrdup(entry->sha256);
    ref->source = xstrdup(entry->url);
    ref->label = xstrdup(name);
    ref->size = entry->size;
    return 0;
}

static int resolve_url(struct image_ref *ref, const char *url, size_t scheme, struct error *err)
{
    if (has_scheme(url, scheme, "file"))
        return resolve_file_url(ref, url, err);
    if (has_scheme(url, scheme, "docker") || has_scheme(url, scheme, "oci") ||
        has_scheme(url, scheme, "oci-archive"))
        return error_set(err, EINVAL,
                         "image '%s' is a container registry reference: these machines start from "
                         "a cloud image, such as '%s', a URL or a file",
                         url, catalog_default);
    if (!has_scheme(url, scheme, "http") && !has_scheme(url, scheme, "https"))
        return error_set(err, EINVAL, "image '%s': only http, https and file URLs are fetched",
                         url);
    if (!ref->sha256)
        return error_set(err, EINVAL,
                         "no digest is known for image '%s': give it with --image-sha256, or "
                         "download the file and give its path",
                         url);
    ref->source = xstrdup(url);
    ref->label = last_part(url);
    return 0;
}

int image_resolve(struct image_ref *ref, const char *image, const char *sha256, const char *arch,
                  struct error *err)
{
    CLEANUP(image_ref_release) struct image_ref found = {.source = NULL};
    if (!image || !*image)
        image = catalog_default;
    if (sha256 && *sha256) {
        char hex[DIGEST_HEX];
        if (!digest_parse(hex, sha256))
            return error_set(err, EINVAL, "'%s' is not a SHA-256 digest: it has 64 hex digits",
                             sha256);
        found.sha256 = xstrdup(hex);
    }

    size_t scheme = scheme_length(image);
    int result;
    if (scheme)
        result = resolve_url(&found, image, scheme, err);
    else if (strchr(image, '/'))
        result = resolve_file(&found, image, err);
    else if ((result = resolve_name(&found, image, arch, err)) < 0 && err->code == ENOENT &&
             file_exists(image))
        result = resolve_file(&found, image, err);
    if (result < 0)
        return -1;
    *ref = found;
    found = (struct image_ref){.source = NULL};
    return 0;
}

void image_ref_release(struct image_ref *ref)
{
    free(ref->source);
    free(ref->sha256);
    free(ref->label);
    *ref = (struct image_ref){.source = NULL};
}
