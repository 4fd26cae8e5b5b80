// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/mdns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"

enum { HEADER = 12, TYPE_A = 1, CLASS_IN = 1, UNICAST = 0x8000, MOST_SOCKETS = 16 };

static void put16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

static unsigned get16(const unsigned char *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static size_t put_label(unsigned char *at, const char *label)
{
    size_t length = strlen(label);
    at[0] = (unsigned char)length;
    memcpy(at + 1, label, length);
    return 1 + length;
}

size_t mdns_question(unsigned char question[MDNS_QUESTION_SIZE], uint16_t id, const char *host)
{
    size_t length = strlen(host);
    if (length == 0 || length > 63 || strchr(host, '.'))
        return 0;
    memset(question, 0, HEADER);
    put16(question, id);
    put16(question + 4, 1); // questions
    size_t at = HEADER;
    at += put_label(question + at, host);
    at += put_label(question + at, "local");
    question[at++] = 0;
    put16(question + at, TYPE_A);
    put16(question + at + 2, CLASS_IN | UNICAST);
    return at + 4;
}

// Reads a name at *at, which moves behind it. Labels are joined by '.'; a pointer leads to an
// earlier place, so that it cannot go round for ever. False: not a name.
static bool read_name(char name[256], const unsigned char *message, size_t length, size_t *at)
{
    size_t from = *at, used = 0;
    bool jumped = false;
    for (;;) {
        if (from >= length)
            return false;
        size_t size = message[from];
        if ((size & 0xc0) == 0xc0) {
            if (from + 1 >= length)
                return false;
            size_t target = (size & 0x3f) << 8 | message[from + 1];
            if (!jumped)
                *at = from + 2;
            jumped = true;
            if (target >= from)
                return false;
            from = target;
            continue;
        }
        if (size & 0xc0 || from + 1 + size > length || used + size + 1 > 255)
            return false;
        if (size == 0) {
            if (!jumped)
                *at = from + 1;
            name[used ? used - 1 : 0] = '\0';
            return true;
        }
        memcpy(name + used, message + from + 1, size);
        used += size;
        name[used++] = '.';
        from += 1 + size;
    }
}

int mdns_answer(unsigned char address[4], const unsigned char *message, size_t length,
                const char *host)
{
    char name[256];
    size_t at = HEADER;
    if (length < HEADER || !(message[2] & 0x80)) // a question, perhaps our own
        return -1;
    for (unsigned questions = get16(message + 4); questions > 0; questions--, at += 4)
        if (!read_name(name, message, length, &at))
            return -1;
    unsigned records = get16(message + 6) + get16(message + 8) + get16(message + 10);
    cleanup_free char *wanted = xasprintf("%s.local", host);
    for (; records > 0; records--) {
        if (!read_name(name, message, length, &at) || at + 10 > length)
            return -1;
        const unsigned char *record = message + at;
        size_t size = get16(record + 8);
        at += 10 + size;
        if (at > length)
            return -1;
        if (get16(record) == TYPE_A && (get16(record + 2) & 0x7fff) == CLASS_IN && size == 4 &&
            strcasecmp(name, wanted) == 0) {
            memcpy(address, record + 10, 4);
            return 0;
        }
    }
    return -1;
}

struct asking {
    struct pollfd fds[MOST_SOCKETS];
    nfds_t count;
};

static void asking_release(struct asking *asking)
{
    for (nfds_t i = 0; i < asking->count; i++)
        close(asking->fds[i].fd);
}

// A port of our own, not 5353: then the answer comes to it alone, whoever else listens there.
static void ask(struct asking *asking, const struct in_addr *interface,
                const struct sockaddr_in *to, const unsigned char *question, size_t length)
{
    cleanup_close int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || asking->count == MOST_SOCKETS)
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (interface && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, interface, sizeof(*interface)) < 0)
        return;
    if (sendto(fd, question, length, 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
        return;
    asking->fds[asking->count++] = (struct pollfd){.fd = steal_fd(&fd), .events = POLLIN};
}

static void ask_everywhere(struct asking *asking, const unsigned char *question, size_t length)
{
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons(5353)};
    inet_pton(AF_INET, "224.0.0.251", &group.sin_addr);
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        unsigned flags = one->ifa_flags;
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (flags & IFF_UP) &&
            (flags & IFF_MULTICAST) && !(flags & IFF_LOOPBACK)) {
            struct sockaddr_in own;
            memcpy(&own, one->ifa_addr, sizeof(own));
            ask(asking, &own.sin_addr, &group, question, length);
        }
    }
    freeifaddrs(all);
}

static bool instead(struct sockaddr_in *to)
{
    const char *text = getenv("PODMAN_MACHINE_VMNET_MDNS");
    const char *colon = text ? strrchr(text, ':') : NULL;
    cleanup_free char *address = colon ? xstrndup(text, (size_t)(colon - text)) : NULL;
    *to = (struct sockaddr_in){.sin_family = AF_INET};
    if (!address || inet_pton(AF_INET, address, &to->sin_addr) != 1)
        return false;
    to->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return true;
}

int mdns_find(char **address, const char *host, int64_t timeout_ms, struct error *err)
{
    unsigned char question[MDNS_QUESTION_SIZE], found[4];
    uint16_t id;
    random_bytes(&id, sizeof(id));
    size_t length = mdns_question(question, id, host);
    CLEANUP(asking_release) struct asking asking = {.count = 0};
    struct sockaddr_in to;
    if (length && instead(&to))
        ask(&asking, NULL, &to, question, length);
    else if (length)
        ask_everywhere(&asking, question, length);
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    for (int64_t left = timeout_ms; left > 0 && asking.count > 0;
         left = deadline - clock_monotonic_ms()) {
        poll(asking.fds, asking.count, (int)left);
        for (nfds_t i = 0; i < asking.count; i++) {
            unsigned char message[9000];
            ssize_t n =
                asking.fds[i].revents ? recv(asking.fds[i].fd, message, sizeof(message), 0) : -1;
            if (n <= 0 || mdns_answer(found, message, (size_t)n, host) < 0)
                continue;
            *address = xasprintf("%u.%u.%u.%u", found[0], found[1], found[2], found[3]);
            return 0;
        }
    }
    return error_set(err, ENOENT, "nobody answers for '%s.local' yet", host);
}
