// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

// What stands between this host and the machines of the vmnet rows.

#include "provider/checkup.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/process.h"
#include "provider/preflight.h"

static const char vmnet_settings[] = "/Library/Preferences/SystemConfiguration/com.apple.vmnet";

bool checkup_firewall_is_on(const char *text)
{
    return strstr(text, "enabled") || strstr(text, "State = 1") || strstr(text, "State = 2");
}

bool checkup_is_blocked(const char *text)
{
    return strstr(text, "blocked") && !strstr(text, "not blocked");
}

// macOS' own DHCP server gives the guests their addresses, and a firewall may keep it from hearing
// them, even after it was allowed once (lima#1259).
static void check_firewall(struct checkup *checkup)
{
    static const char program[] = "/usr/libexec/ApplicationFirewall/socketfilterfw";
    cleanup_free char *found = process_find("socketfilterfw", NULL);
    const char *tool = found ? found : program;
    CLEANUP(strbuf_release) struct strbuf state = STRBUF_INIT, blocked = STRBUF_INIT;
    const char *const ask_state[] = {tool, "--getglobalstate", NULL};
    const char *const ask_blocked[] = {tool, "--getappblocked", "/usr/libexec/bootpd", NULL};
    if (!preflight_ask(&state, ask_state))
        return;
    if (!checkup_firewall_is_on(state.text)) {
        checkup_add(checkup, "firewall", VERDICT_GOOD, xstrdup("the firewall is off"), NULL);
        return;
    }
    bool bad = preflight_ask(&blocked, ask_blocked) && checkup_is_blocked(blocked.text);
    checkup_add(checkup, "firewall", bad ? VERDICT_BAD : VERDICT_GOOD,
                xasprintf("the firewall is on and %s bootpd, which gives guests their addresses",
                          bad ? "blocks" : "lets through"),
                bad ? xasprintf("run `sudo %s --remove /usr/libexec/bootpd`, then the same with "
                                "--add and with --unblockapp",
                                program)
                    : NULL);
}

// Tunnels take routes and answers that belong to the bridge.
static void check_tunnels(struct checkup *checkup)
{
    static const char *const kinds[] = {"utun", "ipsec", "ppp", "tun", "wg"};
    CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next)
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
            if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) &&
                strncmp(one->ifa_name, kinds[i], strlen(kinds[i])) == 0)
                strbuf_addf(&names, "%s%s", names.length ? ", " : "", one->ifa_name);
    freeifaddrs(all);
    if (names.length)
        checkup_add(checkup, "vpn", VERDICT_WARNING, xasprintf("a VPN is up (%s)", names.text),
                    xstrdup("if a guest's connections hang or it has no DNS, try without the VPN, "
                            "or give it other servers: `set --dns`"));
}

// vmnet's bridges are bridge100 and up; bridge0 is Thunderbolt's.
static bool is_vmnet_bridge(const char *name)
{
    static const char prefix[] = "bridge";
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 && strlen(name) == length + 3 &&
           strspn(name + length, "0123456789") == 3;
}

static bool overlap(const struct subnet *a, const struct subnet *b)
{
    uint32_t both = a->mask & b->mask;
    return (a->address & both) == (b->address & both);
}

static char *subnet_text(const struct subnet *subnet)
{
    const struct in_addr net = {.s_addr = htonl(subnet->address & subnet->mask)};
    char text[INET_ADDRSTRLEN] = "";
    unsigned bits = 0;
    for (uint32_t mask = subnet->mask; mask; mask <<= 1)
        bits++;
    inet_ntop(AF_INET, &net, text, sizeof(text));
    return xasprintf("%s/%u", text, bits);
}

static const struct subnet *find_conflict(const struct subnet *bridge, const struct subnet *subnets,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_vmnet_bridge(subnets[i].interface) && overlap(bridge, &subnets[i]))
            return &subnets[i];
    return NULL;
}

static void check_bridge(struct checkup *checkup, const struct subnet *bridge,
                         const struct subnet *subnets, size_t count)
{
    cleanup_free char *own = subnet_text(bridge);
    const struct subnet *other = find_conflict(bridge, subnets, count);
    if (!other) {
        checkup_add(checkup, "subnet", VERDICT_GOOD,
                    xasprintf("no other network has the addresses of the machines, %s", own), NULL);
        return;
    }
    cleanup_free char *theirs = subnet_text(other);
    checkup_add(checkup, "subnet", VERDICT_WARNING,
                xasprintf("interface %s is in %s, where the machines' addresses are (%s)",
                          other->interface, theirs, own),
                xasprintf("leave that network, or give the machines another one: stop them all and "
                          "run `sudo defaults write %s Shared_Net_Address -string 192.168.77.1`",
                          vmnet_settings));
}

void checkup_subnets(struct checkup *checkup, const struct subnet *subnets, size_t count,
                     uint32_t shared)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!is_vmnet_bridge(subnets[i].interface))
            continue;
        any = true;
        check_bridge(checkup, &subnets[i], subnets, count);
    }
    const struct subnet first = {.interface = "bridge100", .address = shared, .mask = 0xffffff00};
    if (!any)
        check_bridge(checkup, &first, subnets, count);
}

// Where vmnet begins its shared network when there is none yet.
static uint32_t ask_shared(void)
{
    static const char *const words[] = {"defaults", "read", vmnet_settings, "Shared_Net_Address",
                                        NULL};
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    struct in_addr address;
    if (preflight_ask(&out, words)) {
        out.text[strcspn(out.text, " \r\n")] = '\0';
        if (inet_pton(AF_INET, out.text, &address) == 1)
            return ntohl(address.s_addr);
    }
    return 0xc0a84001; // 192.168.64.1
}

static void check_subnets(struct checkup *checkup)
{
    struct ifaddrs *all = NULL;
    struct subnet *subnets = NULL;
    size_t count = 0;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !one->ifa_netmask ||
            !(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK))
            continue;
        subnets = xrealloc(subnets, (count + 1) * sizeof(*subnets));
        subnets[count++] = (struct subnet){
            .interface = one->ifa_name,
            .address =
                ntohl(((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr.s_addr),
            .mask = ntohl(
                ((const struct sockaddr_in *)(const void *)one->ifa_netmask)->sin_addr.s_addr),
        };
    }
    checkup_subnets(checkup, subnets, count, ask_shared());
    free(subnets);
    freeifaddrs(all);
}

void checkup_networks(struct checkup *checkup)
{
    check_firewall(checkup);
    check_tunnels(checkup);
    check_subnets(checkup);
}
