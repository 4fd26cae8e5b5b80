// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include "base/json.h"
#include "cmd/output.h"

static const char document[] =
    "{\"b\": [1, -2, true, null, [], {}], \"a\": {\"x\": \"<&>\"}, \"c\": false}";

static void writes_as_go(void **state)
{
    (void)state;
    static const struct {
        const char *json, *wanted;
        unsigned indent;
        bool html;
    } rows[] = {
        {"[]", "[]", 4, true},
        {"{}", "{}", 4, true},
        {"[]", "[]", 0, true},
        {document, "{\"b\":[1,-2,true,null,[],{}],\"a\":{\"x\":\"<&>\"},\"c\":false}", 0, false},
        {document,
         "{\"b\":[1,-2,true,null,[],{}],\"a\":{\"x\":\"\\u003c\\u0026\\u003e\"},\"c\":false}", 0,
         true},
        {document,
         "{\n  \"b\": [\n    1,\n    -2,\n    true,\n    null,\n    [],\n    {}\n  ],\n"
         "  \"a\": {\n    \"x\": \"<&>\"\n  },\n  \"c\": false\n}",
         2, false},
        {"[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"]",
         "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"]", 0, false},
        {"[\"\\u2028\\u2029\\u00e4\\ud83d\\ude00\"]",
         "[\"\\u2028\\u2029\xc3\xa4\xf0\x9f\x98\x80\"]", 0, false},
        {"[9223372036854775807]", "[9223372036854775807]", 0, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
        cleanup_json json_t *value = json_loads(rows[i].json, 0, NULL);
        assert_non_null(value);
        output_json(&out, value, rows[i].indent, rows[i].html);
        assert_string_equal(out.text, rows[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_as_go)};
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
