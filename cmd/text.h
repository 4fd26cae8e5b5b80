// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CMD_TEXT_H
#define CMD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

// Text as Go's library spells it: podman's messages and templates are full of it.

// strconv.Quote, which is what %q prints: "a\"b\n". Bytes that are not UTF-8 become \xNN.
void text_quote(struct strbuf *out, const char *text);

// The other way, for "..." and `...` alike. NULL: an escape that is none; also for NUL, which C
// strings cannot hold. The caller frees.
char *text_unquote(const char *source);

// %q of a single character: 'Z', '\'', '\x01'.
void text_quote_char(struct strbuf *out, uint32_t c);

// Reads one character. Returns its length in bytes, 0 at the end; a byte that starts no valid
// UTF-8 sequence is one character of U+FFFD.
size_t text_next(const char *text, uint32_t *c);
void text_add_char(struct strbuf *out, uint32_t c);
size_t text_width(const char *text); // in characters

// strconv.ParseUint(text, 0, 64) and strconv.ParseBool(text): NULL on success, else Go's reason
// ("invalid syntax", "value out of range").
const char *text_parse_uint(const char *text, uint64_t *number);
const char *text_parse_bool(const char *text, bool *flag);

#endif
