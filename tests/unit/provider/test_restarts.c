// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include "provider/restarts.h"

static void three_in_a_row(void **state)
{
    (void)state;
    struct restarts restarts = {.begun_ms = 1000};
    for (int64_t now = 2000; now < 5000; now += 1000)
        assert_true(restarts_allow(&restarts, now));
    assert_false(restarts_allow(&restarts, 5000));
}

static void a_long_run_begins_anew(void **state)
{
    (void)state;
    struct restarts restarts = {.count = 4, .begun_ms = 1000};
    assert_false(restarts_allow(&restarts, 601000));
    assert_true(restarts_allow(&restarts, 601001));
    assert_int_equal(restarts.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_in_a_row),
        cmocka_unit_test(a_long_run_begins_anew),
    };
    return cmocka_run_group_tests_name("restarts", tests, NULL, NULL);
}
