// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/settle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cmd/guest.h"
#include "cmd/nameservers.h"
#include "cmd/native_ca.h"
#include "cmd/shell.h"
#include "provider/guest.h"
#include "provider/guest_session.h"

static const char *const variables[] = {"http_proxy", "https_proxy", "ftp_proxy", "no_proxy",
                                        "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY"};

// What is on this host is, for the guest's containers, behind this name.
static char *seen_from_guest(const char *value)
{
    static const char *const local[] = {"127.0.0.1", "localhost"};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    while (*value) {
        size_t length = 0;
        for (size_t i = 0; i < ARRAY_SIZE(local) && !length; i++)
            if (strncmp(value, local[i], strlen(local[i])) == 0)
                length = strlen(local[i]);
        strbuf_add(&out, length ? "host.containers.internal" : value,
                   length ? strlen("host.containers.internal") : 1);
        value += length ? length : 1;
    }
    return strbuf_steal(&out);
}

// In double quotes, with a backslash before each of `special`, and systemd's % doubled.
static void add_quoted(struct strbuf *out, const char *text, const char *special, bool percent)
{
    strbuf_addc(out, '"');
    for (; *text; text++) {
        if (strchr(special, *text))
            strbuf_addc(out, '\\');
        if (percent && *text == '%')
            strbuf_addc(out, '%');
        if (*text != '\n')
            strbuf_addc(out, *text);
    }
    strbuf_addc(out, '"');
}

// environment.d takes the quotes off first and expands after that: "$$" is one '$' then.
static void add_for_systemd(struct strbuf *out, const char *value)
{
    CLEANUP(strbuf_release) struct strbuf doubled = STRBUF_INIT;
    for (; *value; value++) {
        if (*value == '$')
            strbuf_addc(&doubled, '$');
        strbuf_addc(&doubled, *value);
    }
    add_quoted(out, doubled.text, "\"\\$", false);
}

// A line that puts the text into a file, if it is another one; `changed` is set then.
static void add_file(struct strbuf *script, const char *path, const char *text)
{
    strbuf_addf(script, "put %s ", path);
    shell_quote(script, SHELL_POSIX, text);
    strbuf_addc(script, '\n');
}

static const char helpers[] =
    "put() {\n"
    "  if [ -z \"$2\" ]; then [ ! -e \"$1\" ] || { rm -f \"$1\"; changed=1; }; return; fi\n"
    "  [ \"$(cat \"$1\" 2>/dev/null)\" != \"$2\" ] || return 0\n"
    "  mkdir -p \"${1%/*}\" && printf '%s\\n' \"$2\" >\"$1\" && chmod 644 \"$1\" && changed=1\n"
    "}\n"
    "# /etc/environment is also somebody else's: only the lines between the marks are ours.\n"
    "environment() {\n"
    "  mark='# podman-machine-vmnet:' file=/etc/environment\n"
    "  rest=$(sed \"/^$mark begin\\$/,/^$mark end\\$/d\" $file 2>/dev/null)\n"
    "  if [ -n \"$1\" ]; then\n"
    "    put $file \"${rest:+$rest\n}$mark begin\n$1\n$mark end\"\n"
    "  elif grep -q \"^$mark begin\\$\" $file 2>/dev/null; then\n"
    "    printf '%s\\n' \"$rest\" >$file && changed=1\n"
    "  fi\n"
    "}\n"
    "changed= dns=0\n";

// podman's files (contract D.4), so that logins, services and the user's services all see it; and
// /etc/environment, because only Fedora's bash reads profile.d for a command over ssh.
static void add_proxies(struct strbuf *script)
{
    CLEANUP(strbuf_release) struct strbuf systemd = STRBUF_INIT, plain = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf profile = STRBUF_INIT, pam = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *host = getenv(variables[i]);
        if (!host)
            continue;
        cleanup_free char *value = seen_from_guest(host);
        cleanup_free char *pair = xasprintf("%s=%s", variables[i], value);
        strbuf_adds(&systemd, systemd.length ? " " : "[Manager]\nDefaultEnvironment=");
        add_quoted(&systemd, pair, "\"\\", true);
        strbuf_addf(&plain, "%s%s=", plain.length ? "\n" : "", variables[i]);
        add_for_systemd(&plain, value);
        // PAM takes the quotes off, and knows no escapes.
        strbuf_addf(&pam, "%s%s=\"%.*s\"", pam.length ? "\n" : "", variables[i],
                    (int)strcspn(value, "\n"), value);
        strbuf_addf(&profile, "%sexport %s=", profile.length ? "\n" : "", variables[i]);
        add_quoted(&profile, value, "\"\\$`", false);
    }
    add_file(script, "/etc/systemd/system.conf.d/default-env.conf", systemd.text);
    add_file(script, "/etc/systemd/user.conf.d/default-env.conf", systemd.text);
    add_file(script, "/etc/environment.d/default-env.conf", plain.text);
    add_file(script, "/etc/profile.d/default-env.sh", profile.text);
    strbuf_adds(script, "environment ");
    shell_quote(script, SHELL_POSIX, pam.text);
    strbuf_addc(script, '\n');
}

// As podman has it where the guest can (Fedora does), else a file.
static void add_swap(struct strbuf *script, const struct machine *m)
{
    unsigned long long mib = m->resources.swap_mib;
    if (mib == 0)
        return;
    cleanup_free char *zram = xasprintf("[zram0]\nzram-size=%llu", mib);
    strbuf_adds(script, "if [ -x /usr/lib/systemd/system-generators/zram-generator ]; then\n  ");
    add_file(script, "/etc/systemd/zram-generator.conf", zram);
    strbuf_addf(script,
                "  if [ -n \"$changed\" ]; then\n"
                "    systemctl daemon-reload\n"
                "    systemctl restart systemd-zram-setup@zram0.service\n"
                "    systemctl start dev-zram0.swap\n"
                "    changed=\n"
                "  fi\n"
                "elif [ ! -e /swapfile ]; then\n"
                "  { truncate -s 0 /swapfile; chattr +C /swapfile || true; } 2>/dev/null\n"
                "  chmod 600 /swapfile && fallocate -l %lluM /swapfile && mkswap -q /swapfile &&\n"
                "    echo '/swapfile none swap defaults 0 0' >>/etc/fstab && swapon /swapfile\n"
                "fi\n",
                mib);
}

// So that what runs already sees it. A user's manager keeps the variables that it was started with,
// and nothing short of another start takes one away from it.
static void add_reload(struct strbuf *script)
{
    strbuf_adds(script, "if [ -n \"$changed\" ]; then\n"
                        "  systemctl daemon-reload\n"
                        "  for bus in /run/user/*/bus; do\n"
                        "    [ -S \"$bus\" ] || continue\n"
                        "    uid=${bus%/bus}\n"
                        "    systemctl restart \"user@${uid##*/}.service\" || true\n"
                        "  done\n"
                        "  systemctl try-restart podman.service || true\n"
                        "fi\n");
}

char *settle_script(const struct machine *m, enum settle_proxies proxies)
{
    CLEANUP(strbuf_release) struct strbuf script = STRBUF_INIT;
    bool any = false;
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        any = any || getenv(variables[i]);
    strbuf_adds(&script, helpers);
    if (!m->import_native_ca) // any more
        strbuf_addf(&script,
                    "[ ! -e " GUEST_NATIVE_CA_FILE " ] || (\n%s) </dev/null >/dev/null || true\n",
                    native_ca_script);
    if (m->dns_changed)
        nameservers_add(&script, m);
    add_swap(&script, m);
    if (proxies == SETTLE_PROXIES && !any && !m->rootful_changed)
        strbuf_adds(&script, "[ -e /etc/profile.d/default-env.sh ] || exit $dns\n");
    if (proxies == SETTLE_PROXIES)
        add_proxies(&script);
    add_reload(&script);
    if (m->rootful_changed) {
        cleanup_free char *socket = guest_socket(m, m->rootful);
        cleanup_free char *line =
            xasprintf("L+  /run/docker.sock   -    -    -     -   %s", socket);
        add_file(&script, "/etc/tmpfiles.d/podman-docker.conf", line);
        strbuf_adds(&script, "systemd-tmpfiles --create --prefix=/run/docker.sock || exit 1\n");
    }
    strbuf_adds(&script, "exit $dns\n");
    return strbuf_steal(&script);
}

// The rest is as it should be, so the machine is of use; it is tried again at the next start.
static void tell_of_dns(const struct strbuf *words)
{
    CLEANUP(strvec_release) struct strvec lines = STRVEC_INIT;
    strvec_split(&lines, words->text, '\n');
    const char *last = "";
    for (size_t i = 0; i < lines.count; i++)
        last = *lines.items[i] ? lines.items[i] : last;
    log_warn("the guest does not use the DNS servers that it was given: %s", last);
}

// Once: the guest forgets it then.
static void tell_notice(struct ssh_session *session)
{
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    struct error ignored;
    int status;
    if (ssh_run(session, "cat " GUEST_NOTICE_FILE " 2>/dev/null && rm -f " GUEST_NOTICE_FILE,
                &words, &status, &ignored) == 0 &&
        words.length)
        fprintf(stderr, "Warning: %s", words.text);
}

int settle_guest(struct machine *m, enum settle_proxies proxies, int64_t patience_ms,
                 struct error *err)
{
    cleanup_free char *host = NULL;
    unsigned port;
    struct ssh_session *session = NULL;
    int status = 0;
    CLEANUP(strbuf_release) struct strbuf command = STRBUF_INIT, words = STRBUF_INIT;
    cleanup_free char *script = settle_script(m, proxies);
    strbuf_adds(&command, "sh -c ");
    shell_quote(&command, SHELL_POSIX, script);
    if (guest_find(m, &host, &port, err) < 0 ||
        guest_open(&session, m, host, port, "root", patience_ms, err) < 0)
        return -1;
    int result = ssh_run(session, command.text, &words, &status, err);
    if (result == 0)
        tell_notice(session);
    ssh_free(session);
    if (result < 0)
        return -1;
    if (status == NAMESERVERS_FAILED)
        tell_of_dns(&words);
    else if (status != 0)
        return error_set(err, ECHILD, "the guest could not be told of its settings: exit status %d",
                         status);
    bool dns_done = m->dns_changed && status == 0;
    if (!m->rootful_changed && !dns_done)
        return 0;
    m->rootful_changed = false;
    m->dns_changed = m->dns_changed && !dns_done;
    return machine_save(m, err);
}
