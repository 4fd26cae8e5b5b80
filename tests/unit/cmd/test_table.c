// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include "cmd/table.h"

// The right column is what Go's tabwriter gives with podman's settings.
static void aligns_as_tabwriter(void **state)
{
    (void)state;
    static const struct {
        const char *text, *aligned;
    } rows[] = {
        {"", ""},
        {"x", "x"},
        {"x\n", "x\n"},
        {"a\tb\n", "a           b\n"},
        {"a\tb\tc\n1\t2\t3\n", "a           b           c\n1           2           3\n"},
        {"name is long as this\tx\nshort\ty\n",
         "name is long as this  x\nshort                 y\n"},
        {"a\t\nb\t\n", "a           \nb           \n"},
        {"a\tb\nplain\nc\td\n", "a           b\nplain\nc           d\n"},
        {"a\tb\tc\nlonger than twelve\td\nx\ty\tz\n",
         "a                   b           c\nlonger than twelve  d\nx                   y          "
         " z\n"},
        {"\t\t\n", "                        \n"},
        {"\n\n", "\n\n"},
        {"a\tb", "a           b"},
        {"a\t", "a"},
        {"a\tb\t", "a           b"},
        {"x\ty\na\t", "x           y\na"},
        {"\xc3\xa4\xe2\x82\xac\tb\nabcdefghijkl\tb\n",
         "\xc3\xa4\xe2\x82\xac            b\nabcdefghijkl  b\n"},
        {"a\t\t\tb\n", "a                                   b\n"},
        {"1\t2345678901234567890\t3\n1\t2\n",
         "1           2345678901234567890  3\n1           2\n"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        cleanup_free char *aligned = table_align(rows[i].text);
        assert_string_equal(aligned, rows[i].aligned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(aligns_as_tabwriter)};
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
