// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

// cmocka wants these four before it.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include "base/error.h"

// A folder of the test's own below $TMPDIR, which is also HOME and the XDG folders' parent from
// then on (XDG_*, TMPDIR unset or pointed into it): nothing of the user's is read or written.
// Use as cmocka's group or test fixtures; *state is the path.
int temp_home_setup(void **state);
int temp_home_teardown(void **state);

// The caller frees. Fails the test if it cannot.
char *temp_path(void **state, const char *name);
void put_file(const char *path, const void *bytes, size_t length);
void put_text(const char *path, const char *text);
char *get_text(const char *path);

// Fails the test, with the message, unless the call gave 0.
#define assert_ok(call, err)                          \
    do {                                              \
        if ((call) != 0)                              \
            fail_msg("%s: %s", #call, (err).message); \
    } while (0)

// Fails the test unless the call gave -1 with this code and a message that holds `words`.
#define assert_fails(call, err, wanted, words)                          \
    do {                                                                \
        assert_int_equal((call), -1);                                   \
        assert_int_equal((err).code, (wanted));                         \
        if (!strstr((err).message, (words)))                            \
            fail_msg("'%s' does not say '%s'", (err).message, (words)); \
    } while (0)

#endif
