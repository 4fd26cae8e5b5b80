// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/hostname.h"

#include <string.h>

#include "base/strbuf.h"

static const size_t longest = 63;
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

char *hostname_of(const char *name)
{
    struct strbuf host = STRBUF_INIT;
    for (; *name && host.length < longest; name++) {
        char kept = strchr(letters, *name) ? *name : '-';
        if (kept != '-' || host.length > 0)
            strbuf_addc(&host, kept);
    }
    while (host.length > 0 && host.text[host.length - 1] == '-')
        strbuf_truncate(&host, host.length - 1);
    if (host.length == 0)
        strbuf_adds(&host, "podman-machine");
    return strbuf_steal(&host);
}
