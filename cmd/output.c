// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/output.h"

#include <stdio.h>
#include <string.h>

#include "cmd/text.h"

struct writer {
    struct strbuf *out;
    unsigned indent;
    bool html;
};

static void add_string(const struct writer *writer, const char *text)
{
    static const char controls[] = "\b\f\n\r\t\"\\";
    static const char letters[] = "bfnrt\"\\";
    struct strbuf *out = writer->out;
    size_t length;
    strbuf_addc(out, '"');
    for (uint32_t c; (length = text_next(text, &c)) > 0; text += length) {
        const char *control = c < 0x80 ? strchr(controls, (int)c) : NULL;
        if (control)
            strbuf_addf(out, "\\%c", letters[control - controls]);
        else if (c < 0x20 || c == 0x2028 || c == 0x2029 ||
                 (writer->html && (c == '<' || c == '>' || c == '&')))
            strbuf_addf(out, "\\u%04x", (unsigned)c);
        else
            strbuf_add(out, text, length);
    }
    strbuf_addc(out, '"');
}

static void new_line(const struct writer *writer, unsigned level)
{
    if (writer->indent)
        strbuf_addf(writer->out, "\n%*s", (int)(writer->indent * level), "");
}

static void add_value(const struct writer *writer, const json_t *value, unsigned level)
{
    struct strbuf *out = writer->out;
    size_t count = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    const char *key;
    json_t *item;
    size_t i = 0;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        strbuf_addc(out, '{');
        json_object_foreach((json_t *)value, key, item)
        {
            if (i++ > 0)
                strbuf_addc(out, ',');
            new_line(writer, level + 1);
            add_string(writer, key);
            strbuf_adds(out, writer->indent ? ": " : ":");
            add_value(writer, item, level + 1);
        }
        if (count)
            new_line(writer, level);
        strbuf_addc(out, '}');
        break;
    case JSON_ARRAY:
        strbuf_addc(out, '[');
        json_array_foreach(value, i, item)
        {
            if (i > 0)
                strbuf_addc(out, ',');
            new_line(writer, level + 1);
            add_value(writer, item, level + 1);
        }
        if (count)
            new_line(writer, level);
        strbuf_addc(out, ']');
        break;
    case JSON_STRING:
        add_string(writer, json_string_value(value));
        break;
    case JSON_INTEGER:
        strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        strbuf_addf(out, "%.17g", json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        strbuf_adds(out, json_is_true(value) ? "true" : "false");
        break;
    case JSON_NULL:
        strbuf_adds(out, "null");
        break;
    }
}

void output_json(struct strbuf *out, const json_t *value, unsigned indent, bool html)
{
    struct writer writer = {out, indent, html};
    add_value(&writer, value, 0);
}

void output_write(const struct strbuf *text)
{
    fwrite(text->text, 1, text->length, stdout);
}
