// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/process.h"

static const int64_t patience_ms = 10000;

struct version version_parse(const char *text)
{
    for (const char *at = text; *at; at++) {
        struct version found = {0};
        bool begins = isdigit((unsigned char)*at) &&
                      (at == text || !(isdigit((unsigned char)at[-1]) || at[-1] == '.'));
        if (begins && sscanf(at, "%4u.%4u.%4u", &found.major, &found.minor, &found.patch) >= 2)
            return found;
    }
    return (struct version){0};
}

struct version version_of(const char *program)
{
    struct error ignored;
    CLEANUP(strvec_release) struct strvec argv = STRVEC_INIT;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT, words = STRBUF_INIT;
    int status;
    strvec_push(&argv, program);
    strvec_push(&argv, "--version");
    if (process_call(&argv, patience_ms, &out, &words, &status, &ignored) < 0 || status != 0)
        return (struct version){0};
    return version_parse(out.text);
}

bool version_known(const struct version *version)
{
    return version->major || version->minor || version->patch;
}

bool version_at_least(const struct version *version, unsigned major, unsigned minor, unsigned patch)
{
    if (version->major != major)
        return version->major > major;
    if (version->minor != minor)
        return version->minor > minor;
    return version->patch >= patch;
}

char *version_text(const struct version *version)
{
    return version_known(version)
               ? xasprintf("%u.%u.%u", version->major, version->minor, version->patch)
               : xstrdup("unknown");
}
