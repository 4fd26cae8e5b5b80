// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <string.h>

#include "base/strvec.h"

static void pushes_and_splits(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;
    for (int i = 0; i < 100; i++)
        strvec_pushf(&vec, "%d", i);
    assert_int_equal(vec.count, 100);
    assert_null(vec.items[100]);
    assert_true(strvec_contains(&vec, "99"));
    assert_false(strvec_contains(&vec, "100"));
    strvec_split(&vec, "a::b", ':');
    assert_string_equal(vec.items[100], "a");
    assert_string_equal(vec.items[101], "");
    assert_string_equal(vec.items[102], "b");
    assert_null(vec.items[103]);
}

static void quoting_survives_a_shell(void **state)
{
    (void)state;
    CLEANUP(strvec_release) struct strvec vec = STRVEC_INIT;
    strvec_push(&vec, "plain-1.2/x=y");
    strvec_push(&vec, "");
    strvec_push(&vec, "it's $HOME `x`\n");
    cleanup_free char *line = strvec_quote(&vec);
    assert_string_equal(line, "plain-1.2/x=y '' 'it'\\''s $HOME `x`\n'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_and_splits),
        cmocka_unit_test(quoting_survives_a_shell),
    };
    return cmocka_run_group_tests_name("strvec", tests, NULL, NULL);
}
