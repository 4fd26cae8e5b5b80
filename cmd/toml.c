// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/toml.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cmd/text.h"

// Deeper than anybody's configuration, and not so deep that the stack minds.
static const unsigned deepest = 64;

struct reader {
    const char *at, *end;
    unsigned line, depth;
    json_t *sealed; // array of the tables that `[name]` or `{...}` has closed to a second one
    struct error *err;
};

static int fail(struct reader *r, const char *what)
{
    return error_set(r->err, EBADMSG, "line %u: %s", r->line, what);
}

static char peek(const struct reader *r, size_t ahead)
{
    return (size_t)(r->end - r->at) > ahead ? r->at[ahead] : '\0';
}

static bool take(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

static void skip_blanks(struct reader *r)
{
    while (peek(r, 0) == ' ' || peek(r, 0) == '\t')
        r->at++;
}

static bool take_newline(struct reader *r)
{
    if (!take(r, "\n") && !take(r, "\r\n"))
        return false;
    r->line++;
    return true;
}

static void skip_comment(struct reader *r)
{
    if (peek(r, 0) == '#')
        while (r->at < r->end && *r->at != '\n')
            r->at++;
}

// Blanks, comments and ends of lines: what may stand between the elements of an array.
static void skip_space(struct reader *r)
{
    do {
        skip_blanks(r);
        skip_comment(r);
    } while (take_newline(r));
}

static bool is_sealed(const struct reader *r, const json_t *table)
{
    json_t *entry;
    size_t i;
    json_array_foreach(r->sealed, i, entry)
    {
        if (entry == table)
            return true;
    }
    return false;
}

// --- strings
// --------------------------------------------------------------------------------------

static int read_code(struct reader *r, unsigned digits, struct strbuf *out)
{
    uint32_t code = 0;
    for (unsigned i = 0; i < digits; i++) {
        char c = peek(r, 0);
        if (!isxdigit((unsigned char)c))
            return fail(r, "a \\u escape needs hexadecimal digits");
        code = code * 16 + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
        r->at++;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(r, "an escape stands for no character");
    text_add_char(out, code);
    return 0;
}

static int read_escape(struct reader *r, bool lines, struct strbuf *out)
{
    static const char letters[] = "btnfr\"\\";
    static const char controls[] = "\b\t\n\f\r\"\\";
    char c = peek(r, 0);
    const char *letter = c ? strchr(letters, c) : NULL;
    if (letter) {
        r->at++;
        strbuf_addc(out, controls[letter - letters]);
        return 0;
    }
    if (c == 'u' || c == 'U') {
        r->at++;
        return read_code(r, c == 'u' ? 4 : 8, out);
    }
    if (lines) { // at the end of a line: goes on at the next word
        skip_blanks(r);
        if (take_newline(r)) {
            do
                skip_blanks(r);
            while (take_newline(r));
            return 0;
        }
    }
    return fail(r, "there is no such escape in a string");
}

static int read_string(struct reader *r, struct strbuf *out)
{
    char quote = *r->at;
    const char three[] = {quote, quote, quote, '\0'}, one[] = {quote, '\0'};
    bool lines = take(r, three);
    const char *end = lines ? three : one;
    if (!lines)
        r->at++;
    else
        take_newline(r);
    for (;;) {
        if (r->at == r->end)
            return fail(r, "a string has no end");
        if (take(r, end)) {
            // """" ends in one quote that belongs to the text, """"" in two.
            for (int more = 0; lines && more < 2 && take(r, one); more++)
                strbuf_addc(out, quote);
            return 0;
        }
        unsigned char c = (unsigned char)*r->at;
        if (c == '\\' && quote == '"') {
            r->at++;
            if (read_escape(r, lines, out) < 0)
                return -1;
        } else if (lines && take_newline(r)) {
            strbuf_addc(out, '\n');
        } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return fail(r, c == '\n' ? "a string has no end" : "a control character in a string");
        } else {
            strbuf_addc(out, (char)c);
            r->at++;
        }
    }
}

static int read_string_value(struct reader *r, json_t **value)
{
    CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
    if (read_string(r, &text) < 0)
        return -1;
    *value = json_stringn(text.text, text.length);
    return *value ? 0 : fail(r, "a string is not valid UTF-8");
}

// --- other values
// ---------------------------------------------------------------------------------

static int read_value(struct reader *r, json_t **value);
static int read_pair(struct reader *r, json_t *table);

static int read_array(struct reader *r, json_t **value)
{
    cleanup_json json_t *array = json_array();
    r->at++;
    for (;;) {
        json_t *item = NULL;
        skip_space(r);
        if (take(r, "]"))
            break;
        if (read_value(r, &item) < 0)
            return -1;
        json_array_append_new(array, item);
        skip_space(r);
        if (!take(r, ",") && peek(r, 0) != ']')
            return fail(r, "an array needs ',' or ']' here");
    }
    *value = json_incref(array);
    return 0;
}

static int read_inline_table(struct reader *r, json_t **value)
{
    cleanup_json json_t *table = json_object();
    r->at++;
    skip_blanks(r);
    bool more = !take(r, "}");
    while (more) {
        skip_blanks(r);
        if (read_pair(r, table) < 0)
            return -1;
        skip_blanks(r);
        more = take(r, ",");
        if (!more && !take(r, "}"))
            return fail(r, "an inline table needs ',' or '}' here");
    }
    json_array_append(r->sealed, table);
    *value = json_incref(table);
    return 0;
}

// The digits of a number without the underscores between them; false: one stands where it may
// not.
static bool collect_digits(const char *word, size_t length, char *digits)
{
    for (size_t i = 0; i < length; i++) {
        if (word[i] != '_')
            *digits++ = word[i];
        else if (i == 0 || i + 1 == length || !isxdigit((unsigned char)word[i - 1]) ||
                 !isxdigit((unsigned char)word[i + 1]))
            return false;
    }
    *digits = '\0';
    return true;
}

static json_t *integer(const char *digits)
{
    bool sign = *digits == '+' || *digits == '-';
    const char *first = digits + sign;
    int base = 10;
    if (!sign && first[0] == '0' && first[1] && strchr("xob", first[1])) {
        base = first[1] == 'x' ? 16 : first[1] == 'o' ? 8 : 2;
        first += 2;
    } else if (first[0] == '0' && first[1]) {
        return NULL; // a leading zero means nothing in TOML, and octal to other readers
    }
    if (!isxdigit((unsigned char)*first))
        return NULL;
    char *end;
    errno = 0;
    long long number = strtoll(base == 10 ? digits : first, &end, base);
    return *end || errno ? NULL : json_integer(number);
}

static json_t *real(const char *digits)
{
    const char *first = digits + (*digits == '+' || *digits == '-');
    size_t whole = strspn(first, "0123456789");
    const char *rest = first + whole;
    if (!whole || (whole > 1 && *first == '0'))
        return NULL;
    if (!*rest)
        return NULL; // an integer, and too large for one
    if (*rest == '.') {
        size_t fraction = strspn(rest + 1, "0123456789");
        rest = fraction ? rest + 1 + fraction : "?";
    }
    if (*rest == 'e' || *rest == 'E') {
        rest += 1 + (rest[1] == '+' || rest[1] == '-');
        size_t power = strspn(rest, "0123456789");
        rest = power ? rest + power : "?";
    }
    double number = strtod(digits, NULL);
    return *rest || !isfinite(number) ? NULL : json_real(number);
}

// A date, a time, or both: kept as the text it is.
static json_t *moment(const char *word, size_t length)
{
    bool date = length >= 10 && word[4] == '-' && word[7] == '-';
    bool time = length >= 8 && word[2] == ':' && word[5] == ':';
    bool plain = strspn(word, "0123456789-:.+TtZz") >= length;
    return (date || time) && plain && isdigit((unsigned char)*word) ? json_stringn(word, length)
                                                                    : NULL;
}

static int read_word(struct reader *r, json_t **value)
{
    const char *word = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || strchr("+-._:", *r->at)))
        r->at++;
    size_t length = (size_t)(r->at - word);
    char digits[64];
    if (length == 4 && memcmp(word, "true", 4) == 0)
        *value = json_true();
    else if (length == 5 && memcmp(word, "false", 5) == 0)
        *value = json_false();
    else if (length == 0 || length >= sizeof(digits) || !collect_digits(word, length, digits))
        *value = NULL;
    else if (!(*value = integer(digits)) && !(*value = real(digits)))
        *value = moment(word, length);
    return *value ? 0 : fail(r, "there is no value that can be read");
}

static int read_value(struct reader *r, json_t **value)
{
    int result;
    if (++r->depth > deepest)
        return fail(r, "values are nested too deeply");
    switch (peek(r, 0)) {
    case '"':
    case '\'':
        result = read_string_value(r, value);
        break;
    case '[':
        result = read_array(r, value);
        break;
    case '{':
        result = read_inline_table(r, value);
        break;
    default:
        result = read_word(r, value);
    }
    r->depth--;
    return result;
}

// --- keys and tables
// ------------------------------------------------------------------------------

static int read_key(struct reader *r, struct strbuf *key)
{
    skip_blanks(r);
    if (peek(r, 0) == '"' || peek(r, 0) == '\'') {
        if (read_string(r, key) < 0)
            return -1;
    } else {
        while (isalnum((unsigned char)peek(r, 0)) || peek(r, 0) == '_' || peek(r, 0) == '-')
            strbuf_addc(key, *r->at++);
        if (key->length == 0)
            return fail(r, "there should be a key here");
    }
    skip_blanks(r);
    return 0;
}

// The table `key` in `table`, made if it is not there; of an array of tables the last one.
static int enter(struct reader *r, json_t **table, const char *key)
{
    json_t *inner = json_object_get(*table, key);
    if (!inner) {
        inner = json_object();
        if (json_object_set_new(*table, key, inner) < 0)
            return fail(r, "a key is not valid UTF-8");
    }
    if (json_is_array(inner) && json_array_size(inner))
        inner = json_array_get(inner, json_array_size(inner) - 1);
    if (!json_is_object(inner))
        return fail(r, "a key is a value here and a table there");
    *table = inner;
    return 0;
}

// `a.b.c`: enters a and b; `last` gets "c".
static int read_path(struct reader *r, json_t **table, struct strbuf *last)
{
    for (;;) {
        strbuf_reset(last);
        if (read_key(r, last) < 0)
            return -1;
        if (!take(r, "."))
            return 0;
        if (enter(r, table, last->text) < 0)
            return -1;
    }
}

static int read_pair(struct reader *r, json_t *table)
{
    CLEANUP(strbuf_release) struct strbuf key = STRBUF_INIT;
    json_t *value = NULL, *into = table;
    if (read_path(r, &into, &key) < 0)
        return -1;
    if (!take(r, "="))
        return fail(r, "there should be '=' after a key");
    if (json_object_get(into, key.text) || (into != table && is_sealed(r, into)))
        return fail(r, "a key is given twice");
    skip_blanks(r);
    if (read_value(r, &value) < 0)
        return -1;
    if (json_object_set_new(into, key.text, value) < 0)
        return fail(r, "a key is not valid UTF-8");
    return 0;
}

// `[a.b]` and `[[a.b]]`: *table becomes what the following pairs are of.
static int read_header(struct reader *r, json_t *root, json_t **table)
{
    CLEANUP(strbuf_release) struct strbuf key = STRBUF_INIT;
    bool element = take(r, "[[");
    if (!element)
        r->at++;
    *table = root;
    if (read_path(r, table, &key) < 0)
        return -1;
    if (!take(r, element ? "]]" : "]"))
        return fail(r, "a table's name has no end");
    if (!element) {
        const json_t *there = json_object_get(*table, key.text);
        if ((there && !json_is_object(there)) || enter(r, table, key.text) < 0 ||
            is_sealed(r, *table))
            return fail(r, "a table is given twice");
        json_array_append(r->sealed, *table);
        return 0;
    }
    json_t *array = json_object_get(*table, key.text), *item = json_object();
    if (!array) {
        array = json_array();
        json_object_set_new(*table, key.text, array);
    }
    *table = item;
    // An array that was written as a value takes no more tables; an empty one cannot be told.
    if (json_array_append_new(array, item) < 0)
        return fail(r, "a key is a value here and a table there");
    return 0;
}

int toml_parse(json_t **root, const char *text, size_t length, struct error *err)
{
    cleanup_json json_t *top = json_object(), *sealed = json_array();
    struct reader r = {.at = text, .end = text + length, .line = 1, .sealed = sealed, .err = err};
    json_t *table = top;
    take(&r, "\xef\xbb\xbf");
    for (;;) {
        skip_space(&r);
        if (r.at == r.end)
            break;
        if ((peek(&r, 0) == '[' ? read_header(&r, top, &table) : read_pair(&r, table)) < 0)
            return -1;
        skip_blanks(&r);
        skip_comment(&r);
        if (r.at < r.end && !take_newline(&r))
            return fail(&r, "there is something after the value");
    }
    *root = json_incref(top);
    return 0;
}
