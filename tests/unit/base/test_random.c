// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static void mac_is_local_and_unicast(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        cleanup_free char *mac = random_mac();
        cleanup_free char *other = random_mac();
        assert_int_equal(strlen(mac), 17);
        long first = strtol(mac, NULL, 16);
        assert_int_equal(first & 3, 2);
        assert_string_not_equal(mac, other);
    }
}

static void uuid_has_its_form(void **state)
{
    (void)state;
    cleanup_free char *uuid = random_uuid();
    assert_int_equal(strlen(uuid), 36);
    assert_int_equal(uuid[14], '4');
    assert_non_null(strchr("89ab", uuid[19]));
    assert_int_equal(strspn(uuid, "0123456789abcdef-"), 36);
}

static void large_requests(void **state)
{
    (void)state;
    unsigned char bytes[1000] = {0};
    random_bytes(bytes, sizeof(bytes));
    int zeros = 0;
    for (size_t i = 900; i < sizeof(bytes); i++)
        zeros += bytes[i] == 0;
    assert_true(zeros < 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mac_is_local_and_unicast),
        cmocka_unit_test(uuid_has_its_form),
        cmocka_unit_test(large_requests),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
