/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `mpinpu`. */
#include "config.h"

#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    tool_command_t *run;
    const char *synopsis;
    const char *help;
} commands[] = {
    {"run", tool_run, "run [--mpirun PROGRAM] -np N [mpirun's options] program [arguments]",
     "runs an MPI program by mpirun, with libmpinpu.so preloaded in its ranks and torchrun's variables set"},
    {"info", tool_info, "info", "shows what is found on this machine, and every setting with its value"},
    {"settings", tool_settings, "settings [--markdown]", "explains the settings, environment variables MPINPU_*"},
    {"trace", tool_trace, "trace FOLDER [FILE]",
     "makes one file of what the ranks of a job wrote to the folder MPINPU_TRACE: FOLDER/trace.json, or FILE"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void help_print(void)
{
    printf("usage:\n");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        printf("  mpinpu %s\n      %s\n", commands[c].synopsis, commands[c].help);
    }
    printf("  mpinpu --help | --version\n\n"
           "Without this command: mpirun -np N -x LD_PRELOAD=/path/to/libmpinpu.so program\n");
}

int tool_word_unknown(const char *command, const char *word)
{
    fprintf(stderr, "mpinpu: %s%sunknown word \"%s\"; `mpinpu --help` shows what there is\n", command,
            command[0] != '\0' ? ": " : "", word);
    return TOOL_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "mpinpu: which command? `mpinpu --help` shows them\n");
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_print();
        return TOOL_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("mpinpu %s\n", PACKAGE_VERSION);
        return TOOL_OK;
    }
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (strcmp(argv[1], commands[c].name) == 0) {
            return commands[c].run(argc - 1, argv + 1);
        }
    }
    return tool_word_unknown("", argv[1]);
}
