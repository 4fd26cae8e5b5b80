// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "provider/version.h"

static void assert_parsed(const char *text, const char *wanted)
{
    const struct version version = version_parse(text);
    cleanup_free char *found = version_text(&version);
    assert_string_equal(found, wanted);
}

static void parses(void **state)
{
    (void)state;
    assert_parsed("krunkit 1.2.1\n", "1.2.1");
    assert_parsed("version: v0.13.0\ncommit: 1234567.8\n", "0.13.0");
    assert_parsed("version: v0.13.0-3-gabc-dirty", "0.13.0");
    assert_parsed("vfkit version: v0.6.3\n", "0.6.3");
    assert_parsed("1.0", "1.0.0");
    assert_parsed("QEMU 10", "unknown");
    assert_parsed("99999999999999.1", "unknown");
    assert_parsed("", "unknown");
}

static void compares(void **state)
{
    (void)state;
    const struct version version = {1, 2, 1}, none = {0};
    assert_true(version_at_least(&version, 1, 2, 1));
    assert_true(version_at_least(&version, 0, 13, 0));
    assert_false(version_at_least(&version, 1, 2, 2));
    assert_false(version_at_least(&version, 1, 3, 0));
    assert_false(version_at_least(&version, 2, 0, 0));
    assert_false(version_at_least(&none, 0, 0, 1));
    assert_false(version_known(&none));
}

static void asks(void **state)
{
    cleanup_free char *tool = temp_path(state, "tool");
    put_text(tool, "#!/bin/sh\n[ \"$*\" = --version ] && echo tool v3.4.5\n");
    chmod(tool, 0700);
    struct version version = version_of(tool);
    assert_int_equal(version.minor, 4);
    put_text(tool, "#!/bin/sh\necho tool 3.4.5\nexit 2\n");
    version = version_of(tool);
    assert_false(version_known(&version));
    version = version_of("/no/such/tool");
    assert_false(version_known(&version));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(compares),
        cmocka_unit_test(asks),
    };
    return cmocka_run_group_tests_name("version", tests, temp_home_setup, temp_home_teardown);
}
