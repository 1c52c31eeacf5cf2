/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of `mpinpu` and what they share. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include <limits.h>
#include <stdbool.h>

/* Exit statuses, as those of a shell's own commands. */
enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

/* A command: argv[0] is its name, what the user wrote behind it follows, and NULL ends it. Returns the exit status. */
typedef int tool_command_t(int argc, char **argv);
tool_command_t tool_info;
tool_command_t tool_run;
tool_command_t tool_settings;
tool_command_t tool_trace;

/* Says on stderr that `word` is not known to `command` and where to look; returns TOOL_USAGE. */
int tool_word_unknown(const char *command, const char *word);

/* The absolute path of the libmpinpu.so that belongs to this program: as installed, relative to the program, so that an
   installation may be moved; or in the build tree. False, with the places that were tried on stderr: it is not there.
 */
bool tool_library_find(char path[PATH_MAX]);

#endif
