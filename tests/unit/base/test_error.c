// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <string.h>

static void message_and_code(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(error_set(&err, ENOENT, "no '%s'", "x"), -1);
    assert_int_equal(err.code, ENOENT);
    assert_string_equal(err.message, "no 'x'");
    errno = EACCES;
    error_errno(&err, "cannot open '%s'", "f");
    assert_int_equal(err.code, EACCES);
    assert_string_equal(err.message, "cannot open 'f': Permission denied");
    error_prefix(&err, "machine %d", 7);
    assert_string_equal(err.message, "machine 7: cannot open 'f': Permission denied");
    error_append(&err, " (%s)", "hint");
    assert_string_equal(err.message, "machine 7: cannot open 'f': Permission denied (hint)");
}

static void long_texts_are_cut_not_overrun(void **state)
{
    (void)state;
    struct error err;
    char text[4000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    error_set(&err, EIO, "%s", text);
    error_prefix(&err, "%s", text);
    error_append(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    error_set(&err, EIO, "tail");
    error_prefix(&err, "%.2000s", text);
    assert_non_null(strstr(err.message, ": tail"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_and_code),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
