// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/published.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/strvec.h"

// In bash's words, for `read -t`. Events come in flocks: a list is made when they pause. They are
// read where podman writes them: one journalctl sleeps, while `podman events` (5.4) wakes up fifty
// times a second and takes 47 MB; that is for an engine with another `events_logger`. `--since`
// closes the gap between a list and the first event that is seen. Health checks are not asked for.
// `kill 0` ends all of it: sshd gives each command a process group of its own.
static const char script_body[] =
    "cd /\n"
    "exec 3<&0\n"
    "trap 'trap - TERM; kill 0' TERM HUP PIPE EXIT\n"
    "as_user() { runuser -u \"$user\" -- env XDG_RUNTIME_DIR=\"/run/user/$uid\" \"$@\"; }\n"
    "follow() { while :; do \"$@\" 2>/dev/null </dev/null; sleep 5; echo again; done; }\n"
    "journal() {\n"
    "  follow journalctl -q -f --no-tail --since=-60s -o cat PODMAN_TYPE=container \\\n"
    "    PODMAN_EVENT=start PODMAN_EVENT=died PODMAN_EVENT=remove\n"
    "}\n"
    "events() {\n"
    "  logger=$(\"$@\" info --format '{{.Host.EventLogger}}' 2>/dev/null </dev/null)\n"
    "  [ \"$logger\" = journald ] || follow \"$@\" events --since 60s --filter type=container \\\n"
    "    --filter event=start --filter event=died --filter event=remove --format '{{.Status}}'\n"
    "}\n"
    "list() {\n"
    "  root=$(podman ps --format json 2>/dev/null </dev/null) || root=null\n"
    "  own=$(as_user podman ps --format json 2>/dev/null </dev/null) || own=null\n"
    "  printf '{\"root\":%s,\"user\":%s}\\n' \"${root//$'\\n'/}\" \"${own//$'\\n'/}\"\n"
    "}\n"
    "{ cat <&3 >/dev/null; kill $$; } &\n"
    "{ echo now; journal & events podman & events as_user podman & wait; } | while read -r _; do\n"
    "  for _ in 1 2 3 4 5 6 7 8 9 10; do read -r -t 0.2 _ || break; done\n"
    "  list\n"
    "done &\n"
    "wait\n";

char *published_command(const struct machine *m)
{
    CLEANUP(strvec_release) struct strvec words = STRVEC_INIT;
    strvec_push(&words, "bash");
    strvec_push(&words, "-c");
    strvec_pushf(&words, "user=%s uid=%u\n%s", m->ssh.user, (unsigned)m->ssh.uid, script_body);
    return strvec_quote(&words);
}

static void port_release(struct published_port *port)
{
    free(port->protocol);
    free(port->address);
}

void published_release(struct published *published)
{
    for (size_t i = 0; i < published->count; i++)
        port_release(&published->ports[i]);
    free(published->ports);
    *published = (struct published)PUBLISHED_INIT;
}

// The guest's own way to a port that is published at `host_ip`; NULL: that is no address.
static const char *reached_at(const char *host_ip)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    if (!*host_ip || strcmp(host_ip, "0.0.0.0") == 0)
        return "127.0.0.1";
    if (strcmp(host_ip, "::") == 0)
        return "::1";
    bool good = inet_pton(AF_INET, host_ip, bytes) == 1 || inet_pton(AF_INET6, host_ip, bytes) == 1;
    return good ? host_ip : NULL;
}

static int rank(const struct published_port *port)
{
    return strcmp(port->address, "127.0.0.1") == 0 ? 0 : strchr(port->address, ':') ? 2 : 1;
}

static int compare(const void *a, const void *b)
{
    const struct published_port *left = a, *right = b;
    if (left->port != right->port)
        return left->port < right->port ? -1 : 1;
    int order = strcmp(left->protocol, right->protocol);
    if (order == 0)
        order = rank(left) - rank(right);
    return order ? order : strcmp(left->address, right->address);
}

static void add(struct published *published, unsigned port, const char *protocol,
                const char *address)
{
    // Each container of a pod tells of all of the pod's ports.
    for (size_t i = 0; i < published->count; i++) {
        const struct published_port *other = &published->ports[i];
        if (other->port == port && strcmp(other->protocol, protocol) == 0 &&
            strcmp(other->address, address) == 0)
            return;
    }
    if (published->count == PUBLISHED_MOST) {
        published->cut = true;
        return;
    }
    if (!published->ports)
        published->ports = xcalloc(PUBLISHED_MOST, sizeof(*published->ports));
    published->ports[published->count++] = (struct published_port){
        .port = port, .protocol = xstrdup(protocol), .address = xstrdup(address)};
}

// An entry of `Ports` in `podman ps --format json` (4.3 to 6.1): host_ip, host_port, range,
// protocol; one that is only exposed has no host_port.
static void add_range(struct published *published, const json_t *entry)
{
    const char *host_ip = json_string_value(json_object_get(entry, "host_ip"));
    const char *protocols = json_string_value(json_object_get(entry, "protocol"));
    json_int_t first = json_integer_value(json_object_get(entry, "host_port"));
    json_int_t range = json_integer_value(json_object_get(entry, "range"));
    const char *address = reached_at(host_ip ? host_ip : "");
    CLEANUP(strvec_release) struct strvec names = STRVEC_INIT;
    strvec_split(&names, protocols && *protocols ? protocols : "tcp", ',');
    if (!address)
        return;
    for (json_int_t port = first; port < first + (range > 1 ? range : 1); port++) {
        if (port < 1 || port > 65535)
            return;
        for (size_t i = 0; i < names.count; i++)
            add(published, (unsigned)port, names.items[i], address);
    }
}

static void add_side(struct published *published, const json_t *containers)
{
    const json_t *container, *entry;
    size_t i, j;
    json_array_foreach(containers, i, container)
    {
        json_array_foreach(json_object_get(container, "Ports"), j, entry)
        {
            add_range(published, entry);
        }
    }
}

// Sorted, so that of one port the first is the one to take.
static void sort_out(struct published *published)
{
    size_t kept = 0;
    if (published->count)
        qsort(published->ports, published->count, sizeof(*published->ports), compare);
    for (size_t i = 0; i < published->count; i++) {
        const struct published_port *last = kept ? &published->ports[kept - 1] : NULL;
        if (last && last->port == published->ports[i].port &&
            strcmp(last->protocol, published->ports[i].protocol) == 0)
            port_release(&published->ports[i]);
        else
            published->ports[kept++] = published->ports[i];
    }
    published->count = kept;
}

int published_parse(struct published *published, const char *line, size_t length, struct error *err)
{
    cleanup_json json_t *root = json_loadb(line, length, 0, NULL);
    if (!json_is_object(root))
        return error_set(err, EBADMSG, "not a list of containers: '%.*s'",
                         length < 80 ? (int)length : 80, line);
    CLEANUP(published_release) struct published found = PUBLISHED_INIT;
    add_side(&found, json_object_get(root, "root"));
    add_side(&found, json_object_get(root, "user"));
    sort_out(&found);
    *published = found;
    found = (struct published)PUBLISHED_INIT;
    return 0;
}
