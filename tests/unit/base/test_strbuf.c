// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <string.h>

#include "base/strbuf.h"

static void empty_is_printable(void **state)
{
    (void)state;
    struct strbuf buf = STRBUF_INIT;
    assert_string_equal(buf.text, "");
    strbuf_truncate(&buf, 0);
    strbuf_release(&buf);
}

static void grows_and_keeps_nuls(void **state)
{
    (void)state;
    CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT;
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&buf, "%d,", i);
    assert_int_equal(buf.length, 10 * 2 + 90 * 3 + 900 * 4);
    strbuf_reset(&buf);
    strbuf_add(&buf, "a\0b", 3);
    assert_int_equal(buf.length, 3);
    assert_memory_equal(buf.text, "a\0b", 4);
}

static void stealing_leaves_an_empty_one(void **state)
{
    (void)state;
    struct strbuf buf = STRBUF_INIT;
    cleanup_free char *nothing = strbuf_steal(&buf);
    assert_string_equal(nothing, "");
    strbuf_adds(&buf, "word");
    cleanup_free char *word = strbuf_steal(&buf);
    assert_string_equal(word, "word");
    assert_int_equal(buf.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_printable),
        cmocka_unit_test(grows_and_keeps_nuls),
        cmocka_unit_test(stealing_leaves_an_empty_one),
    };
    return cmocka_run_group_tests_name("strbuf", tests, NULL, NULL);
}
