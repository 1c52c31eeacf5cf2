/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of texts that are printed in columns, as wide as their part of the table needs; a row of one text heads a part.
   One thread. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_CELLS_MAX = 4 };

typedef struct table_line {
    unsigned count;
    char *cells[TABLE_CELLS_MAX];
} table_line_t;

/* {0} is an empty one. */
typedef struct table {
    table_line_t *lines;
    size_t count;
    size_t room;
    bool failed; /* for want of memory */
} table_t;

/* Adds a row, copied; an engine_row_t, with the table as its context. */
void table_row(void *context, unsigned count, const char *const *cells);

/* Prints all on stdout. False where a row is missing for want of memory. */
bool table_print(const table_t *table);

void table_free(table_t *table);

#endif
