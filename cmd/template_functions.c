// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/output.h"
#include "cmd/template_tree.h"
#include "cmd/text.h"

// Go's own functions for templates and the ones that podman adds. Letter case is changed in
// ASCII only.

struct value value_new_string(json_t *pool, const char *text)
{
    json_t *data = json_string(text);
    if (!data) // not UTF-8: an escape like "\xff"
        data = json_string("\xef\xbf\xbd");
    json_array_append_new(pool, data);
    return (struct value){&type_string, data};
}

struct value value_new_number(json_t *pool, json_int_t number)
{
    json_t *data = json_integer(number);
    json_array_append_new(pool, data);
    return (struct value){&type_int, data};
}

struct value value_new_bool(bool flag)
{
    return (struct value){&type_bool, json_boolean(flag)}; // never freed
}

static PRINTF_LIKE(2, 3) int refuse(struct call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(call->reason, sizeof(call->reason), format, args);
    va_end(args);
    return -1;
}

static int give_text(struct call *call, struct strbuf *text)
{
    call->result = value_new_string(call->pool, text->text);
    strbuf_release(text);
    return 0;
}

static int give_bool(struct call *call, bool flag)
{
    call->result = value_new_bool(flag);
    return 0;
}

static bool is_kind(struct value value, enum type_kind kind)
{
    return value.type && value.type->kind == kind;
}

static int run_json(struct call *call)
{
    struct strbuf text = STRBUF_INIT;
    if (call->args[0].data)
        output_json(&text, call->args[0].data, 0, false);
    else
        strbuf_adds(&text, "null");
    return give_text(call, &text);
}

static int change_case(struct call *call, int (*change)(int), bool initials)
{
    struct strbuf text = STRBUF_INIT;
    bool start = true;
    for (const char *c = value_text(call->args[0]); *c; c++) {
        strbuf_addc(&text, start || !initials ? (char)change((unsigned char)*c) : *c);
        start = !isalnum((unsigned char)*c) && *c != '_' && (unsigned char)*c < 0x80;
    }
    return give_text(call, &text);
}

static int run_upper(struct call *call)
{
    return change_case(call, toupper, false);
}

static int run_lower(struct call *call)
{
    return change_case(call, tolower, false);
}

static int run_title(struct call *call)
{
    return change_case(call, toupper, true);
}

static int run_len(struct call *call)
{
    struct value value = call->args[0];
    size_t length;
    if (is_kind(value, TYPE_STRING))
        length = strlen(value_text(value));
    else if (is_kind(value, TYPE_LIST))
        length = json_array_size(value.data);
    else if (is_kind(value, TYPE_MAP))
        length = json_object_size(value.data);
    else if (!value.type)
        return refuse(call, "len of nil pointer");
    else
        return refuse(call, "len of type %s", value_type_name(value));
    call->result = value_new_number(call->pool, (json_int_t)length);
    return 0;
}

static int run_index(struct call *call)
{
    struct value value = call->args[0];
    for (size_t i = 1; i < call->count; i++) {
        struct value key = call->args[i];
        if (is_kind(value, TYPE_MAP) && is_kind(key, TYPE_STRING)) {
            value = (struct value){value.type->of, json_object_get(value.data, value_text(key))};
            continue;
        }
        if (!value.type)
            return refuse(call, "index of untyped nil");
        if (!is_kind(value, TYPE_LIST))
            return refuse(call, "can't index item of type %s", value_type_name(value));
        if (!is_kind(key, TYPE_INT))
            return refuse(call, "cannot index slice/array with type %s", value_type_name(key));
        json_int_t at = value_number(key);
        if (at < 0 || (size_t)at >= json_array_size(value.data))
            return refuse(call, "index out of range: %" JSON_INTEGER_FORMAT, at);
        value = (struct value){value.type->of, json_array_get(value.data, (size_t)at)};
    }
    call->result = value;
    return 0;
}

static int run_not(struct call *call)
{
    return give_bool(call, !value_true(call->args[0]));
}

// -1, 0 or 1 in *order. Values of different kinds cannot be compared.
static int compare(struct call *call, struct value a, struct value b, int *order)
{
    if (!a.type || !b.type || a.type->kind != b.type->kind)
        return refuse(call, "incompatible types for comparison: %s and %s", value_type_name(a),
                      value_type_name(b));
    if (a.type->kind == TYPE_INT) {
        json_int_t left = value_number(a), right = value_number(b);
        *order = (left > right) - (left < right);
    } else if (a.type->kind == TYPE_STRING) {
        int sign = strcmp(value_text(a), value_text(b));
        *order = (sign > 0) - (sign < 0);
    } else {
        return refuse(call, "invalid type for comparison");
    }
    return 0;
}

static int equal(struct call *call, struct value a, struct value b, bool *same)
{
    int order = 0;
    if (!a.type || !b.type) {
        bool nil_a, nil_b;
        value_target(a, &nil_a);
        value_target(b, &nil_b);
        *same = (!a.type || nil_a) && (!b.type || nil_b);
        return 0;
    }
    if (a.type->kind == b.type->kind && a.type->kind != TYPE_INT && a.type->kind != TYPE_STRING) {
        if (a.type->kind == TYPE_LIST || a.type->kind == TYPE_MAP)
            return refuse(call, "non-comparable type %s: %s", value_type_name(a),
                          value_type_name(b));
        *same = json_equal(a.data, b.data);
        return 0;
    }
    if (compare(call, a, b, &order) < 0)
        return -1;
    *same = order == 0;
    return 0;
}

static int run_eq(struct call *call)
{
    bool same = false;
    if (call->count < 2)
        return refuse(call, "missing argument for comparison");
    for (size_t i = 1; i < call->count && !same; i++) {
        if (equal(call, call->args[0], call->args[i], &same) < 0)
            return -1;
    }
    return give_bool(call, same);
}

static int run_ne(struct call *call)
{
    bool same = false;
    if (equal(call, call->args[0], call->args[1], &same) < 0)
        return -1;
    return give_bool(call, !same);
}

static int run_lt(struct call *call)
{
    int order = 0;
    return compare(call, call->args[0], call->args[1], &order) < 0 ? -1
                                                                   : give_bool(call, order < 0);
}

static int run_le(struct call *call)
{
    int order = 0;
    return compare(call, call->args[0], call->args[1], &order) < 0 ? -1
                                                                   : give_bool(call, order <= 0);
}

static int run_gt(struct call *call)
{
    int order = 0;
    return compare(call, call->args[0], call->args[1], &order) < 0 ? -1
                                                                   : give_bool(call, order > 0);
}

static int run_ge(struct call *call)
{
    int order = 0;
    return compare(call, call->args[0], call->args[1], &order) < 0 ? -1
                                                                   : give_bool(call, order >= 0);
}

static int run_join(struct call *call)
{
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < json_array_size(call->args[0].data); i++) {
        strbuf_adds(&text, i ? value_text(call->args[1]) : "");
        strbuf_adds(&text, json_string_value(json_array_get(call->args[0].data, i)));
    }
    return give_text(call, &text);
}

static int run_split(struct call *call)
{
    const char *text = value_text(call->args[0]), *separator = value_text(call->args[1]);
    size_t length = strlen(separator);
    json_t *parts = json_array();
    json_array_append_new(call->pool, parts);
    while (*text || length > 0) {
        uint32_t c;
        const char *end = length ? strstr(text, separator) : text + text_next(text, &c);
        size_t size = end ? (size_t)(end - text) : strlen(text);
        json_array_append_new(parts, json_stringn(text, size));
        if (!end)
            break;
        text = end + length;
    }
    call->result = (struct value){&type_strings, parts};
    return 0;
}

static int run_pad(struct call *call)
{
    const char *text = value_text(call->args[0]);
    json_int_t before = value_number(call->args[1]), after = value_number(call->args[2]);
    if (before < 0 || after < 0 || before > 1000 || after > 1000)
        return refuse(call, "strings: negative Repeat count");
    struct strbuf padded = STRBUF_INIT;
    if (*text)
        strbuf_addf(&padded, "%*s%s%*s", (int)before, "", text, (int)after, "");
    return give_text(call, &padded);
}

static int run_truncate(struct call *call)
{
    const char *text = value_text(call->args[0]);
    json_int_t length = value_number(call->args[1]);
    if (length < 0)
        return refuse(call, "slice bounds out of range [:%" JSON_INTEGER_FORMAT "]", length);
    struct strbuf cut = STRBUF_INIT;
    size_t whole = strlen(text);
    strbuf_add(&cut, text, (size_t)length < whole ? (size_t)length : whole);
    return give_text(call, &cut);
}

static int run_print(struct call *call)
{
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < call->count; i++) {
        // Go sets a blank between two operands when neither is a string.
        if (i > 0 && !is_kind(call->args[i], TYPE_STRING) &&
            !is_kind(call->args[i - 1], TYPE_STRING))
            strbuf_addc(&text, ' ');
        value_print(&text, call->args[i]);
    }
    return give_text(call, &text);
}

static int run_println(struct call *call)
{
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < call->count; i++) {
        strbuf_adds(&text, i ? " " : "");
        value_print(&text, call->args[i]);
    }
    strbuf_addc(&text, '\n');
    return give_text(call, &text);
}

// A verb of printf: "%-8.3s".
struct directive {
    bool left, zero, plus, sharp;
    int width, precision; // precision -1: none
    char verb;
};

static const char *parse_directive(const char *at, struct directive *d)
{
    *d = (struct directive){.precision = -1};
    for (; *at && strchr("-0+# ", *at); at++) {
        d->left |= *at == '-';
        d->zero |= *at == '0';
        d->plus |= *at == '+';
        d->sharp |= *at == '#';
    }
    for (; isdigit((unsigned char)*at) && d->width < 1000; at++)
        d->width = d->width * 10 + (*at - '0');
    if (*at == '.') {
        d->precision = 0;
        for (at++; isdigit((unsigned char)*at) && d->precision < 1000; at++)
            d->precision = d->precision * 10 + (*at - '0');
    }
    d->verb = *at;
    return *at ? at + 1 : at;
}

// False: the verb does not suit the value.
static bool format_value(struct strbuf *out, const struct directive *d, struct value value)
{
    enum type_kind kind = value.type ? value.type->kind : TYPE_STRUCT;
    switch (d->verb) {
    case 'v':
        value_print(out, value);
        return true;
    case 's':
        if (!value.type || kind == TYPE_INT || kind == TYPE_BOOL)
            return false;
        value_print(out, value);
        if (d->precision >= 0 && (size_t)d->precision < out->length)
            strbuf_truncate(out, (size_t)d->precision);
        return true;
    case 'q':
        if (kind != TYPE_STRING)
            return false;
        text_quote(out, value_text(value));
        return true;
    case 't':
        if (kind != TYPE_BOOL)
            return false;
        value_print(out, value);
        return true;
    case 'd':
        if (kind != TYPE_INT)
            return false;
        strbuf_addf(out, d->plus ? "%+" JSON_INTEGER_FORMAT : "%" JSON_INTEGER_FORMAT,
                    value_number(value));
        return true;
    case 'x':
        if (kind != TYPE_INT)
            return false;
        strbuf_addf(out, d->sharp ? "%#llx" : "%llx", (unsigned long long)value_number(value));
        return true;
    case 'T':
        strbuf_adds(out, value_type_name(value));
        return true;
    default:
        return false;
    }
}

static void add_padded(struct strbuf *out, const struct directive *d, const char *text)
{
    size_t width = text_width(text);
    int blanks = (size_t)d->width > width ? d->width - (int)width : 0;
    bool zeros = d->zero && !d->left && (d->verb == 'd' || d->verb == 'x');
    if (zeros && (*text == '-' || *text == '+'))
        strbuf_addc(out, *text++);
    for (int i = 0; i < blanks && !d->left; i++)
        strbuf_addc(out, zeros ? '0' : ' ');
    strbuf_adds(out, text);
    if (d->left)
        strbuf_addf(out, "%*s", blanks, "");
}

static void add_mismatch(struct strbuf *out, char verb, struct value value)
{
    strbuf_addf(out, "%%!%c(%s", verb, value_type_name(value));
    if (value.type) {
        strbuf_addc(out, '=');
        value_print(out, value);
    }
    strbuf_addc(out, ')');
}

static int run_printf(struct call *call)
{
    struct strbuf out = STRBUF_INIT;
    size_t next = 1;
    for (const char *at = value_text(call->args[0]); *at;) {
        if (*at != '%') {
            strbuf_addc(&out, *at++);
            continue;
        }
        struct directive d;
        at = parse_directive(at + 1, &d);
        CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
        if (d.verb == '%')
            strbuf_addc(&out, '%');
        else if (!d.verb)
            strbuf_adds(&out, "%!(NOVERB)");
        else if (next == call->count)
            strbuf_addf(&out, "%%!%c(MISSING)", d.verb);
        else if (format_value(&text, &d, call->args[next]))
            add_padded(&out, &d, text.text);
        else
            add_mismatch(&out, d.verb, call->args[next]);
        next += d.verb && d.verb != '%' && next < call->count;
    }
    for (size_t i = next; i < call->count; i++) {
        strbuf_addf(&out, "%s%s=", i == next ? "%!(EXTRA " : ", ", value_type_name(call->args[i]));
        value_print(&out, call->args[i]);
    }
    if (next < call->count)
        strbuf_addc(&out, ')');
    return give_text(call, &out);
}

static const struct function functions[] = {
    {"and", 1, UINT32_MAX, "a", NULL},
    {"eq", 1, UINT32_MAX, "a", run_eq},
    {"ge", 2, 2, "a", run_ge},
    {"gt", 2, 2, "a", run_gt},
    {"index", 1, UINT32_MAX, "a", run_index},
    {"join", 2, 2, "ls", run_join},
    {"json", 1, 1, "a", run_json},
    {"le", 2, 2, "a", run_le},
    {"len", 1, 1, "a", run_len},
    {"lower", 1, 1, "s", run_lower},
    {"lt", 2, 2, "a", run_lt},
    {"ne", 2, 2, "a", run_ne},
    {"not", 1, 1, "a", run_not},
    {"or", 1, UINT32_MAX, "a", NULL},
    {"pad", 3, 3, "sii", run_pad},
    {"print", 0, UINT32_MAX, "a", run_print},
    {"printf", 1, UINT32_MAX, "sa", run_printf},
    {"println", 0, UINT32_MAX, "a", run_println},
    {"split", 2, 2, "ss", run_split},
    {"title", 1, 1, "s", run_title},
    {"truncate", 2, 2, "si", run_truncate},
    {"upper", 1, 1, "s", run_upper},
};

const struct function *function_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    }
    return NULL;
}
