// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/text.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"

size_t text_next(const char *text, uint32_t *c)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) {
        *c = at[0];
        return at[0] ? 1 : 0;
    }
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t value = at[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            *c = 0xfffd;
            return 1;
        }
        value = value << 6 | (at[i] & 0x3f);
    }
    bool valid = at[0] >= 0xc2 && at[0] <= 0xf4 && value >= least[length] && value <= 0x10ffff &&
                 (value < 0xd800 || value > 0xdfff);
    *c = valid ? value : 0xfffd;
    return valid ? length : 1;
}

void text_add_char(struct strbuf *out, uint32_t c)
{
    if (c < 0x80) {
        strbuf_addc(out, (char)c);
        return;
    }
    unsigned extra = c >= 0x10000 ? 3 : c >= 0x800 ? 2 : 1;
    strbuf_addc(out, (char)(0xff00u >> (extra + 1) | c >> (6 * extra)));
    while (extra-- > 0)
        strbuf_addc(out, (char)(0x80 | ((c >> (6 * extra)) & 0x3f)));
}

size_t text_width(const char *text)
{
    size_t width = 0, length;
    for (uint32_t c; (length = text_next(text, &c)) > 0; text += length)
        width++;
    return width;
}

// One character inside quotes of the kind `quote`. Characters that Go takes for unprintable are
// more than these; they do not come up in names and options.
static void add_quoted(struct strbuf *out, uint32_t c, char quote)
{
    static const char controls[] = "\a\b\f\n\r\t\v";
    static const char letters[] = "abfnrtv";
    const char *control = c && c < 0x20 ? strchr(controls, (int)c) : NULL;
    if (c == (unsigned char)quote || c == '\\')
        strbuf_addf(out, "\\%c", (char)c);
    else if (control)
        strbuf_addf(out, "\\%c", letters[control - controls]);
    else if (c < 0x20 || c == 0x7f)
        strbuf_addf(out, "\\x%02x", (unsigned)c);
    else if ((c >= 0x80 && c <= 0xa0) || c == 0xad || c == 0x2028 || c == 0x2029 || c == 0xfeff)
        strbuf_addf(out, "\\u%04x", (unsigned)c);
    else
        text_add_char(out, c);
}

void text_quote(struct strbuf *out, const char *text)
{
    size_t length;
    strbuf_addc(out, '"');
    for (uint32_t c; (length = text_next(text, &c)) > 0; text += length) {
        if (c == 0xfffd && length == 1)
            strbuf_addf(out, "\\x%02x", (unsigned char)*text);
        else
            add_quoted(out, c, '"');
    }
    strbuf_addc(out, '"');
}

void text_quote_char(struct strbuf *out, uint32_t c)
{
    strbuf_addc(out, '\'');
    add_quoted(out, c, '\'');
    strbuf_addc(out, '\'');
}

static const char invalid[] = "invalid syntax";

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

// Underscores may stand between digits, and between a base prefix and the first digit.
static bool underscores_fit(const char *text)
{
    bool digit_before = false;
    if (text[0] == '0' && strchr("bBoOxX", text[1]) && text[1]) {
        digit_before = true;
        text += 2;
    }
    for (; *text; text++) {
        if (*text == '_' && (!digit_before || digit_value(text[1]) == 99))
            return false;
        digit_before = *text != '_';
    }
    return true;
}

const char *text_parse_uint(const char *text, uint64_t *number)
{
    const char *at = text;
    unsigned base = 10;
    if (at[0] == '0' && at[1]) {
        switch (tolower((unsigned char)at[1])) {
        case 'x':
            base = 16;
            break;
        case 'b':
            base = 2;
            break;
        default:
            base = 8;
        }
        at += base == 8 && tolower((unsigned char)at[1]) != 'o' ? 1 : 2;
    }
    if (!*at || !underscores_fit(text))
        return invalid;

    uint64_t value = 0;
    bool overflow = false;
    for (; *at; at++) {
        if (*at == '_')
            continue;
        unsigned digit = (unsigned)digit_value(*at);
        if (digit >= base)
            return invalid;
        overflow |= __builtin_mul_overflow(value, (uint64_t)base, &value);
        overflow |= __builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    if (overflow)
        return "value out of range";
    *number = value;
    return NULL;
}

const char *text_parse_bool(const char *text, bool *flag)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *flag = strcmp(text, yes[i]) == 0;
            return NULL;
        }
    }
    return invalid;
}

char *text_unquote(const char *source)
{
    static const char letters[] = "abfnrtv\\\"", values[] = "\a\b\f\n\r\t\v\\\"";
    if (*source == '`')
        return xstrndup(source + 1, strlen(source) - 2);
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    for (source++; *source && (*source != '"' || source[1]); source++) {
        if (*source != '\\') {
            strbuf_addc(&out, *source);
            continue;
        }
        source++;
        const char *letter = *source ? strchr(letters, *source) : NULL;
        if (letter) {
            strbuf_addc(&out, values[letter - letters]);
            continue;
        }
        size_t digits = *source == 'x' ? 2 : *source == 'u' ? 4 : *source == 'U' ? 8 : 3;
        int base = digits == 3 ? 8 : 16;
        source += digits != 3;
        uint32_t value = 0;
        for (size_t i = 0; i < digits; i++, source++) {
            if (digit_value(*source) >= base)
                return NULL;
            value = value * (uint32_t)base + (uint32_t)digit_value(*source);
        }
        source--;
        if (value == 0 || value > (digits > 3 ? 0x10ffff : 0xff))
            return NULL;
        if (digits > 3)
            text_add_char(&out, value);
        else
            strbuf_addc(&out, (char)value);
    }
    return strbuf_steal(&out);
}
