/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of texts printed in columns. */
#include "tools/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_MOST = 44 }; /* letters; what is longer pushes its own row only */

void table_row(void *context, unsigned count, const char *const *cells)
{
    table_t *table = context;

    if (table->failed || count > TABLE_CELLS_MAX) {
        table->failed = true;
        return;
    }
    if (table->count == table->room) {
        const size_t room = table->room == 0 ? 64 : 2 * table->room;
        table_line_t *lines = realloc(table->lines, room * sizeof *lines);
        if (lines == NULL) {
            table->failed = true;
            return;
        }
        table->lines = lines;
        table->room = room;
    }
    table_line_t *line = &table->lines[table->count];
    *line = (table_line_t){.count = count};
    for (unsigned c = 0; c < count; c++) {
        line->cells[c] = strdup(cells[c]);
        table->failed = table->failed || line->cells[c] == NULL;
    }
    table->count++;
}

/* The columns of the lines from..to, all of one part. */
static void widths_find(const table_t *table, size_t from, size_t to, int widths[TABLE_CELLS_MAX])
{
    memset(widths, 0, TABLE_CELLS_MAX * sizeof *widths);
    for (size_t l = from; l < to; l++) {
        for (unsigned c = 0; c + 1 < table->lines[l].count; c++) {
            const size_t bytes = strlen(table->lines[l].cells[c]);
            if (bytes <= COLUMN_MOST && (int)bytes > widths[c]) {
                widths[c] = (int)bytes;
            }
        }
    }
}

static void part_print(const table_t *table, size_t from, size_t to, const char *indent)
{
    int widths[TABLE_CELLS_MAX];

    widths_find(table, from, to, widths);
    for (size_t l = from; l < to; l++) {
        const table_line_t *line = &table->lines[l];
        printf("%s", indent);
        for (unsigned c = 0; c < line->count; c++) {
            const int width = c + 1 < line->count ? widths[c] : 0;
            printf("%s%-*s", c > 0 ? "  " : "", width, line->cells[c]);
        }
        printf("\n");
    }
}

bool table_print(const table_t *table)
{
    size_t from = 0;

    if (table->failed) {
        return false;
    }
    while (from < table->count) {
        const bool headed = table->lines[from].count == 1;
        size_t to = from + headed;
        while (to < table->count && table->lines[to].count != 1) {
            to++;
        }
        if (headed) {
            printf("%s%s\n", from > 0 ? "\n" : "", table->lines[from].cells[0]);
        }
        part_print(table, from + headed, to, headed ? "  " : "");
        from = to;
    }
    return true;
}

void table_free(table_t *table)
{
    for (size_t l = 0; l < table->count; l++) {
        for (unsigned c = 0; c < table->lines[l].count; c++) {
            free(table->lines[l].cells[c]);
        }
    }
    free(table->lines);
    *table = (table_t){0};
}
