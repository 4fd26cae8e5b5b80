// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <string.h>

#include "base/json.h"
#include "cmd/toml.h"

static void gives(const char *text, const char *json)
{
    struct error err = {0};
    cleanup_json json_t *root = NULL;
    if (toml_parse(&root, text, strlen(text), &err) < 0)
        fail_msg("'%s': %s", text, err.message);
    cleanup_free char *got = json_compact(root);
    assert_string_equal(got, json);
}

static void refuses(const char *text, const char *message)
{
    struct error err = {0};
    cleanup_json json_t *root = NULL;
    if (toml_parse(&root, text, strlen(text), &err) == 0)
        fail_msg("'%s' was taken", text);
    assert_string_equal(err.message, message);
    assert_null(root);
}

static void values(void **state)
{
    (void)state;
    gives("", "{}");
    gives("\xef\xbb\xbf# only\r\n\n", "{}");
    gives("a = 1", "{\"a\":1}");
    gives("a=+12_000", "{\"a\":12000}");
}

static void numbers(void **state)
{
    (void)state;
    gives("a=0xfF\nb=0o17\nc=0b11\nx=-7", "{\"a\":255,\"b\":15,\"c\":3,\"x\":-7}");
    gives("a=1.5\nb=5e2\nc=-0.25", "{\"a\":1.5,\"b\":500.0,\"c\":-0.25}");
    gives("a=true\nb=false", "{\"a\":true,\"b\":false}");
    gives("a=1979-05-27T07:32:00Z\nb=07:32:00",
          "{\"a\":\"1979-05-27T07:32:00Z\",\"b\":\"07:32:00\"}");
}

static void strings(void **state)
{
    (void)state;
    gives("a='C:\\x'", "{\"a\":\"C:\\\\x\"}");
    gives("a=\"q\\\"\\t\\u00e4\\U0001F600\"", "{\"a\":\"q\\\"\\tä😀\"}");
    gives("a=\"\"\"\none\\\n   two\"\"\"\"", "{\"a\":\"onetwo\\\"\"}");
    gives("a='''x\n'y'''", "{\"a\":\"x\\n'y\"}");
    gives("a=\"\"", "{\"a\":\"\"}");
    gives("a=\"# no comment\" # comment", "{\"a\":\"# no comment\"}");
}

static void tables(void **state)
{
    (void)state;
    gives("[machine]\ncpus=4\n[engine]\nenv=[\"A=b\",\n # x\n 'C=d',\n]\n",
          "{\"machine\":{\"cpus\":4},\"engine\":{\"env\":[\"A=b\",\"C=d\"]}}");
    gives("[a.b]\nc.d=1\n[a]\n\"x y\"=2\n", "{\"a\":{\"b\":{\"c\":{\"d\":1}},\"x y\":2}}");
    gives("a={b=1, c={}}\n", "{\"a\":{\"b\":1,\"c\":{}}}");
    gives("[[p]]\nn=1\n[[p]]\nn=2\n[p.q]\nr=3\n", "{\"p\":[{\"n\":1},{\"n\":2,\"q\":{\"r\":3}}]}");
    gives("a=[[1,2],[\"x\"],{append=true}]", "{\"a\":[[1,2],[\"x\"],{\"append\":true}]}");
}

static void faults(void **state)
{
    (void)state;
    refuses("\n\na = \n", "line 3: there is no value that can be read");
    refuses("a=1\na=2", "line 2: a key is given twice");
    refuses("[a]\n[a]\n", "line 2: a table is given twice");
    refuses("a=1\n[a]\n", "line 2: a table is given twice");
    refuses("a=\"x", "line 1: a string has no end");
    refuses("a=\"x\n\"", "line 1: a string has no end");
    refuses("a=\"\\q\"", "line 1: there is no such escape in a string");
    refuses("a=1 b=2", "line 1: there is something after the value");
    refuses("a=[1 2]", "line 1: an array needs ',' or ']' here");
    refuses("a={b=1,\n}", "line 1: there should be a key here");
    refuses("=1", "line 1: there should be a key here");
    refuses("a 1", "line 1: there should be '=' after a key");
    refuses("a=012", "line 1: there is no value that can be read");
    refuses("a=1__0", "line 1: there is no value that can be read");
    refuses("a=99999999999999999999", "line 1: there is no value that can be read");
    refuses("a=\"\xff\"", "line 1: a string is not valid UTF-8");
    refuses("a.b=1\n[a.b.c]\n", "line 2: a key is a value here and a table there");
    char deep[301] = {[0] = 'a', [1] = '='};
    memset(deep + 2, '[', sizeof(deep) - 3);
    refuses(deep, "line 1: values are nested too deeply");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values), cmocka_unit_test(numbers), cmocka_unit_test(strings),
        cmocka_unit_test(tables), cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
