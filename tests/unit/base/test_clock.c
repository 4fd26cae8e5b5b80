// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <string.h>

#include "base/clock.h"

static void formats_as_go_does(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "0001-01-01T00:00:00Z"},
        {1000000000, "1970-01-01T00:00:01Z"},
        {1796057317002920583, "2026-11-30T16:48:37.002920583Z"},
        {1796057317500000000, "2026-11-30T16:48:37.5Z"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = clock_format_rfc3339(rows[i].ns);
        int64_t back = -1;
        assert_string_equal(text, rows[i].text);
        assert_true(clock_parse_rfc3339(text, &back));
        assert_int_equal(back, rows[i].ns);
    }
}

static void reads_offsets_and_refuses_the_rest(void **state)
{
    (void)state;
    int64_t ns = 7;
    assert_true(clock_parse_rfc3339("1970-01-01T05:30:01+05:30", &ns));
    assert_int_equal(ns, 1000000000);
    assert_true(clock_parse_rfc3339("1969-12-31T23:00:01-01:00", &ns));
    assert_int_equal(ns, 1000000000);
    static const char *const wrong[] = {"", "now", "2026-11-30", "2026-11-30T16:48:37",
                                        "2026-11-30T16:48:37X"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_false(clock_parse_rfc3339(wrong[i], &ns));
}

static void monotonic_goes_on(void **state)
{
    (void)state;
    int64_t before = clock_monotonic_ms();
    clock_sleep_ms(20);
    assert_true(clock_monotonic_ms() >= before + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_as_go_does),
        cmocka_unit_test(reads_offsets_and_refuses_the_rest),
        cmocka_unit_test(monotonic_goes_on),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
