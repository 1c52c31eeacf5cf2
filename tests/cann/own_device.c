/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that chooses its NPU itself: own_device DEVICE... : rank r sets the r-th before its first collective;
   checks the numbers, and that the device is still set behind them. It is
   reset before MPI_Finalize on even ranks, behind it on odd ones. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*init_t)(const char *path);
typedef int (*set_t)(int device);
typedef int (*get_t)(int *device);

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);

    if (address == NULL) {
        fprintf(stderr, "no %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return address;
}

int main(int argc, char **argv)
{
    enum { COUNT = 100000 };
    static int mine[COUNT];
    static int sum[COUNT];
    int rank;
    int size;
    int device = -1;
    int wrong = 0;
    char path[4096];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/lib64/libascendcl.so", getenv("ASCEND_HOME_PATH"));
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL || argc <= rank + 1) {
        fprintf(stderr, "no library or no device\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const int own = atoi(argv[1 + rank]);
    ((init_t)symbol(library, "aclInit"))(NULL);
    if (((set_t)symbol(library, "aclrtSetDevice"))(own) != 0) {
        fprintf(stderr, "no device %d\n", own);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int call = 0; call < 5; call++) {
        for (int i = 0; i < COUNT; i++) {
            mine[i] = i % 1000 + rank + call;
        }
        MPI_Allreduce(mine, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            wrong += sum[i] != size * (i % 1000 + call) + size * (size - 1) / 2;
        }
    }
    const int code = ((get_t)symbol(library, "aclrtGetDevice"))(&device);
    if (wrong != 0 || code != 0 || device != own) {
        printf("rank %d: %d wrong numbers; device %d, code %d, set was %d\n", rank, wrong, device, code, own);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank % 2 == 0) {
        ((set_t)symbol(library, "aclrtResetDevice"))(own);
    }
    MPI_Finalize();
    if (rank % 2 != 0) {
        ((set_t)symbol(library, "aclrtResetDevice"))(own);
    }
    return 0;
}
