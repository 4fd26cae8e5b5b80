// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "image/catalog.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"

const char *const catalog_default = "fedora-44";
const char *const catalog_latest = "fedora-latest";

// download.fedoraproject.org answers with a redirect to a mirror near the caller, which may be
// plain http: the digest pinned here is what makes that safe.
#define FEDORA(release, build, arch)                                                       \
    "https://download.fedoraproject.org/pub/fedora/linux/releases/" release "/Cloud/" arch \
    "/images/Fedora-Cloud-Base-Generic-" release "-" build "." arch ".qcow2"

// The rows of one name stand together.
static const struct catalog_entry catalog[] = {
    {
        .name = "fedora-44",
        .arch = "aarch64",
        .url = FEDORA("44", "1.7", "aarch64"),
        .sha256 = "55c60a3b80d3616a08705afd0459e75fe9f03c54aba7a46e4002a41a72fa0d5b",
        .size = 528154624,
    },
    {
        .name = "fedora-44",
        .arch = "x86_64",
        .url = FEDORA("44", "1.7", "x86_64"),
        .sha256 = "28680fe5b371a5a82ebf43a31926e086a168e59949d03969c5093e7071f90b7f",
    },
    {
        .name = "fedora-43",
        .arch = "aarch64",
        .url = FEDORA("43", "1.6", "aarch64"),
        .sha256 = "66031aea9ec61e6d0d5bba12b9454e80ca94e8a79c913d37ded4c60311705b8b",
    },
    {
        .name = "fedora-43",
        .arch = "x86_64",
        .url = FEDORA("43", "1.6", "x86_64"),
    },
};

int catalog_find(const struct catalog_entry **entry, const char *name, const char *arch,
                 struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
    const char *last = "";
    bool known = false;
    for (size_t i = 0; i < ARRAY_SIZE(catalog); i++) {
        const struct catalog_entry *row = &catalog[i];
        bool same = strcmp(row->name, name) == 0;
        if (same && strcmp(row->arch, arch) == 0) {
            *entry = row;
            return 0;
        }
        known = known || same;
        if (strcmp(row->name, last) != 0)
            strbuf_addf(&names, "%s%s", names.length ? ", " : "", row->name);
        last = row->name;
    }
    if (known)
        return error_set(err, ENOENT, "image '%s' is not known for %s: give a URL or a file", name,
                         arch);
    return error_set(err, ENOENT,
                     "no image '%s': neither a file nor one of the known names (%s, %s)", name,
                     names.text, catalog_latest);
}
