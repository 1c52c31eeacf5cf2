/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads MPI as Python's extension modules do, RTLD_LOCAL, and reduces by it. Arguments: how the function is reached and
   the library. "handle": by dlsym from libmpi's own handle, which no preload can see. "default": by dlsym from
   RTLD_DEFAULT. "plugin": a library that is linked to MPI is loaded, and it calls. Prints the sum of rank + 1 and
   whether the core was loaded. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLUGIN
#include <mpi.h>

int plugin_sum(void);
int plugin_sum(void)
{
    int rank;
    int sum = 0;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rank++;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum;
}

#else

static void *load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return handle;
}

static void *symbol(void *handle, const char *name)
{
    void *address = dlsym(handle, name);

    if (address == NULL) {
        fprintf(stderr, "%s is not found\n", name);
        exit(2);
    }
    return address;
}

/* The same steps as the plugin's, all by addresses; handles of Open MPI are addresses of data. */
static int sum_by_address(void *mpi, void *allreduce_from)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))symbol(mpi, "MPI_Init");
    int (*comm_rank)(void *, int *) = (int (*)(void *, int *))symbol(mpi, "MPI_Comm_rank");
    int (*finalize)(void) = (int (*)(void))symbol(mpi, "MPI_Finalize");
    int (*allreduce)(const void *, void *, int, void *, void *, void *) =
        (int (*)(const void *, void *, int, void *, void *, void *))symbol(allreduce_from, "MPI_Allreduce");
    void *world = symbol(mpi, "ompi_mpi_comm_world");
    int rank;
    int sum = 0;

    init(NULL, NULL);
    comm_rank(world, &rank);
    rank++;
    allreduce(&rank, &sum, 1, symbol(mpi, "ompi_mpi_int"), symbol(mpi, "ompi_mpi_op_sum"), world);
    finalize();
    return sum;
}

static int core_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int found = 0;

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found |= strstr(line, "libmpinpu-openmpi.so") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    void *library = load(argv[2]);
    int sum = 0;

    if (strcmp(argv[1], "plugin") == 0) {
        sum = ((int (*)(void))symbol(library, "plugin_sum"))();
    } else {
        sum = sum_by_address(library, strcmp(argv[1], "handle") == 0 ? library : RTLD_DEFAULT);
    }
    printf("%d %s\n", sum, core_loaded() ? "core" : "no core");
    return 0;
}
#endif
