// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/strvec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

void strvec_take(struct strvec *vec, char *text)
{
    if (vec->count + 1 >= vec->capacity) {
        vec->capacity = vec->capacity ? vec->capacity * 2 : 16;
        vec->items = xrealloc(vec->items, vec->capacity * sizeof(*vec->items));
    }
    vec->items[vec->count++] = text;
    vec->items[vec->count] = NULL;
}

void strvec_push(struct strvec *vec, const char *text)
{
    strvec_take(vec, xstrdup(text));
}

void strvec_pushf(struct strvec *vec, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();
    char *text = xmalloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    strvec_take(vec, text);
}

void strvec_pushv(struct strvec *vec, const char *const *texts)
{
    for (; *texts; texts++)
        strvec_push(vec, *texts);
}

bool strvec_contains(const struct strvec *vec, const char *text)
{
    for (size_t i = 0; i < vec->count; i++)
        if (strcmp(vec->items[i], text) == 0)
            return true;
    return false;
}

void strvec_split(struct strvec *vec, const char *text, char separator)
{
    for (;;) {
        const char *end = strchr(text, separator);
        strvec_take(vec, end ? xstrndup(text, (size_t)(end - text)) : xstrdup(text));
        if (!end)
            return;
        text = end + 1;
    }
}

void strvec_release(struct strvec *vec)
{
    for (size_t i = 0; i < vec->count; i++)
        free(vec->items[i]);
    free(vec->items);
    *vec = (struct strvec)STRVEC_INIT;
}

static void quote_word(struct strbuf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,+@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        strbuf_adds(out, word);
        return;
    }
    strbuf_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            strbuf_adds(out, "'\\''");
        else
            strbuf_addc(out, *word);
    }
    strbuf_addc(out, '\'');
}

char *strvec_quote(const struct strvec *vec)
{
    struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < vec->count; i++) {
        if (i)
            strbuf_addc(&out, ' ');
        quote_word(&out, vec->items[i]);
    }
    return strbuf_steal(&out);
}
