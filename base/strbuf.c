// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "base/strbuf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

// What an empty strbuf points at, so that its text can be read; never written to.
char strbuf_empty[1] = "";

static void grow(struct strbuf *buf, size_t extra)
{
    size_t needed = buf->length + extra + 1;
    if (needed <= buf->capacity)
        return;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    buf->text = xrealloc(buf->capacity ? buf->text : NULL, capacity);
    buf->capacity = capacity;
    buf->text[buf->length] = '\0';
}

void strbuf_add(struct strbuf *buf, const void *bytes, size_t length)
{
    grow(buf, length);
    if (length)
        memcpy(buf->text + buf->length, bytes, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void strbuf_adds(struct strbuf *buf, const char *text)
{
    strbuf_add(buf, text, strlen(text));
}

void strbuf_addc(struct strbuf *buf, char c)
{
    strbuf_add(buf, &c, 1);
}

void strbuf_addf(struct strbuf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();
    grow(buf, (size_t)length);
    vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
    va_end(again);
    buf->length += (size_t)length;
}

void strbuf_reset(struct strbuf *buf)
{
    strbuf_truncate(buf, 0);
}

void strbuf_truncate(struct strbuf *buf, size_t length)
{
    if (length >= buf->length)
        return;
    buf->length = length;
    buf->text[length] = '\0';
}

char *strbuf_steal(struct strbuf *buf)
{
    grow(buf, 0);
    char *text = buf->text;
    *buf = (struct strbuf)STRBUF_INIT;
    return text;
}

void strbuf_release(struct strbuf *buf)
{
    if (buf->capacity)
        free(buf->text);
    *buf = (struct strbuf)STRBUF_INIT;
}
