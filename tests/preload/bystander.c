/* SPDX-License-Identifier: BSD-3-Clause */
/* A program without MPI: fails, with a line on each thing found, unless it runs as if libmpinpu.so, which must be
   there, were not there. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int entries(const char *folder)
{
    DIR *stream = opendir(folder);
    int count = 0;

    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return count;
}

static int mapped(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int found = 0;

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found |= strstr(line, name) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

int main(void)
{
    int start_errno = errno;
    int files = entries("/proc/self/fd");
    int threads = entries("/proc/self/task");

    printf("errno %d, files %d, threads %d, MPI %d, core %d, UCX %d\n", start_errno, files, threads,
           mapped("/libmpi.so"), mapped("/libmpinpu-openmpi.so"), mapped("/libucp.so"));
    return mapped("/libmpinpu.so");
}
