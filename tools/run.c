/* SPDX-License-Identifier: BSD-3-Clause */
/* `mpinpu run`: mpirun, with libmpinpu.so preloaded in the ranks of the program and nowhere else, and the variables set
   by which torchrun tells a rank its place. */
#include "config.h"

#include "tools/run.h"
#include "tools/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the mpirun that the shell would take is Open MPI's. */
static bool mpirun_is_openmpi(void)
{
    char line[256] = "";
    FILE *version = popen("mpirun --version 2>/dev/null", "re");

    if (version == NULL) {
        return false;
    }
    bool read = fgets(line, sizeof line, version) != NULL;
    pclose(version);
    return read && (strstr(line, "Open MPI") != NULL || strstr(line, "OpenRTE") != NULL);
}

/* The object beside the library that gives a rank the variables of its place. */
static bool launch_library_find(const char *library, char path[PATH_MAX])
{
    int folder_bytes = (int)(strrchr(library, '/') - library);

    if (snprintf(path, PATH_MAX, "%.*s/mpinpu/libmpinpu-launch.so", folder_bytes, library) >= PATH_MAX ||
        access(path, R_OK) != 0) {
        fprintf(stderr, "mpinpu: %s is not there: this installation is not whole\n", path);
        return false;
    }
    return true;
}

/* Variables that each rank is to get for itself cannot come from here, where they are the same for all. */
static void inherited_tell(void)
{
    static const char *const names[] = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"};

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (getenv(names[n]) != NULL) {
            fprintf(stderr, "mpinpu: run: %s=%s is set here, so every rank of this host keeps it; unset it first\n",
                    names[n], getenv(names[n]));
        }
    }
}

int tool_run(int argc, char **argv)
{
    static char path_mpirun[] = "mpirun";
    static char built_mpirun[] = MPIRUN;
    static char no_launch[] = "--do-not-launch";
    static char show_map[] = "--display-map";
    char library[PATH_MAX];
    char launch[PATH_MAX];
    char libraries[2 * PATH_MAX];
    char master[RUN_MASTER_BYTES];
    run_gift_t gift = {.libraries = libraries};
    run_words_t map = {0};
    run_words_t job = {0};
    char *mpirun = NULL;
    int used = 1;

    if (argc > 2 && strcmp(argv[1], "--mpirun") == 0) {
        mpirun = argv[2];
        used = 3;
    }
    if (used == argc) {
        fprintf(stderr,
                "mpinpu: run: what? mpinpu run [--mpirun PROGRAM] -np N [mpirun's options] program [arguments]\n");
        return TOOL_USAGE;
    }
    if (!tool_library_find(library) || !launch_library_find(library, launch)) {
        return TOOL_FAILED;
    }
    if (strpbrk(library, ": ") != NULL) {
        fprintf(stderr, "mpinpu: %s cannot be preloaded: LD_PRELOAD takes no path with a colon or a space\n", library);
        return TOOL_FAILED;
    }
    snprintf(libraries, sizeof libraries, "%s:%s", library, launch);
    if (mpirun == NULL) {
        mpirun = mpirun_is_openmpi() ? path_mpirun : built_mpirun;
    }
    inherited_tell();
    char *const *user = argv + used;
    const size_t user_count = (size_t)(argc - used);
    if (!run_words_add(&map, mpirun) || !run_words_add(&map, no_launch) || !run_words_add(&map, show_map) ||
        !run_arguments(&map, user, user_count, &gift) || !run_master_find(&map, master)) {
        return TOOL_FAILED;
    }
    gift.master = master;
    if (!run_words_add(&job, mpirun) || !run_arguments(&job, user, user_count, &gift)) {
        return TOOL_FAILED;
    }
    execvp(mpirun, job.word);
    fprintf(stderr, "mpinpu: %s does not start: %s\n", mpirun, strerror(errno));
    return errno == ENOENT ? 127 : 126; /* as a shell */
}
