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
static struct sshd stranger;   // another guest: not the machine's host key
static unsigned stranger_port; // what the guest's report names; 0: none
static const char *dead_lease; // before the guest's own; NULL: none

static int find_port(const struct machine *m, struct strvec *hosts, unsigned *port,
                     struct error *err)
{
    (void)m;
    if (looks++ < absent_looks)
        return error_set(err, ENOENT, "not yet");
    strvec_push(hosts, "localhost");
    *port = server.port;
    return 0;
}

static int find_stranger(const struct machine *m, struct strvec *hosts, unsigned *port,
                         struct error *err)
{
    (void)m;
    if (stranger_port == 0)
        return error_set(err, ENOENT, "no report");
    strvec_push(hosts, "127.0.0.1");
    *port = stranger_port;
    return 0;
}

static int find_leases(const struct machine *m, struct strvec *hosts, unsigned *port,
                       struct error *err)
{
    (void)m, (void)err;
    if (dead_lease)
        strvec_push(hosts, dead_lease);
    strvec_push(hosts, "127.0.0.1");
    *port = address_port;
    return 0;
}

static const struct way ways[] = {
    {.name = "relay", .local = true, .find = find_port},
    {.name = "report", .find = find_stranger},
    {.name = "lease", .find = find_leases},
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
    cleanup_free char *elsewhere = temp_path(state, "stranger");
    have_server = have_server && sshd_start(&stranger, elsewhere, "");
    return 0;
}

static int teardown(void **state)
{
    sshd_stop(&server);
    sshd_stop(&stranger);
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
                 "(relay: not yet; report: no report; lease: cannot connect to '127.0.0.1'");
}

// Two guests may have had an address one after the other, or have one name.
static void somebody_elses_host_key_is_passed_by(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *host = NULL;
    if (!have_server)
        skip();
    stranger_port = stranger.port;
    int result = open_guest(&host, 100, server.port, &err);
    cleanup_free char *nobody = NULL;
    int other = open_guest(&nobody, 100, free_port(), &err);
    stranger_port = 0;
    assert_int_equal(result, 0);
    assert_string_equal(host, "127.0.0.1");
    // Of all that was tried it came farthest.
    assert_fails(other, err, EPERM, "report: ssh error: ");
}

static void every_lease_is_tried(void **state)
{
    (void)state;
    struct error err;
    cleanup_free char *host = NULL;
    if (!have_server)
        skip();
    dead_lease = "127.0.0.9";
    int result = open_guest(&host, 100, server.port, &err);
    dead_lease = NULL;
    assert_int_equal(result, 0);
    assert_string_equal(host, "127.0.0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_of_this_host_comes_first),
        cmocka_unit_test(a_port_that_leads_there_by_now_is_preferred),
        cmocka_unit_test(an_address_will_do),
        cmocka_unit_test(all_that_was_tried_is_said),
        cmocka_unit_test(somebody_elses_host_key_is_passed_by),
        cmocka_unit_test(every_lease_is_tried),
    };
    return cmocka_run_group_tests_name("reach", tests, setup, teardown);
}
