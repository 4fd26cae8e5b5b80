// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stddef.h>

#include "base/cleanup.h"

// A growing string. `text` is always NUL-terminated at `length` (it may hold NULs before it),
// and never NULL, so it can be printed at any time. Zero-initialised by STRBUF_INIT only.
struct strbuf {
    char *text;
    size_t length, capacity;
};

#define STRBUF_INIT        \
    {                      \
        strbuf_empty, 0, 0 \
    }
extern char strbuf_empty[1];

void strbuf_add(struct strbuf *buf, const void *bytes, size_t length);
void strbuf_adds(struct strbuf *buf, const char *text);
void strbuf_addc(struct strbuf *buf, char c);
void strbuf_addf(struct strbuf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void strbuf_reset(struct strbuf *buf);                   // empty, memory kept
void strbuf_truncate(struct strbuf *buf, size_t length); // never grows
char *strbuf_steal(struct strbuf *buf);                  // the caller frees; buf is empty again
void strbuf_release(struct strbuf *buf);

#endif
