// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/template_tree.h"
#include "cmd/text.h"

// Text -> tokens, by the rules of Go's text/template/parse/lex.go.

struct scanner {
    struct tokens *tokens;
    const char *text, *at, *start; // start: of the token that is being read
    unsigned line;                 // of start
    unsigned depth;                // of parentheses
};

static const char blanks[] = " \t\r\n";

static void push(struct scanner *s, enum token_kind kind, char *text, size_t at)
{
    struct tokens *tokens = s->tokens;
    if (tokens->count == tokens->capacity) {
        tokens->capacity = tokens->capacity ? 2 * tokens->capacity : 32;
        tokens->items = xrealloc(tokens->items, tokens->capacity * sizeof(*tokens->items));
    }
    tokens->items[tokens->count++] = (struct token){kind, at, s->line, text};
}

static void skip(struct scanner *s)
{
    for (; s->start < s->at; s->start++)
        s->line += *s->start == '\n';
}

static bool emit(struct scanner *s, enum token_kind kind)
{
    push(s, kind, xstrndup(s->start, (size_t)(s->at - s->start)), (size_t)(s->start - s->text));
    skip(s);
    return true;
}

static bool fail(struct scanner *s, char *message)
{
    push(s, TOKEN_ERROR, message, (size_t)(s->start - s->text));
    return false;
}

// "U+002B '+'"
static bool fail_character(struct scanner *s, const char *message)
{
    uint32_t c = 0;
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    text_next(s->at, &c);
    strbuf_addf(&out, "%s U+%04X", message, (unsigned)c);
    if (c >= 0x20 && c != 0x7f) {
        strbuf_adds(&out, " '");
        text_add_char(&out, c);
        strbuf_addc(&out, '\'');
    }
    return fail(s, strbuf_steal(&out));
}

static bool is_blank(char c)
{
    return c && strchr(blanks, c);
}

// Any character that is not ASCII may be a letter; the table of them is not worth having.
static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool at_right_delimiter(const struct scanner *s, bool *trim)
{
    *trim = is_blank(s->at[0]) && s->at[1] == '-' && strncmp(s->at + 2, "}}", 2) == 0;
    return *trim || strncmp(s->at, "}}", 2) == 0;
}

static void skip_blanks(struct scanner *s)
{
    s->at += strspn(s->at, blanks);
    skip(s);
}

static bool scan_right_delimiter(struct scanner *s)
{
    bool trim;
    at_right_delimiter(s, &trim);
    s->at += trim ? 2 : 0;
    skip(s);
    s->at += 2;
    emit(s, TOKEN_RIGHT);
    if (trim)
        skip_blanks(s);
    return true;
}

static bool at_terminator(const struct scanner *s)
{
    return !*s->at || is_blank(*s->at) || strchr(".,|:()", *s->at) || strncmp(s->at, "}}", 2) == 0;
}

static bool scan_space(struct scanner *s)
{
    bool trim;
    s->at += strspn(s->at, blanks);
    // The last blank may belong to " -}}".
    s->at--;
    if (at_right_delimiter(s, &trim) && trim) {
        if (s->at == s->start)
            return scan_right_delimiter(s);
        return emit(s, TOKEN_SPACE);
    }
    s->at++;
    return emit(s, TOKEN_SPACE);
}

// After the '.' or the '$'.
static bool scan_name(struct scanner *s, enum token_kind kind, enum token_kind bare)
{
    if (at_terminator(s))
        return emit(s, bare);
    while (is_word_character(*s->at))
        s->at++;
    return at_terminator(s) ? emit(s, kind) : fail_character(s, "bad character");
}

static bool scan_word(struct scanner *s)
{
    static const char *const keywords[] = {"block", "break", "continue", "define",   "else", "end",
                                           "if",    "nil",   "range",    "template", "with"};
    while (is_word_character(*s->at))
        s->at++;
    if (!at_terminator(s))
        return fail_character(s, "bad character");
    size_t length = (size_t)(s->at - s->start);
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
        if (strlen(keywords[i]) == length && strncmp(keywords[i], s->start, length) == 0)
            return emit(s, TOKEN_KEYWORD);
    }
    return emit(s, TOKEN_WORD);
}

static bool scan_number(struct scanner *s)
{
    s->at += *s->at == '+' || *s->at == '-';
    while (is_word_character(*s->at) || *s->at == '.')
        s->at++;
    uint64_t number;
    cleanup_free char *digits = xstrndup(s->start, (size_t)(s->at - s->start));
    if (!text_parse_uint(digits + (*digits == '+' || *digits == '-'), &number) &&
        number <= INT64_MAX)
        return emit(s, TOKEN_NUMBER);
    CLEANUP(strbuf_release) struct strbuf message = STRBUF_INIT;
    strbuf_adds(&message, "bad number syntax: ");
    text_quote(&message, digits);
    return fail(s, strbuf_steal(&message));
}

static bool scan_string(struct scanner *s)
{
    for (s->at++; *s->at != '"'; s->at++) {
        if (*s->at == '\\' && s->at[1])
            s->at++;
        if (!*s->at || *s->at == '\n')
            return fail(s, xstrdup("unterminated quoted string"));
    }
    s->at++;
    return emit(s, TOKEN_STRING);
}

static bool scan_raw_string(struct scanner *s)
{
    const char *end = strchr(s->at + 1, '`');
    if (!end)
        return fail(s, xstrdup("unterminated raw quoted string"));
    s->at = end + 1;
    return emit(s, TOKEN_RAW_STRING);
}

static bool emit_next(struct scanner *s, enum token_kind kind, size_t length)
{
    s->at += length;
    return emit(s, kind);
}

static bool scan_inside(struct scanner *s)
{
    bool trim;
    if (at_right_delimiter(s, &trim)) {
        if (s->depth > 0)
            return fail(s, xstrdup("unclosed left paren"));
        return scan_right_delimiter(s);
    }
    char c = *s->at;
    if (!c)
        return fail(s, xstrdup("unclosed action"));
    if (is_blank(c))
        return scan_space(s);
    if (isdigit((unsigned char)c) || c == '+' || c == '-' ||
        (c == '.' && isdigit((unsigned char)s->at[1])))
        return scan_number(s);
    if (is_word_character(c))
        return scan_word(s);
    switch (c) {
    case '=':
        return emit_next(s, TOKEN_ASSIGN, 1);
    case ':':
        if (s->at[1] != '=')
            return fail(s, xstrdup("expected :="));
        return emit_next(s, TOKEN_DECLARE, 2);
    case '|':
        return emit_next(s, TOKEN_PIPE, 1);
    case '"':
        return scan_string(s);
    case '`':
        return scan_raw_string(s);
    case '$':
        s->at++;
        return scan_name(s, TOKEN_VARIABLE, TOKEN_VARIABLE);
    case '.':
        s->at++;
        return scan_name(s, TOKEN_FIELD, TOKEN_DOT);
    case '(':
        s->depth++;
        return emit_next(s, TOKEN_OPEN, 1);
    case ')':
        if (s->depth == 0)
            return fail(s, xstrdup("unexpected right paren"));
        s->depth--;
        return emit_next(s, TOKEN_CLOSE, 1);
    default:
        if (isprint((unsigned char)c))
            return emit_next(s, TOKEN_CHAR, 1);
        return fail_character(s, "unrecognized character in action:");
    }
}

// From the text before an action to its "{{", or past a whole comment.
static bool scan_text(struct scanner *s, bool *inside)
{
    const char *left = strstr(s->at, "{{");
    if (!left) {
        s->at += strlen(s->at);
        return s->at > s->start ? emit(s, TOKEN_TEXT) : true;
    }
    bool trim = left[2] == '-' && is_blank(left[3]);
    const char *end = left;
    while (trim && end > s->start && is_blank(end[-1]))
        end--;
    s->at = end;
    if (s->at > s->start)
        emit(s, TOKEN_TEXT);
    s->at = left;
    skip(s);

    const char *comment = left + (trim ? 4 : 2);
    if (strncmp(comment, "/*", 2) != 0) {
        emit_next(s, TOKEN_LEFT, 2);
        s->at += trim ? 2 : 0; // the marker and its blank
        skip(s);
        s->depth = 0;
        *inside = true;
        return true;
    }
    const char *close = strstr(comment + 2, "*/");
    if (!close)
        return fail(s, xstrdup("unclosed comment"));
    s->at = close + 2;
    if (!at_right_delimiter(s, &trim))
        return fail(s, xstrdup("comment ends before closing delimiter"));
    s->at += trim ? 4 : 2;
    skip(s);
    if (trim)
        skip_blanks(s);
    return true;
}

void tokens_scan(struct tokens *tokens, const char *text)
{
    struct scanner s = {tokens, text, text, text, 1, 0};
    bool inside = false, good = true;
    while (good && (inside || *s.at)) {
        good = inside ? scan_inside(&s) : scan_text(&s, &inside);
        if (good && tokens->count && tokens->items[tokens->count - 1].kind == TOKEN_RIGHT)
            inside = false;
    }
    if (good)
        push(&s, TOKEN_END, xstrdup(""), (size_t)(s.at - text));
}

void tokens_release(struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        free(tokens->items[i].text);
    free(tokens->items);
    *tokens = (struct tokens){0};
}
