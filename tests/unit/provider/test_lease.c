// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "provider/lease.h"

static const char mac[] = "52:54:00:0b:0c:0d";
static const int64_t now = 0x6a000000;

// `addresses`: those that are found, with blanks between; NULL: none.
static void expect(const char *text, const char *addresses)
{
    CLEANUP(strvec_release) struct strvec found = STRVEC_INIT;
    lease_search(&found, text, strlen(text), mac, "my-vm", now);
    cleanup_free char *joined = strvec_quote(&found);
    assert_string_equal(joined, addresses ? addresses : "");
}

static void zero_stripped_bytes(void **state)
{
    (void)state;
    expect("{\n\tname=my-vm\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:d\n"
           "\tidentifier=1,52:54:0:b:c:d\n\tlease=0x6a000001\n}\n",
           "192.168.64.5");
}

static void other_machines_do_not_count(void **state)
{
    (void)state;
    expect("{\n\tname=my-vm\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:e\n"
           "\tlease=0x6a000001\n}\n",
           NULL);
    expect("", NULL);
    expect("{\n}\n", NULL);
}

static void newest_first(void **state)
{
    (void)state;
    expect("{\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000009\n}\n"
           "{\n\tip_address=192.168.105.7\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000100\n}\n"
           "{\n\tip_address=192.168.66.9\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000010\n}\n",
           "192.168.105.7 192.168.66.9 192.168.64.5");
}

static void an_address_is_told_once(void **state)
{
    (void)state;
    expect("{\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000009\n}\n"
           "{\n\tip_address=192.168.64.6\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000010\n}\n"
           "{\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000100\n}\n"
           "{\n\tip_address=192.168.64.6\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a000001\n}\n",
           "192.168.64.5 192.168.64.6");
}

static void no_more_than_the_best_few(void **state)
{
    (void)state;
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    for (unsigned i = 1; i <= 9; i++)
        strbuf_addf(
            &text, "{\n\tip_address=10.0.0.%u\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6a%06x\n}\n",
            i, i == 5 ? 99 : i);
    expect(text.text, "10.0.0.5 10.0.0.9 10.0.0.8 10.0.0.7");
}

static void ended_leases_do_not_count(void **state)
{
    (void)state;
    expect("{\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x69ffffff\n}\n",
           NULL);
    expect("{\n\tip_address=192.168.64.5\n\thw_address=1,52:54:0:b:c:d\n}\n", "192.168.64.5");
}

// systemd-networkd's default: a DUID of the machine id, which says nothing of the MAC.
static void expect_duid_named(const char *name, const char *address)
{
    cleanup_free char *text =
        xasprintf("{\n\tname=%s\n\tip_address=192.168.64.5\n"
                  "\thw_address=ff,f1:f5:dd:7f:0:2:0:0:ab:11:c1:a9:9c:45:f8:2f:4e:dc\n"
                  "\tlease=0x6a000001\n}\n",
                  name);
    expect(text, address);
}

static void duid_by_name(void **state)
{
    (void)state;
    expect_duid_named("MY-VM", "192.168.64.5");
    expect_duid_named("my-vm2", NULL);
    expect_duid_named("", NULL);
}

static void duid_holds_the_mac(void **state)
{
    (void)state;
    // DUID-LL and DUID-LLT, of a guest with another name.
    expect("{\n\tname=fedora\n\tip_address=192.168.64.6\n"
           "\thw_address=ff,1:2:3:4:0:3:0:1:52:54:0:b:c:d\n\tlease=0x6a000001\n}\n",
           "192.168.64.6");
    expect("{\n\tname=fedora\n\tip_address=192.168.64.7\n"
           "\thw_address=ff,1:2:3:4:0:1:0:1:9:8:7:6:52:54:0:b:c:d\n\tlease=0x6a000001\n}\n",
           "192.168.64.7");
}

static void the_mac_comes_before_a_name(void **state)
{
    (void)state;
    expect("{\n\tname=my-vm\n\tip_address=192.168.64.5\n\thw_address=ff,1:2:3:4:0:2:0:0:1:2\n"
           "\tlease=0x6b000000\n}\n"
           "{\n\tname=x\n\tip_address=192.168.64.6\n\thw_address=1,52:54:0:b:c:d\n"
           "\tlease=0x6a000001\n}\n",
           "192.168.64.6 192.168.64.5");
}

static void a_domain_is_no_difference(void **state)
{
    (void)state;
    const char text[] = "{\n\tname=my\n\tip_address=192.168.64.5\n\thw_address=ff,0:0:0:0:0:4:1\n"
                        "\tlease=0x6a000001\n}\n";
    CLEANUP(strvec_release) struct strvec found = STRVEC_INIT;
    lease_search(&found, text, strlen(text), mac, "my.vm", now);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0], "192.168.64.5");
}

static void oddities_are_passed_over(void **state)
{
    (void)state;
    expect("garbage\r\n{\r\n  new_key = x = y\r\n\tip_address=192.168.64.300\r\n"
           "\thw_address=1,52:54:0:b:c:d\r\n}\r\n"
           "{\r\n\tip_address=192.168.64.5\r\n\thw_address=1,52:54:0:b:c:d\r\n"
           "\tunknown=1,2,3\r\n\tlease=0x6a000001\r\n}\r\n"
           "{\n\tip_address=192.168.64.9\n\thw_address=1,52:54:0:b:c:d\n\tlease=0x6c",
           "192.168.64.5");
    expect("{\nip_address=1.2.3.4\nhw_address=1,52:54:0:b:c:d:e\n}\n"
           "{\nip_address=1.2.3.4\nhw_address=1,52:54:0:b:c\n}\n"
           "{\nip_address=1.2.3.4\nhw_address=1,\n}\n{\nip_address=1.2.3.4\nhw_address=zz,1\n}\n"
           "{\nip_address=1.2.3.4\nhw_address=1,152:54:0:b:c:d\n}\n",
           NULL);
}

static void no_file_is_not_known_yet(void **state)
{
    struct error err;
    CLEANUP(strvec_release) struct strvec found = STRVEC_INIT;
    cleanup_free char *path = temp_path(state, "dhcpd_leases");
    assert_fails(lease_find(&found, path, mac, "my-vm", now, &err), err, ENOENT, path);
    put_text(path, "{\n\tip_address=192.168.64.5\n\thw_address=1,1:2:3:4:5:6\n}\n");
    assert_fails(lease_find(&found, path, mac, "my-vm", now, &err), err, ENOENT,
                 "no lease for 52:54:00:0b:0c:0d");
    assert_int_equal(found.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_stripped_bytes),
        cmocka_unit_test(other_machines_do_not_count),
        cmocka_unit_test(newest_first),
        cmocka_unit_test(an_address_is_told_once),
        cmocka_unit_test(no_more_than_the_best_few),
        cmocka_unit_test(ended_leases_do_not_count),
        cmocka_unit_test(duid_by_name),
        cmocka_unit_test(duid_holds_the_mac),
        cmocka_unit_test(the_mac_comes_before_a_name),
        cmocka_unit_test(a_domain_is_no_difference),
        cmocka_unit_test(oddities_are_passed_over),
        cmocka_unit_test(no_file_is_not_known_yet),
    };
    return cmocka_run_group_tests_name("lease", tests, temp_home_setup, temp_home_teardown);
}
