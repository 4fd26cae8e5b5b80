// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/connection_conf.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "provider/version.h"

bool connection_conf_is_wanted(void)
{
    cleanup_free char *podman = process_find("podman", platform_program_dirs);
    const struct version version = podman ? version_of(podman) : (struct version){0};
    return version_known(&version) && !version_at_least(&version, 5, 0, 0);
}

static char *file_of(const char *folder, const char *machine)
{
    return xasprintf("%s/containers.conf.d/podman-machine-vmnet-%s.conf", folder, machine);
}

// A string of JSON is one of TOML.
static int add_quoted(struct strbuf *out, const char *text, struct error *err)
{
    cleanup_json json_t *string = json_string(text);
    if (!string)
        return error_set(err, EINVAL, "'%s' is not valid UTF-8", text);
    cleanup_free char *quoted = json_compact(string);
    strbuf_adds(out, quoted);
    return 0;
}

static int add_entry(struct strbuf *out, const char *name, const char *uri, const char *identity,
                     struct error *err)
{
    const struct {
        const char *before, *text, *after;
    } parts[] = {
        {"[engine.service_destinations.", name, "]\n"},
        {"uri = ", uri, "\n"},
        {"identity = ", identity, "\n\n"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        strbuf_adds(out, parts[i].before);
        if (add_quoted(out, parts[i].text, err) < 0)
            return -1;
        strbuf_adds(out, parts[i].after);
    }
    return 0;
}

int connection_conf_set(const char *folder, const struct connection *connection, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    cleanup_free char *file = file_of(folder, connection->machine);
    cleanup_free char *root_name = xasprintf("%s-root", connection->machine);
    cleanup_free char *uri = NULL, *root_uri = NULL;
    connection_uris(connection, &uri, &root_uri);
    strbuf_adds(&out, "# Of podman-machine-vmnet, for podman before version 5: made anew by each "
                      "start, gone with the machine.\n");
    if (add_entry(&out, connection->machine, uri, connection->identity, err) < 0 ||
        add_entry(&out, root_name, root_uri, connection->identity, err) < 0)
        return -1;
    cleanup_free char *inner = xstrndup(file, (size_t)(strrchr(file, '/') - file));
    // For everybody, whatever the umask: the guest's users see it too, where it is shared.
    bool fresh = !file_exists(inner);
    if (file_make_dirs(inner, 0755, err) < 0)
        return -1;
    if (fresh && chmod(inner, 0755) < 0)
        return error_errno(err, "cannot open folder '%s'", inner);
    return file_write_atomic(file, out.text, out.length, 0644, err);
}

int connection_conf_remove(const char *folder, const char *machine, struct error *err)
{
    cleanup_free char *file = file_of(folder, machine);
    if (unlink(file) < 0 && errno != ENOENT && errno != ENOTDIR)
        return error_errno(err, "cannot remove '%s'", file);
    return 0;
}
