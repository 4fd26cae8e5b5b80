// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include "cmd/units.h"

static void sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0B"},
        {1023, "1023B"},
        {1024, "1KiB"},
        {1536 << 20, "1.5GiB"},
        {2048ull << 20, "2GiB"},
        {11ull << 30, "11GiB"},
        {100ull << 30, "100GiB"},
        {(1ull << 30) - 1, "1024MiB"},
        {1234567890, "1.15GiB"},
        {3ull << 40, "3TiB"},
        {UINT64_MAX, "16EiB"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = units_size(rows[i].bytes);
        assert_string_equal(text, rows[i].text);
    }
}

static void durations(void **state)
{
    (void)state;
    const int64_t second = 1000000000, minute = 60, hour = 3600, day = 86400;
    const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {-5, "Less than a second"},
        {0, "Less than a second"},
        {1, "1 second"},
        {2, "2 seconds"},
        {59, "59 seconds"},
        {60, "About a minute"},
        {119, "About a minute"},
        {120, "2 minutes"},
        {59 * minute + 59, "59 minutes"},
        {hour, "About an hour"},
        {89 * minute + 59, "About an hour"},
        {90 * minute, "2 hours"},
        {47 * hour, "47 hours"},
        {48 * hour, "2 days"},
        {14 * day - 1, "2 weeks"}, // the hours are rounded first
        {13 * day, "13 days"},
        {59 * day, "8 weeks"},
        {60 * day, "2 months"},
        {729 * day, "24 months"},
        {730 * day, "2 years"},
        {3650 * day, "10 years"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *text = units_duration(rows[i].seconds * second);
        assert_string_equal(text, rows[i].text);
    }
    cleanup_free char *almost = units_duration(second - 1);
    assert_string_equal(almost, "Less than a second");
}

// What Go's time.Format gives for three moments.
static void layouts(void **state)
{
    (void)state;
    static const int64_t moments[] = {1793678706002920583, 1769792917500000000, 0};
    static const struct {
        const char *layout, *wanted[3];
    } rows[] = {
        {"Mon Jan _2 15:04:05 2006",
         {"Tue Nov  3 04:05:06 2026", "Fri Jan 30 17:08:37 2026", "Mon Jan  1 00:00:00 0001"}},
        {"Mon Jan _2 15:04:05 MST 2006",
         {"Tue Nov  3 04:05:06 UTC 2026", "Fri Jan 30 17:08:37 UTC 2026",
          "Mon Jan  1 00:00:00 UTC 0001"}},
        {"Mon Jan 02 15:04:05 -0700 2006",
         {"Tue Nov 03 04:05:06 +0000 2026", "Fri Jan 30 17:08:37 +0000 2026",
          "Mon Jan 01 00:00:00 +0000 0001"}},
        {"02 Jan 06 15:04 MST",
         {"03 Nov 26 04:05 UTC", "30 Jan 26 17:08 UTC", "01 Jan 01 00:00 UTC"}},
        {"02 Jan 06 15:04 -0700",
         {"03 Nov 26 04:05 +0000", "30 Jan 26 17:08 +0000", "01 Jan 01 00:00 +0000"}},
        {"Monday, 02-Jan-06 15:04:05 MST",
         {"Tuesday, 03-Nov-26 04:05:06 UTC", "Friday, 30-Jan-26 17:08:37 UTC",
          "Monday, 01-Jan-01 00:00:00 UTC"}},
        {"Mon, 02 Jan 2006 15:04:05 MST",
         {"Tue, 03 Nov 2026 04:05:06 UTC", "Fri, 30 Jan 2026 17:08:37 UTC",
          "Mon, 01 Jan 0001 00:00:00 UTC"}},
        {"Mon, 02 Jan 2006 15:04:05 -0700",
         {"Tue, 03 Nov 2026 04:05:06 +0000", "Fri, 30 Jan 2026 17:08:37 +0000",
          "Mon, 01 Jan 0001 00:00:00 +0000"}},
        {"2006-01-02T15:04:05Z07:00",
         {"2026-11-03T04:05:06Z", "2026-01-30T17:08:37Z", "0001-01-01T00:00:00Z"}},
        {"2006-01-02T15:04:05.999999999Z07:00",
         {"2026-11-03T04:05:06.002920583Z", "2026-01-30T17:08:37.5Z", "0001-01-01T00:00:00Z"}},
        {"3:04PM", {"4:05AM", "5:08PM", "12:00AM"}},
        {"Jan _2 15:04:05", {"Nov  3 04:05:06", "Jan 30 17:08:37", "Jan  1 00:00:00"}},
        {"Jan _2 15:04:05.000",
         {"Nov  3 04:05:06.002", "Jan 30 17:08:37.500", "Jan  1 00:00:00.000"}},
        {"Jan _2 15:04:05.000000",
         {"Nov  3 04:05:06.002920", "Jan 30 17:08:37.500000", "Jan  1 00:00:00.000000"}},
        {"Jan _2 15:04:05.000000000",
         {"Nov  3 04:05:06.002920583", "Jan 30 17:08:37.500000000", "Jan  1 00:00:00.000000000"}},
        {"2006-01-02 15:04:05",
         {"2026-11-03 04:05:06", "2026-01-30 17:08:37", "0001-01-01 00:00:00"}},
        {"2006-01-02", {"2026-11-03", "2026-01-30", "0001-01-01"}},
        {"15:04:05", {"04:05:06", "17:08:37", "00:00:00"}},
        {"2006-01-02 15:04:05.999999999 -0700 MST",
         {"2026-11-03 04:05:06.002920583 +0000 UTC", "2026-01-30 17:08:37.5 +0000 UTC",
          "0001-01-01 00:00:00 +0000 UTC"}},
        {"", {"", "", ""}},
        {"Janet Jan Monday Mond Mon",
         {"Janet Nov Tuesday Mond Tue", "Janet Jan Friday Mond Fri", "Janet Jan Monday Mond Mon"}},
        {"_2006 _2 2 02 002 __2",
         {"_2026  3 3 03 307 307", "_2026 30 30 30 030  30", "_0001  1 1 01 001   1"}},
        {"3 03 15 pm PM", {"4 04 04 am AM", "5 05 17 pm PM", "12 12 00 am AM"}},
        {"4:5 04:05 1/2/06", {"5:6 05:06 11/3/26", "8:37 08:37 1/30/26", "0:0 00:00 1/1/01"}},
        {".000,999.00x.0001", {".002,002.00x.0011", ".500,5.50x.0001", ".000.00x.0001"}},
        {"-07 -07:00 -0700 -07:00:00 -070000 Z07 Z07:00 Z0700",
         {"+00 +00:00 +0000 +00:00:00 +000000 Z Z Z", "+00 +00:00 +0000 +00:00:00 +000000 Z Z Z",
          "+00 +00:00 +0000 +00:00:00 +000000 Z Z Z"}},
        {"100 20 6 7 8 9", {"1100 30 6 7 8 9", "100 300 6 7 8 9", "100 10 6 7 8 9"}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(moments); j++) {
            cleanup_free char *text = units_time(moments[j], rows[i].layout);
            assert_string_equal(text, rows[i].wanted[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations),
        cmocka_unit_test(layouts),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
