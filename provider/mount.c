// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/mount.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/strbuf.h"

static const size_t tag_length = 36;

static void mount_release(struct mount *mount)
{
    free(mount->source);
    free(mount->target);
    free(mount->tag);
    free(mount->security_model);
    *mount = (struct mount){0};
}

void mounts_release(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        mount_release(&mounts->items[i]);
    free(mounts->items);
    *mounts = (struct mounts)MOUNTS_INIT;
}

char *mount_tag(const char *target)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    CLEANUP(strbuf_release) struct strbuf tag = STRBUF_INIT;
    EVP_Digest(target, strlen(target), digest, NULL, EVP_sha256(), NULL);
    for (size_t i = 0; i < tag_length / 2; i++)
        strbuf_addf(&tag, "%02x", digest[i]);
    return strbuf_steal(&tag);
}

const struct mount *mounts_find(const struct mounts *mounts, const char *tag)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].tag, tag) == 0)
            return &mounts->items[i];
    return NULL;
}

int mounts_add(struct mounts *mounts, const struct mount *mount, struct error *err)
{
    cleanup_free char *tag = mount_tag(mount->target);
    if (mounts_find(mounts, tag))
        return error_set(err, EEXIST, "two volumes have the machine mount destination \"%s\"",
                         mount->target);
    mounts->items = xrealloc(mounts->items, (mounts->count + 1) * sizeof(*mounts->items));
    mounts->items[mounts->count++] = (struct mount){
        .source = xstrdup(mount->source),
        .target = xstrdup(mount->target),
        .tag = steal_string(&tag),
        .security_model = xstrdup(mount->security_model ? mount->security_model : "none"),
        .read_only = mount->read_only,
        .by_default = mount->by_default,
    };
    return 0;
}

json_t *mounts_to_json(const struct mounts *mounts)
{
    json_t *array = json_array();
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i];
        json_t *object = json_pack("{s:s, s:s, s:s, s:b, s:b}", "source", mount->source, "target",
                                   mount->target, "security_model", mount->security_model,
                                   "read_only", mount->read_only, "by_default", mount->by_default);
        if (!object) {
            json_decref(array);
            return NULL;
        }
        json_array_append_new(array, object);
    }
    return array;
}

int mounts_from_json(struct mounts *mounts, const json_t *array, struct error *err)
{
    const json_t *object;
    size_t i;
    json_array_foreach(array, i, object)
    {
        CLEANUP(mount_release) struct mount mount = {0};
        if (json_get_string(object, "source", &mount.source, err) < 0 ||
            json_get_string(object, "target", &mount.target, err) < 0 ||
            json_get_string(object, "security_model", &mount.security_model, err) < 0 ||
            json_get_bool(object, "read_only", &mount.read_only, err) < 0 ||
            json_get_bool(object, "by_default", &mount.by_default, err) < 0)
            return -1;
        if (!mount.source || !mount.target)
            return error_set(err, EBADMSG, "a mount has no source or no target");
        if (mounts_add(mounts, &mount, err) < 0)
            return -1;
    }
    return 0;
}
