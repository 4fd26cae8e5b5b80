// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "provider/machine.h"
#include "provider/reach.h"
#include "tests/support/sshd.h"

// One server stands for the guest: a port of this host leads there by the name localhost, the
// guest's own address is 127.0.0.1.
static struct sshd server;
static bool have_server;
static unsigned looks; // at the port of this host
static unsigned absent_looks;
static unsigned address_port;

static int find_port(const struct machine *m, char **host, unsigned *port, struct error *err)
{
    (void)m;
    if (looks++ < absent_looks)
        return error_set(err, ENOENT, "not yet");
    *host = xstrdup("localhost");
    *port = server.port;
    return 0;
}

static int find_address(const struct machine *m, char **host, unsigned *port, struct error *err)
{
    (void)m, (void)err;
    *host = xstrdup("127.0.0.1");
    *port = address_port;
    return 0;
}

static const struct way ways[] = {
    {.name = "relay", .local = true, .find = find_port},
    {.name = "lease", .find = find_address},
    {.name = NULL},
};
static const struct network network = {.name = "test", .ways = ways};
static const struct provider provider = {.name = "test", .network = &network};
static char name[] = "vm";

static int setup(void **state)
{
    if (temp_home_setup(state) < 0)
        return -1;
    // sshd's own key is where the guest's is kept.
    cleanup_free char *folder = machine_folder(name);
    cleanup_free char *parent = temp_path(state, ".local/share/podman-machine-vmnet/machines");
    struct error err;
    if (file_make_dirs(parent, 0700, &err) < 0)
        return -1;
    have_server = sshd_start(&server, folder, "");
    return 0;
}

static int teardown(void **state)
{
    sshd_stop(&server);
    return temp_home_teardown(state);
}

static int open_guest(char **host, unsigned absent, unsigned port, struct error *err)
{
    const struct machine m = {.name = name, .ssh = {.identity = server.identity}};
    struct ssh_session *session = NULL;
    unsigned at;
    looks = 0;
    absent_looks = absent;
    address_port = port;
    int result = reach_open(&session, &m, &provider, server.user, 20000, host, &at, err);
    ssh_free(session);
    return result;
}

static void a_port_of_this_host_comes_first(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *host = NULL;
    if (!have_server)
        skip();
    assert_ok(open_guest(&host, 0, server.port, &err), err);
    assert_string_equal(host, "localhost");
    assert_int_equal(looks, 1);
}

// The guest came up after the look at the port and before that at the address.
static void a_port_that_leads_there_by_now_is_preferred(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *host = NULL;
    if (!have_server)
        skip();
    assert_ok(open_guest(&host, 1, server.port, &err), err);
    assert_string_equal(host, "localhost");
}

static void an_address_will_do(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *host = NULL;
    if (!have_server)
        skip();
    assert_ok(open_guest(&host, 100, server.port, &err), err);
    assert_string_equal(host, "127.0.0.1");
}

static void all_that_was_tried_is_said(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *host = NULL;
    if (!have_server)
        skip();
    assert_fails(open_guest(&host, 100, free_port(), &err), err, ECONNREFUSED,
                 "(relay: not yet; lease: cannot connect to '127.0.0.1'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_of_this_host_comes_first),
        cmocka_unit_test(a_port_that_leads_there_by_now_is_preferred),
        cmocka_unit_test(an_address_will_do),
        cmocka_unit_test(all_that_was_tried_is_said),
    };
    return cmocka_run_group_tests_name("reach", tests, setup, teardown);
}
