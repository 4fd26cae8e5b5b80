// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void round_trip(void **state)
{
    struct error err;
    cleanup_free char *path = temp_path(state, "r.json");
    cleanup_json json_t *root = json_pack("{s:s, s:i, s:b, s:n}", "t", "ä\"", "n", 7, "f", 1, "z");
    cleanup_json json_t *back = NULL;
    assert_ok(json_write_file(path, root, 0600, &err), err);
    assert_ok(json_read_file(&back, path, &err), err);
    cleanup_free char *text = NULL;
    uint64_t number = 0;
    bool flag = false;
    assert_ok(json_get_string(back, "t", &text, &err), err);
    assert_ok(json_get_uint(back, "n", &number, &err), err);
    assert_ok(json_get_bool(back, "f", &flag, &err), err);
    assert_string_equal(text, "ä\"");
    assert_int_equal(number, 7);
    assert_true(flag);
    assert_ok(json_get_string(back, "z", &text, &err), err);
    assert_ok(json_get_string(back, "absent", &text, &err), err);
    assert_string_equal(text, "ä\"");
    assert_fails(json_get_uint(back, "t", &number, &err), err, EBADMSG, "'t'");
    assert_fails(json_get_string(back, "n", &text, &err), err, EBADMSG, "'n'");
    assert_fails(json_get_bool(back, "n", &flag, &err), err, EBADMSG, "'n'");
}

static void refuses_what_is_no_object(void **state)
{
    struct error err;
    json_t *root = NULL;
    cleanup_free char *path = temp_path(state, "bad.json");
    assert_fails(json_read_file(&root, path, &err), err, ENOENT, "bad.json");
    static const char *const wrong[] = {"", "[]", "{", "{\"a\":1}x", "null"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        put_text(path, wrong[i]);
        assert_fails(json_read_file(&root, path, &err), err, EBADMSG, "bad.json");
        assert_null(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(refuses_what_is_no_object),
    };
    return cmocka_run_group_tests_name("json", tests, temp_home_setup, temp_home_teardown);
}
