// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/support.h"

#include <string.h>

#include "cmd/text.h"

static void quotes_as_go(void **state)
{
    (void)state;
    static const struct {
        const char *text, *quoted;
    } rows[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\a\b\f\n\r\t\v", "\"\\a\\b\\f\\n\\r\\t\\v\""},
        {"\x01\x7f", "\"\\x01\\x7f\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff\xc3", "\"\\xff\\xc3\""},
        {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""}, // a surrogate is not UTF-8
        {"\xc0\xaf", "\"\\xc0\\xaf\""},          // nor is an overlong slash
        {"\xe2\x80\xa8", "\"\\u2028\""},
        {"it's", "\"it's\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
        text_quote(&out, rows[i].text);
        assert_string_equal(out.text, rows[i].quoted);
    }
}

static void quotes_single_characters(void **state)
{
    (void)state;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    text_quote_char(&out, 'Z');
    text_quote_char(&out, '\'');
    text_quote_char(&out, '"');
    text_quote_char(&out, '\n');
    text_quote_char(&out, 0xe4);
    assert_string_equal(out.text, "'Z''\\'''\"''\\n''\xc3\xa4'");
}

static void counts_characters(void **state)
{
    (void)state;
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("abc"), 3);
    assert_int_equal(text_width("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 3);
    assert_int_equal(text_width("\xff\xff"), 2);
}

static void parses_numbers_as_go(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t number;
        const char *reason;
    } rows[] = {
        {"0", 0, NULL},
        {"4096", 4096, NULL},
        {"0x400", 0x400, NULL},
        {"0XfF", 255, NULL},
        {"0b101", 5, NULL},
        {"0o17", 15, NULL},
        {"010", 8, NULL},
        {"1_000", 1000, NULL},
        {"0x_ff", 255, NULL},
        {"0_7", 7, NULL},
        {"18446744073709551615", UINT64_MAX, NULL},
        {"18446744073709551616", 0, "value out of range"},
        {"99999999999999999999999", 0, "value out of range"},
        {"", 0, "invalid syntax"},
        {"abc", 0, "invalid syntax"},
        {"-1", 0, "invalid syntax"},
        {"+1", 0, "invalid syntax"},
        {" 1", 0, "invalid syntax"},
        {"1 ", 0, "invalid syntax"},
        {"1.5", 0, "invalid syntax"},
        {"0x", 0, "invalid syntax"},
        {"0b2", 0, "invalid syntax"},
        {"08", 0, "invalid syntax"},
        {"1__0", 0, "invalid syntax"},
        {"_1", 0, "invalid syntax"},
        {"1_", 0, "invalid syntax"},
        {"_", 0, "invalid syntax"},
        {"99999999999999999999999x", 0, "invalid syntax"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t number = 77;
        const char *reason = text_parse_uint(rows[i].text, &number);
        if (rows[i].reason) {
            if (!reason || strcmp(reason, rows[i].reason) != 0)
                fail_msg("'%s': %s", rows[i].text, reason ? reason : "accepted");
            assert_int_equal(number, 77);
        } else if (reason || number != rows[i].number) {
            fail_msg("'%s': %s, %llu", rows[i].text, reason ? reason : "accepted",
                     (unsigned long long)number);
        }
    }
}

static void parses_bools_as_go(void **state)
{
    (void)state;
    static const char *const words[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const nots[] = {"0", "f", "F", "FALSE", "false", "False"};
    static const char *const wrong[] = {"", "yes", "tRUE", "2", "on"};
    bool flag = false;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        flag = false;
        assert_null(text_parse_bool(words[i], &flag));
        assert_true(flag);
        assert_null(text_parse_bool(nots[i], &flag));
        assert_false(flag);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_string_equal(text_parse_bool(wrong[i], &flag), "invalid syntax");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_as_go),       cmocka_unit_test(quotes_single_characters),
        cmocka_unit_test(counts_characters),  cmocka_unit_test(parses_numbers_as_go),
        cmocka_unit_test(parses_bools_as_go),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
