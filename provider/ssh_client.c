// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/ssh.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

// The name under which the guest's key stands in the machine's own known_hosts file.
static const char host_alias[] = "podman-machine-vmnet";

// ssh splits such a value at blanks, takes quotes and backslashes away and expands %, in this
// order. (It expands ${NAME} as well, for which it has no escape: it fails on such a path.)
static void push_path_option(struct strvec *argv, const char *name, const char *path)
{
    CLEANUP(strbuf_release) struct strbuf option = STRBUF_INIT;
    strbuf_addf(&option, "%s=\"", name);
    for (; *path; path++) {
        if (*path == '"' || *path == '\\')
            strbuf_addc(&option, '\\');
        if (*path == '%')
            strbuf_addc(&option, '%');
        strbuf_addc(&option, *path);
    }
    strbuf_addc(&option, '"');
    strvec_push(argv, "-o");
    strvec_push(argv, option.text);
}

// -F leaves out the user's and the system's configuration, which may hold anything for "*".
// IdentityFile, not -i: of -i, ssh looks at the path both as it is and with % expanded.
void ssh_client_argv(struct strvec *argv, const struct ssh_target *target, const char *known_hosts)
{
    static const char *const options[] = {
        "-o", "IdentitiesOnly=yes",
        "-o", "IdentityAgent=none",
        "-o", "PreferredAuthentications=publickey",
        "-o", "StrictHostKeyChecking=yes",
        "-o", "GlobalKnownHostsFile=/dev/null",
        "-o", "CheckHostIP=no",
        "-o", "LogLevel=ERROR",
        "-o", "SetEnv=LC_ALL=",
        NULL,
    };
    strvec_push(argv, "ssh");
    strvec_push(argv, "-F");
    strvec_push(argv, "/dev/null");
    strvec_pushv(argv, options);
    push_path_option(argv, "UserKnownHostsFile", known_hosts);
    strvec_push(argv, "-o");
    strvec_pushf(argv, "HostKeyAlias=%s", host_alias);
    push_path_option(argv, "IdentityFile", target->identity);
    strvec_push(argv, "-p");
    strvec_pushf(argv, "%u", target->port);
    strvec_pushf(argv, "%s@%s", target->user, target->host);
}

int ssh_write_known_hosts(const char *known_hosts, const char *host_key, struct error *err)
{
    cleanup_free char *line =
        xasprintf("%s %.*s\n", host_alias, (int)strcspn(host_key, "\r\n"), host_key);
    CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
    if (file_read(&old, known_hosts, 65536, err) == 0 && strcmp(old.text, line) == 0)
        return 0;
    return file_write_atomic(known_hosts, line, strlen(line), 0600, err);
}
