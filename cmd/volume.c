// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/volume.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

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

static int check_target(const char *target, struct error *err)
{
    static const char *const taken[] = {"/bin", "/boot", "/dev", "/etc", "/home", "/proc", "/root",
                                        "/run", "/sbin", "/sys", "/tmp", "/usr",  "/var",  "/"};
    cleanup_free char *path = clean_path(target);
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
        if (strcmp(path, taken[i]) == 0)
            return error_set(
                err, EINVAL,
                "machine mount destination cannot be \"%s\": consider another location "
                "or a subdirectory of an existing location",
                path);
    return 0;
}

static void check_options(const char *text)
{
    CLEANUP(strvec_release) struct strvec options = STRVEC_INIT;
    strvec_split(&options, text, ',');
    for (size_t i = 0; i < options.count; i++) {
        const char *option = options.items[i];
        if (strcmp(option, "ro") != 0 && strcmp(option, "rw") != 0 &&
            strncmp(option, "security_model=", 15) != 0)
            printf("Unknown option: %s\n", option);
    }
}

int volumes_check(const struct strvec *words, struct error *err)
{
    for (size_t i = 0; i < words->count; i++) {
        cleanup_free char *word = expand(words->items[i]);
        if (!*word)
            continue;
        char *target = strchr(word, ':'), *options = NULL;
        if (target) {
            *target++ = '\0';
            options = strchr(target, ':');
            if (options)
                *options++ = '\0';
        }
        if (check_target(target ? target : word, err) < 0)
            return -1;
        if (options)
            check_options(options);
    }
    return 0;
}
