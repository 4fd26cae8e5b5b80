// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/native_ca.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cmd/guest.h"
#include "provider/guest.h"
#include "provider/guest_session.h"
#include "provider/trust.h"

static const int64_t patience_ms = 300000; // Debian's store takes minutes under emulation

// What was taken is kept last: after a cut, the next start does it all again. Debian wants a file
// for each certificate. podman reads the store once, so a service that runs is started anew.
const char native_ca_script[] =
    "set -e\n"
    "exec 2>&1\n"
    "umask 022\n"
    "kept=" GUEST_NATIVE_CA_FILE " new=" GUEST_NATIVE_CA_FILE ".new\n"
    "mkdir -p \"${kept%/*}\"\n"
    "cat >$new\n"
    "[ -s $new ] || [ -e $kept ] || { rm $new; exit 0; }\n"
    "! cmp -s $new $kept || { rm $new; exit 0; }\n"
    "if command -v update-ca-trust >/dev/null; then\n"
    "  anchors=/etc/pki/ca-trust/source/anchors\n"
    "  mkdir -p $anchors\n"
    "  if [ -s $new ]; then cp $new $anchors/host-ca-certs.pem\n"
    "  else rm -f $anchors/host-ca-certs.pem; fi\n"
    "  update-ca-trust\n"
    "elif command -v update-ca-certificates >/dev/null; then\n"
    "  ours=/usr/local/share/ca-certificates/podman-machine-vmnet\n"
    "  mkdir -p \"${ours%/*}\"\n"
    "  rm -f $ours-*.crt\n"
    "  awk -v ours=$ours '/^-----BEGIN/ { file = sprintf(\"%s-%03d.crt\", ours, ++n) }"
    " { print >file }' $new\n"
    "  update-ca-certificates --fresh >/dev/null\n"
    "else\n"
    "  echo 'the guest has neither update-ca-trust nor update-ca-certificates'\n"
    "  exit 1\n"
    "fi\n"
    "if [ -s $new ]; then mv $new $kept; else rm -f $new $kept; fi\n"
    "systemctl try-restart podman.service || true\n"
    "for bus in /run/user/*/bus; do\n"
    "  [ ! -S \"$bus\" ] || systemctl --user -M \"$(stat -c %U \"$bus\")@\" try-restart "
    "podman.service || true\n"
    "done\n";

static int put(struct ssh_session *session, const struct trust *trust, struct error *err)
{
    CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT;
    int status = 0;
    if (ssh_feed(session, native_ca_script, trust->pem.text, trust->pem.length, &words, &status,
                 err) < 0)
        return -1;
    if (status != 0)
        return error_set(err, ECHILD, "exit status %d in the guest: %.*s", status,
                         (int)strcspn(words.text, "\n"), words.text);
    return 0;
}

int native_ca_import(const struct machine *m, struct error *err)
{
    CLEANUP(trust_release) struct trust trust = TRUST_INIT;
    cleanup_free char *host = NULL;
    unsigned port;
    struct ssh_session *session;
    if (trust_collect(&trust, err) < 0 || guest_find(m, &host, &port, err) < 0 ||
        guest_open(&session, m, host, port, "root", patience_ms, err) < 0)
        return -1;
    if (trust.count == 0)
        log_warn("this host has no trusted CA certificates of its own to import");
    int result = put(session, &trust, err);
    ssh_free(session);
    return result;
}
