// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/paths.h"
#include "provider/port.h"

static void keeps_a_free_port_and_leaves_a_taken_one(void **state)
{
    (void)state;
    struct error err;
    char name[] = "m";
    struct machine m = {.name = name};
    assert_ok(port_ensure(&m, &err), err);
    uint64_t first = m.ssh.port;
    assert_true(first > 0 && first < 65536);
    assert_ok(port_ensure(&m, &err), err);
    assert_int_equal(m.ssh.port, first);

    cleanup_close int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)first)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_ok(port_ensure(&m, &err), err);
    assert_int_not_equal(m.ssh.port, first);
}

static void survives_a_broken_list_of_podmans_ports(void **state)
{
    (void)state;
    struct error err;
    char name[] = "m";
    struct machine m = {.name = name};
    cleanup_free char *path = paths_podman_ports();
    cleanup_free char *folder = xstrndup(path, strlen(path) - strlen("/port-alloc.dat"));
    assert_ok(file_make_dirs(folder, 0755, &err), err);
    static const char *const texts[] = {"[1,2]\n", "", "{", "[\"x\"]", "7"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        put_text(path, texts[i]);
        m.ssh.port = 0;
        assert_ok(port_ensure(&m, &err), err);
    }
}

// podman's list reserves all ports but a few: ours must be one of those.
static void keeps_clear_of_podmans_ports(void **state)
{
    (void)state;
    struct error err;
    char name[] = "m";
    struct machine m = {.name = name};
    cleanup_free char *path = paths_podman_ports();
    CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
    strbuf_addc(&list, '[');
    for (unsigned port = 1; port < 65536; port++)
        if (port % 16 != 15) // odd: the kernel gives those first
            strbuf_addf(&list, "%u,", port);
    strbuf_adds(&list, "1]");
    put_text(path, list.text);
    for (int i = 0; i < 3; i++) {
        m.ssh.port = 0;
        assert_ok(port_ensure(&m, &err), err);
        assert_int_equal(m.ssh.port % 16, 15);
    }
}

static void listen_at(int *fd, unsigned port, in_addr_t host)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(host);
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(*fd, 1), 0);
}

static void takes_no_port_from_anybody(void **state)
{
    (void)state;
    struct error err;
    char name[] = "m";
    struct machine m = {.name = name};
    assert_ok(port_ensure(&m, &err), err);
    unsigned port = (unsigned)m.ssh.port;
    assert_ok(port_check_free(port, &err), err);
    static const in_addr_t hosts[] = {INADDR_LOOPBACK, INADDR_ANY};
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        cleanup_close int fd = -1;
        listen_at(&fd, port, hosts[i]);
        assert_fails(port_check_free(port, &err), err, EADDRINUSE, "cannot listen on 127.0.0.1:");
    }
    // At another address it is another port.
    cleanup_close int fd = -1;
    listen_at(&fd, port, INADDR_LOOPBACK + 1);
    assert_ok(port_check_free(port, &err), err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_free_port_and_leaves_a_taken_one),
        cmocka_unit_test(survives_a_broken_list_of_podmans_ports),
        cmocka_unit_test(keeps_clear_of_podmans_ports),
        cmocka_unit_test(takes_no_port_from_anybody),
    };
    return cmocka_run_group_tests_name("port", tests, temp_home_setup, temp_home_teardown);
}
