// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/volume.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/strbuf.h"
#include "provider/guest.h"
#include "provider/paths.h"

// Go's os.ExpandEnv.
static char *expand(const char *text)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    while (*text) {
        bool braces = strncmp(text, "${", 2) == 0;
        const char *name = text + 1 + braces;
        size_t length = 0;
        while (*text == '$' && (isalnum((unsigned char)name[length]) || name[length] == '_'))
            length++;
        if (length == 0 || (braces && name[length] != '}')) {
            strbuf_addc(&out, *text++);
            continue;
        }
        cleanup_free char *variable = xstrndup(name, length);
        const char *value = getenv(variable);
        strbuf_adds(&out, value ? value : "");
        text = name + length + braces;
    }
    return strbuf_steal(&out);
}

// As path.Clean: no empty parts, no "." and "..". The result begins with a slash.
static char *clean_path(const char *path)
{
    CLEANUP(strvec_release) struct strvec parts = STRVEC_INIT, kept = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    strvec_split(&parts, path, '/');
    for (size_t i = 0; i < parts.count; i++) {
        const char *part = parts.items[i];
        if (strcmp(part, "..") == 0 && kept.count)
            free(kept.items[--kept.count]);
        else if (*part && strcmp(part, ".") != 0 && strcmp(part, "..") != 0)
            strvec_push(&kept, part);
    }
    for (size_t i = 0; i < kept.count; i++)
        strbuf_addf(&out, "/%s", kept.items[i]);
    return out.length ? strbuf_steal(&out) : xstrdup("/");
}

static void add_podmans(struct strvec *words)
{
    cleanup_free char *config = paths_containers_config();
    strvec_pushv(words, platform_volumes);
    strvec_pushf(words, "%s:" GUEST_CONTAINERS_CONFIG, config);
}

void volumes_default(struct strvec *words, const struct config *config)
{
    for (size_t i = 0; i < config->volumes.count; i++)
        strvec_push(words, config->volumes.items[i]);
    if (!config->volumes_given)
        add_podmans(words);
}

static bool are_podmans(const struct strvec *words)
{
    CLEANUP(strvec_release) struct strvec usual = STRVEC_INIT;
    add_podmans(&usual);
    bool same = words->count == usual.count;
    for (size_t i = 0; same && i < words->count; i++)
        same = strcmp(words->items[i], usual.items[i]) == 0;
    return same;
}

static int check_target(const char *target, const char *user, struct error *err)
{
    static const char *const taken[] = {"/bin", "/boot", "/dev", "/etc", "/home", "/proc", "/root",
                                        "/run", "/sbin", "/sys", "/tmp", "/usr",  "/var",  "/"};
    cleanup_free char *home = xasprintf("/home/%s", user);
    bool bad = strcmp(target, home) == 0;
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
        bad = bad || strcmp(target, taken[i]) == 0;
    if (!bad)
        return 0;
    return error_set(err, EINVAL,
                     "machine mount destination cannot be \"%s\": consider another location "
                     "or a subdirectory of an existing location",
                     target);
}

static void read_options(struct mount *mount, const char *text)
{
    static const char model[] = "security_model=";
    CLEANUP(strvec_release) struct strvec options = STRVEC_INIT;
    strvec_split(&options, text, ',');
    for (size_t i = 0; i < options.count; i++) {
        const char *option = options.items[i];
        if (strcmp(option, "ro") == 0 || strcmp(option, "rw") == 0) {
            mount->read_only = option[1] == 'o';
        } else if (strncmp(option, model, strlen(model)) == 0) {
            free(mount->security_model);
            mount->security_model = xstrdup(option + strlen(model));
        } else {
            printf("Unknown option: %s\n", option);
        }
    }
}

// qemu's own words (docs/system/qemu -fsdev, 7.2 to 11).
static int check_model(const char *model, struct error *err)
{
    static const char *const known[] = {"none", "passthrough", "mapped", "mapped-xattr",
                                        "mapped-file"};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(model, known[i]) == 0)
            return 0;
    return error_set(err, EINVAL,
                     "invalid security model \"%s\": there are none, passthrough, mapped, "
                     "mapped-xattr and mapped-file",
                     model);
}

static int check_text(const char *path, struct error *err)
{
    cleanup_json json_t *text = json_string(path);
    if (!text)
        return error_set(err, EINVAL, "it is not UTF-8");
    return strlen(path) < PATH_MAX ? 0 : error_set(err, EINVAL, "it is too long");
}

static char *absolute(const char *path)
{
    cleanup_free char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    cleanup_free char *whole = xasprintf("%s/%s", here ? here : "", path);
    return clean_path(whole);
}

static void mount_release(struct mount *mount)
{
    free(mount->source);
    free(mount->target);
    free(mount->security_model);
}

// Takes the word apart, in place.
static int read_word(struct mounts *mounts, char *source, bool by_default, const char *user,
                     struct error *err)
{
    CLEANUP(mount_release) struct mount mount = {.by_default = by_default};
    char *target = strchr(source, ':'), *options = NULL;
    if (target) {
        *target++ = '\0';
        options = strchr(target, ':');
        if (options)
            *options++ = '\0';
    }
    if (!*source)
        return error_set(err, EINVAL, "there is no source");
    mount.source = absolute(source);
    if (target && *target != '/')
        return error_set(err, EINVAL, "the destination must be an absolute path");
    mount.target = target ? clean_path(target) : xstrdup(mount.source);
    mount.security_model = xstrdup("none");
    if (options)
        read_options(&mount, options);
    if (check_text(mount.source, err) < 0 || check_text(mount.target, err) < 0 ||
        check_model(mount.security_model, err) < 0 || check_target(mount.target, user, err) < 0)
        return -1;
    return mounts_add(mounts, &mount, err);
}

int volumes_read(struct mounts *mounts, const struct strvec *words, const char *user,
                 struct error *err)
{
    bool by_default = are_podmans(words);
    for (size_t i = 0; i < words->count; i++) {
        cleanup_free char *word = expand(words->items[i]);
        cleanup_free char *whole = xstrdup(word);
        if (!*word || read_word(mounts, word, by_default, user, err) == 0)
            continue;
        if (!by_default && strncmp(err->message, "machine mount", 13) == 0)
            return -1;
        error_prefix(err, "volume \"%.200s\"", whole); // leaves room for the reason
        if (!by_default)
            return -1;
        log_warn("%s", err->message);
    }
    return 0;
}

int volumes_prepare(const struct mounts *mounts, struct error *err)
{
    cleanup_free char *folder = paths_containers_config();
    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].source, folder) == 0)
            return file_make_dirs(folder, 0700, err);
    return 0;
}
