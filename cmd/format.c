// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/format.h"

#include <string.h>

#include "base/alloc.h"
#include "cmd/table.h"
#include "cmd/template.h"

static const char blanks[] = " \t\r\n\f\v";

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, blanks);
}

bool format_is_json(const char *text)
{
    const char *at = skip_blanks(text);
    bool braces = strncmp(at, "{{", 2) == 0;
    if (braces)
        at = skip_blanks(at + 2);
    if (strncmp(at, "json", 4) != 0)
        return false;
    at += 4;
    if (braces) {
        at = skip_blanks(at + (*at == '.'));
        if (strncmp(at, "}}", 2) != 0)
            return false;
        at += 2;
    }
    return !*skip_blanks(at);
}

// Whether there is a `{{range .}}` with an `{{end}}` after it.
static bool has_range(const char *text)
{
    for (const char *at = text; (at = strstr(at, "{{")); at += 2) {
        const char *word = skip_blanks(at + 2);
        if (strncmp(word, "range", 5) != 0)
            continue;
        word = skip_blanks(word + 5);
        if (*word != '.' || strncmp(skip_blanks(word + 1), "}}", 2) != 0)
            continue;
        for (const char *end = word; (end = strstr(end, "{{")); end += 2) {
            const char *last = skip_blanks(end + 2);
            if (strncmp(last, "end", 3) != 0)
                continue;
            last = skip_blanks(last + 3);
            if (strncmp(last + (*last == '-'), "}}", 2) == 0)
                return true;
        }
    }
    return false;
}

// Two characters \t and \n become one; in a table every blank is a TAB, and "table " itself,
// wherever it stands, is left out.
static char *normalized(const char *text, bool table)
{
    CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
    while (*text) {
        if (table && strncmp(text, "table ", 6) == 0) {
            text += 6;
        } else if (strncmp(text, "\\t", 2) == 0 || strncmp(text, "\\n", 2) == 0) {
            strbuf_addc(&out, text[1] == 't' ? '\t' : '\n');
            text += 2;
        } else {
            strbuf_addc(&out, table && *text == ' ' ? '\t' : *text);
            text++;
        }
    }
    if (out.length == 0 || out.text[out.length - 1] != '\n')
        strbuf_addc(&out, '\n');
    return strbuf_steal(&out);
}

static char *per_row(const char *text, bool table)
{
    return !table && has_range(text) ? xstrdup(text) : xasprintf("{{range .}}%s{{end -}}", text);
}

static int parse(struct template *t, const char *name, const char *text, bool table,
                 struct error *err)
{
    cleanup_free char *normal = normalized(text, table);
    cleanup_free char *whole = per_row(normal, table);
    struct error ignored;
    if (template_parse(t, name, whole, &ignored) == 0)
        return 0;
    // `{{"\n"}}`, say: a newline may not stand in a quoted string, the two characters may.
    cleanup_free char *literal = per_row(text + (table ? strlen("table ") : 0), table);
    return template_parse(t, name, literal, err);
}

int format_run_one(const char *name, const char *text, struct value top, struct strbuf *out,
                   struct error *err)
{
    CLEANUP(template_release) struct template t = TEMPLATE_INIT;
    if (strncmp(text, "table ", 6) == 0)
        return format_run(name, text, (struct value){0}, top, out, err); // has no rows: Go's error
    cleanup_free char *normal = normalized(text, false);
    struct error ignored;
    if (template_parse(&t, name, normal, &ignored) < 0 && template_parse(&t, name, text, err) < 0)
        return -1;
    return template_run(&t, top, out, err);
}

int format_run(const char *name, const char *text, struct value headers, struct value rows,
               struct strbuf *out, struct error *err)
{
    CLEANUP(template_release) struct template t = TEMPLATE_INIT;
    bool table = strncmp(text, "table ", 6) == 0;
    if (parse(&t, name, text, table, err) < 0)
        return -1;
    if (!table)
        return template_run(&t, rows, out, err);

    CLEANUP(strbuf_release) struct strbuf cells = STRBUF_INIT;
    int result = 0;
    if (headers.type && (result = template_run(&t, headers, &cells, err)) < 0)
        error_prefix(err, "failed to write report column headers");
    if (result == 0)
        result = template_run(&t, rows, &cells, err);
    cleanup_free char *aligned = table_align(cells.text);
    strbuf_adds(out, aligned);
    return result;
}
