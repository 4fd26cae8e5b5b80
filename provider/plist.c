// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "provider/plist.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

// The length of the well-formed UTF-8 character at `text`, or 0: overlong forms, surrogates and
// what lies beyond U+10FFFF are not characters, nor are most control characters in XML 1.0.
static size_t character_length(const unsigned char *text)
{
    unsigned char c = text[0];
    if (c < 0x80)
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r' ? 1 : 0;
    size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
        (c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
        return 0;
    if (c == 0xef && text[1] == 0xbf && text[2] >= 0xbe) // U+FFFE and U+FFFF
        return 0;
    return length;
}

static void add_escaped(struct plist *plist, const char *text)
{
    while (*text) {
        size_t length = character_length((const unsigned char *)text);
        if (length == 0) {
            plist->bad = true;
            return;
        }
        if (*text == '&')
            strbuf_adds(&plist->text, "&amp;");
        else if (*text == '<')
            strbuf_adds(&plist->text, "&lt;");
        else if (*text == '>')
            strbuf_adds(&plist->text, "&gt;");
        else if (*text == '\r')
            strbuf_adds(&plist->text, "&#13;"); // as it stands it would be read as a line feed
        else
            strbuf_add(&plist->text, text, length);
        text += length;
    }
}

static void indent(struct plist *plist)
{
    for (int i = 0; i < plist->depth; i++)
        strbuf_addc(&plist->text, '\t');
}

static void add_element(struct plist *plist, const char *kind, const char *text)
{
    indent(plist);
    strbuf_addf(&plist->text, "<%s>", kind);
    add_escaped(plist, text);
    strbuf_addf(&plist->text, "</%s>\n", kind);
}

void plist_begin(struct plist *plist)
{
    *plist = (struct plist){.text = STRBUF_INIT};
    strbuf_adds(&plist->text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                              "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
                              "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"
                              "<plist version=\"1.0\">\n");
    plist_open(plist, "dict");
}

void plist_key(struct plist *plist, const char *key)
{
    add_element(plist, "key", key);
}

void plist_string(struct plist *plist, const char *text)
{
    add_element(plist, "string", text);
}

void plist_bool(struct plist *plist, bool value)
{
    indent(plist);
    strbuf_adds(&plist->text, value ? "<true/>\n" : "<false/>\n");
}

void plist_integer(struct plist *plist, int64_t value)
{
    indent(plist);
    strbuf_addf(&plist->text, "<integer>%" PRId64 "</integer>\n", value);
}

void plist_open(struct plist *plist, const char *kind)
{
    indent(plist);
    strbuf_addf(&plist->text, "<%s>\n", kind);
    plist->depth++;
}

void plist_close(struct plist *plist, const char *kind)
{
    plist->depth--;
    indent(plist);
    strbuf_addf(&plist->text, "</%s>\n", kind);
}

int plist_end(struct plist *plist, char **text, struct error *err)
{
    plist_close(plist, "dict");
    strbuf_adds(&plist->text, "</plist>\n");
    bool bad = plist->bad;
    if (!bad)
        *text = strbuf_steal(&plist->text);
    strbuf_release(&plist->text);
    *plist = (struct plist){.text = STRBUF_INIT};
    if (bad)
        return error_set(err, EINVAL, "a path or name is not text that a property list can hold");
    return 0;
}
