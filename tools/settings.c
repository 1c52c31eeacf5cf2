/* SPDX-License-Identifier: BSD-3-Clause */
/* `mpinpu settings`: the table of settings as a text or as the page docs/settings.md. */
#include "engine/settings.h"
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

/* Prints words, broken into lines of at most 80 letters that begin with `indent` spaces. */
static void wrapped_print(const char *text, int indent)
{
    int column = 0;

    while (*text != '\0') {
        int bytes = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + bytes > 80) {
            printf("\n");
            column = 0;
        }
        int space = column == 0 ? indent : 1;
        printf("%*s%.*s", space, "", bytes, text);
        column += space + bytes;
        text += bytes + (text[bytes] == ' ');
    }
    printf("\n");
}

static const char *initial_text(const setting_row_t *row)
{
    return row->initial[0] != '\0' ? row->initial : "empty";
}

static void text_print(setting_t setting, const setting_row_t *row, const char *allowed)
{
    (void)setting;
    printf("%s = %s\n    default: %s%s\n", row->name, allowed, initial_text(row),
           row->compared ? "; the same on all ranks" : "");
    wrapped_print(row->help, 4);
}

static void markdown_print(setting_t setting, const setting_row_t *row, const char *allowed)
{
    printf("%s## %s\n\n%s\n\n- Allowed: %s.\n- Default: %s%s%s.\n", setting == 0 ? "" : "\n", row->name, row->help,
           allowed, row->initial[0] != '\0' ? "`" : "", initial_text(row), row->initial[0] != '\0' ? "`" : "");
    if (row->compared) {
        printf("- Must be the same on all ranks.\n");
    }
}

int tool_settings(int argc, char **argv)
{
    bool markdown = argc > 1 && strcmp(argv[1], "--markdown") == 0;

    if (argc > 1 + markdown) {
        return tool_word_unknown("settings", argv[1 + markdown]);
    }
    if (markdown) {
        printf(
            "<!-- Made by `mpinpu settings --markdown` from engine/settings.def: change it there. -->\n# Settings\n\n"
            "Environment variables of the program's ranks (`mpirun -x MPINPU_REPORT=summary ...`). An empty value "
            "counts "
            "as none.\nA wrong value is named on stderr, and the default is used. Where ranks differ in a setting that "
            "must be the same on all, the "
            "collectives of\ntheir communicator are left to the host MPI. `mpinpu info` shows the values in "
            "force.\n\n");
    } else {
        printf("Environment variables of the program's ranks (mpirun -x MPINPU_REPORT=summary ...):\n\n");
    }
    for (int s = 0; s < SETTING_COUNT; s++) {
        char allowed[160];
        setting_allowed_text((setting_t)s, allowed, sizeof allowed);
        (markdown ? markdown_print : text_print)((setting_t)s, setting_row((setting_t)s), allowed);
    }
    return TOOL_OK;
}
