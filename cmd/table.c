// SPDX-FileCopyrightText: The podman-machine-vmnet authors
// SPDX-License-Identifier: Apache-2.0

#include "cmd/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/strvec.h"
#include "cmd/text.h"

enum { LEAST_WIDTH = 12, PADDING = 2 };

struct table {
    struct strvec *lines; // each one the cells of a line
    size_t count;
    size_t *widths; // of the columns that are open
    struct strbuf out;
};

static void write_lines(struct table *table, size_t columns, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct strvec *line = &table->lines[i];
        for (size_t j = 0; j < line->count; j++) {
            strbuf_adds(&table->out, line->items[j]);
            if (j < columns && j + 1 < line->count) {
                size_t blanks = table->widths[j] - text_width(line->items[j]);
                strbuf_addf(&table->out, "%*s", (int)blanks, "");
            }
        }
        if (i + 1 < table->count)
            strbuf_addc(&table->out, '\n');
    }
}

static bool has_cell(const struct table *table, size_t line, size_t column)
{
    return column + 1 < table->lines[line].count;
}

// Lines from..to with `columns` columns known: finds each block of lines that goes on with one
// more column, and does that block first.
static void align(struct table *table, size_t columns, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!has_cell(table, i, columns))
            continue;
        write_lines(table, columns, from, i);
        from = i;
        size_t width = LEAST_WIDTH;
        for (; i < to && has_cell(table, i, columns); i++) {
            size_t cell = text_width(table->lines[i].items[columns]) + PADDING;
            width = cell > width ? cell : width;
        }
        table->widths[columns] = width;
        align(table, columns + 1, from, i);
        from = i;
    }
    write_lines(table, columns, from, to);
}

static void drop_empty_end(struct strvec *line)
{
    if (!*line->items[line->count - 1]) {
        free(line->items[--line->count]);
        line->items[line->count] = NULL;
    }
}

char *table_align(const char *text)
{
    CLEANUP(strvec_release) struct strvec rows = STRVEC_INIT;
    strvec_split(&rows, text, '\n');

    size_t widest = 1;
    struct table table = {.count = rows.count, .out = STRBUF_INIT};
    table.lines = xcalloc(rows.count, sizeof(*table.lines));
    for (size_t i = 0; i < rows.count; i++) {
        strvec_split(&table.lines[i], rows.items[i], '\t');
        // The last line may be cut after a TAB: nothing more is no cell.
        if (i + 1 == rows.count && table.lines[i].count > 1)
            drop_empty_end(&table.lines[i]);
        if (table.lines[i].count > widest)
            widest = table.lines[i].count;
    }
    table.widths = xcalloc(widest, sizeof(*table.widths));
    align(&table, 0, 0, rows.count);

    for (size_t i = 0; i < rows.count; i++)
        strvec_release(&table.lines[i]);
    free(table.lines);
    free(table.widths);
    return strbuf_steal(&table.out);
}
