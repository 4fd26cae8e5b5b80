// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/nameservers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/shell.h"

// cloud-init renders the seed's network-config once, at the first boot, so what it wrote is changed
// here: of NetworkManager its connection, of networkd a drop-in beside its file, whose empty
// `DNS=` forgets the servers that the file has. The interface may have any name: its address
// tells.
static const char body[] =
    "nameservers() {\n"
    "  for file in /sys/class/net/*/address; do\n"
    "    [ \"$(cat \"$file\")\" != \"$1\" ] || { link=${file%/address}; link=${link##*/}; }\n"
    "  done\n"
    "  [ -n \"$link\" ] || { echo \"no network card has the address $1\"; return 1; }\n"
    "  if systemctl -q is-active NetworkManager.service; then\n"
    "    name=$(nmcli --escape no -g GENERAL.CONNECTION device show \"$link\") &&\n"
    "    nmcli connection modify \"$name\" ipv4.dns \"$2\" ipv6.dns \"$3\" &&\n"
    "    nmcli device reapply \"$link\"\n"
    "  elif systemctl -q is-active systemd-networkd.service; then\n"
    "    unit=$(networkctl status \"$link\" | sed -n 's/^ *Network File: *//p')\n"
    "    [ \"${unit%.network}\" != \"$unit\" ] || { echo \"networkd has no file for $link\"; "
    "return 1; }\n"
    "    put \"/etc/systemd/network/${unit##*/}.d/podman-machine-vmnet.conf\" \"$4\"\n"
    "    [ -z \"$changed\" ] || networkctl reload\n"
    "  else\n"
    "    echo 'its network is run by neither NetworkManager nor systemd-networkd'\n"
    "    return 1\n"
    "  fi\n"
    "}\n"
    "nameservers";

void nameservers_add(struct strbuf *script, const struct machine *m)
{
    CLEANUP(strbuf_release) struct strbuf four = STRBUF_INIT, six = STRBUF_INIT;
    CLEANUP(strbuf_release) struct strbuf drop_in = STRBUF_INIT;
    cleanup_free char *mac = xstrdup(m->mac);
    for (char *c = mac; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    strbuf_adds(&drop_in, "[Network]\nDNS=");
    for (size_t i = 0; i < m->dns.count; i++) {
        struct strbuf *list = strchr(m->dns.items[i], ':') ? &six : &four;
        strbuf_addf(list, "%s%s", list->length ? " " : "", m->dns.items[i]);
        strbuf_addf(&drop_in, "\nDNS=%s", m->dns.items[i]);
    }
    const char *const words[] = {mac, four.text, six.text, drop_in.text};
    strbuf_adds(script, body);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        strbuf_addc(script, ' ');
        shell_quote(script, SHELL_POSIX, words[i]);
    }
    strbuf_addf(script, " 2>&1 || dns=%d\nchanged=\n", NAMESERVERS_FAILED);
}
