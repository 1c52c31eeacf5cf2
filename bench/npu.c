/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce of float on NPUs beside what CANN itself takes: for host buffers the copies to the device and back,
   HCCL's allreduce and the CPU's copies, each alone and for the whole vector, of which the slowest is the least that a
   pipeline of them can take; for device buffers HCCL's allreduce. All take turns in one run. One rank a device. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_MAX = 1000, WARM_UP = 3, ROOT_INFO_BYTES = 4108, TO_DEVICE = 1, TO_HOST = 2, FLOAT32 = 4, SUM = 0 };

typedef struct root_info {
    char internal[ROOT_INFO_BYTES];
} root_info_t;

/* FUNCTION(library, name, parameters): of CANN, all return an int, 0 for success. */
#define FUNCTIONS(FUNCTION)                                                                           \
    FUNCTION("libascendcl.so", aclInit, (const char *))                                               \
    FUNCTION("libascendcl.so", aclrtGetDeviceCount, (uint32_t *))                                     \
    FUNCTION("libascendcl.so", aclrtSetDevice, (int32_t))                                             \
    FUNCTION("libascendcl.so", aclrtResetDevice, (int32_t))                                           \
    FUNCTION("libascendcl.so", aclrtCreateStream, (void **))                                          \
    FUNCTION("libascendcl.so", aclrtDestroyStream, (void *))                                          \
    FUNCTION("libascendcl.so", aclrtSynchronizeStream, (void *))                                      \
    FUNCTION("libascendcl.so", aclrtMalloc, (void **, size_t, int))                                   \
    FUNCTION("libascendcl.so", aclrtFree, (void *))                                                   \
    FUNCTION("libascendcl.so", aclrtMallocHost, (void **, size_t))                                    \
    FUNCTION("libascendcl.so", aclrtFreeHost, (void *))                                               \
    FUNCTION("libascendcl.so", aclrtMemcpyAsync, (void *, size_t, const void *, size_t, int, void *)) \
    FUNCTION("libhccl.so", HcclGetRootInfo, (root_info_t *))                                          \
    FUNCTION("libhccl.so", HcclCommInitRootInfo, (uint32_t, const root_info_t *, uint32_t, void **))  \
    FUNCTION("libhccl.so", HcclCommDestroy, (void *))                                                 \
    FUNCTION("libhccl.so", HcclAllReduce, (void *, void *, uint64_t, int, int, void *, void *))

#define FUNCTION(library, name, parameters) \
    static int(*name) parameters; /* NOLINT(bugprone-macro-parentheses): a declaration */
FUNCTIONS(FUNCTION)
#undef FUNCTION

static const struct function {
    const char *library;
    const char *name;
    void *place;
} functions[] = {
#define FUNCTION(library, name, parameters) {library, #name, &(name)},
    FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* What is timed. */
typedef enum timed { TIMED_MPI, TIMED_HCCL, TIMED_TO_DEVICE, TIMED_TO_HOST, TIMED_CPU, TIMED_COUNT } timed_t;

typedef struct bench {
    int rank;
    int ranks;
    int turns;
    bool on_device; /* buffers of MPI_Allreduce */
    int32_t device;
    void *stream;
    void *comm;
    size_t bytes; /* of the vector that is timed */
    float *user[2];
    void *pinned[2];
    void *npu[2];
} bench_t;

static void stop(const char *what, int code)
{
    fprintf(stderr, "%s: %d\n", what, code);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define DO(name, ...)                 \
    do {                              \
        int code = name(__VA_ARGS__); \
        if (code != 0) {              \
            stop(#name, code);        \
        }                             \
    } while (0)

static void *library_open(const char *name)
{
    const char *home = getenv("ASCEND_HOME_PATH");
    char path[PATH_MAX];
    void *handle = dlopen(name, RTLD_NOW);

    if (handle == NULL && home != NULL) {
        snprintf(path, sizeof path, "%s/lib64/%s", home, name);
        handle = dlopen(path, RTLD_NOW);
    }
    return handle;
}

static bool functions_open(void)
{
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        void *library = library_open(functions[f].library);
        void *address = library != NULL ? dlsym(library, functions[f].name) : NULL;
        if (address == NULL) {
            fprintf(stderr, "%s of %s is not found: is CANN installed, and ASCEND_HOME_PATH set?\n", functions[f].name,
                    functions[f].library);
            return false;
        }
        memcpy(functions[f].place, &address, sizeof address);
    }
    return true;
}

static void device_open(bench_t *bench)
{
    MPI_Comm host;
    root_info_t root;
    uint32_t devices = 0;
    int local;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_free(&host);
    (void)aclInit(NULL); /* the library may have done it */
    DO(aclrtGetDeviceCount, &devices);
    if (local >= (int)devices) {
        stop("ranks of this host than have a device", (int)devices);
    }
    bench->device = local;
    DO(aclrtSetDevice, bench->device);
    DO(aclrtCreateStream, &bench->stream);
    if (bench->rank == 0) {
        DO(HcclGetRootInfo, &root);
    }
    MPI_Bcast(&root, sizeof root, MPI_CHAR, 0, MPI_COMM_WORLD);
    DO(HcclCommInitRootInfo, (uint32_t)bench->ranks, &root, (uint32_t)bench->rank, &bench->comm);
}

static void device_close(bench_t *bench)
{
    DO(HcclCommDestroy, bench->comm);
    DO(aclrtDestroyStream, bench->stream);
    DO(aclrtResetDevice, bench->device);
}

static void memory_open(bench_t *bench, size_t most)
{
    for (int i = 0; i < 2; i++) {
        bench->user[i] = aligned_alloc(4096, (most + 4095) / 4096 * 4096);
        if (bench->user[i] == NULL) {
            stop("memory", 0);
        }
        memset(bench->user[i], 0, most);
        DO(aclrtMallocHost, &bench->pinned[i], most);
        DO(aclrtMalloc, &bench->npu[i], most, 0);
    }
}

static void memory_close(bench_t *bench)
{
    for (int i = 0; i < 2; i++) {
        free(bench->user[i]);
        DO(aclrtFreeHost, bench->pinned[i]);
        DO(aclrtFree, bench->npu[i]);
    }
}

static void copy(const bench_t *bench, void *to, const void *from, int kind)
{
    DO(aclrtMemcpyAsync, to, bench->bytes, from, bench->bytes, kind, bench->stream);
    DO(aclrtSynchronizeStream, bench->stream);
}

/* Seconds of one, the most over the ranks; on rank 0. */
static double time_one(const bench_t *bench, timed_t timed)
{
    const int count = (int)(bench->bytes / sizeof(float));
    double seconds;
    double most = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    switch (timed) {
    case TIMED_MPI:
        MPI_Allreduce(bench->on_device ? bench->npu[0] : bench->user[0],
                      bench->on_device ? bench->npu[1] : bench->user[1], count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case TIMED_HCCL:
        DO(HcclAllReduce, bench->npu[0], bench->npu[1], (uint64_t)count, FLOAT32, SUM, bench->comm, bench->stream);
        DO(aclrtSynchronizeStream, bench->stream);
        break;
    case TIMED_TO_DEVICE:
        copy(bench, bench->npu[0], bench->pinned[0], TO_DEVICE);
        break;
    case TIMED_TO_HOST:
        copy(bench, bench->pinned[1], bench->npu[0], TO_HOST);
        break;
    default:
        memcpy(bench->pinned[0], bench->user[0], bench->bytes);
        memcpy(bench->user[1], bench->pinned[1], bench->bytes);
        break;
    }
    seconds = MPI_Wtime() - seconds;
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

/* The input differs in every element and on every rank; small integers, so that the sum is exact. */
static void input_fill(const bench_t *bench)
{
    for (size_t i = 0; i < bench->bytes / sizeof(float); i++) {
        bench->user[0][i] = (float)((i * 7 + (size_t)bench->rank) % 1021);
    }
    memcpy(bench->pinned[0], bench->user[0], bench->bytes);
    copy(bench, bench->npu[0], bench->pinned[0], TO_DEVICE);
}

static void result_check(const bench_t *bench)
{
    if (bench->on_device) {
        copy(bench, bench->pinned[1], bench->npu[1], TO_HOST);
        memcpy(bench->user[1], bench->pinned[1], bench->bytes);
    }
    for (size_t i = 0; i < bench->bytes / sizeof(float); i++) {
        float sum = 0;
        for (int r = 0; r < bench->ranks; r++) {
            sum += (float)((i * 7 + (size_t)r) % 1021);
        }
        if (bench->user[1][i] != sum) {
            fprintf(stderr, "rank %d: element %zu of %zu bytes is %g, not %g\n", bench->rank, i, bench->bytes,
                    (double)bench->user[1][i], (double)sum);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The medians over the turns, in ms; on rank 0. */
static void size_measure(const bench_t *bench, double medians[TIMED_COUNT])
{
    static double seconds[TIMED_COUNT][TURNS_MAX];

    input_fill(bench);
    for (int turn = -WARM_UP; turn < bench->turns; turn++) {
        for (int timed = 0; timed < TIMED_COUNT; timed++) {
            if (bench->on_device && timed > TIMED_HCCL) {
                continue;
            }
            const double taken = time_one(bench, (timed_t)timed);
            seconds[timed][turn < 0 ? 0 : turn] = taken;
            if (timed == TIMED_MPI) {
                result_check(bench);
            }
        }
    }
    for (int timed = 0; timed < TIMED_COUNT; timed++) {
        qsort(seconds[timed], (size_t)bench->turns, sizeof(double), by_value);
        medians[timed] = 1e3 * seconds[timed][bench->turns / 2];
    }
}

static void size_print(const bench_t *bench, const double ms[TIMED_COUNT])
{
    double bound = ms[TIMED_HCCL];

    printf("%-12zu%14.3f%12.3f", bench->bytes, ms[TIMED_MPI], ms[TIMED_HCCL]);
    for (int timed = TIMED_TO_DEVICE; timed < TIMED_COUNT && !bench->on_device; timed++) {
        printf("%12.3f", ms[timed]);
        bound = ms[timed] > bound ? ms[timed] : bound;
    }
    printf("%14.3f%10.3f\n", bound, ms[TIMED_MPI] / bound);
    fflush(stdout);
}

/* "-d" for device buffers, "-i TURNS", and the least and the greatest size in MiB. */
static bool options_read(bench_t *bench, int argc, char **argv, size_t *least, size_t *most)
{
    int argument = 1;

    if (argument < argc && strcmp(argv[argument], "-d") == 0) {
        bench->on_device = true;
        argument++;
    }
    if (argument + 1 < argc && strcmp(argv[argument], "-i") == 0) {
        bench->turns = (int)strtol(argv[argument + 1], NULL, 10);
        argument += 2;
    }
    if (argument < argc) {
        *least = strtoul(argv[argument++], NULL, 10) << 20;
        *most = *least;
    }
    if (argument < argc) {
        *most = strtoul(argv[argument++], NULL, 10) << 20;
    }
    return argument == argc && *least > 0 && *least <= *most && *most <= (size_t)4 << 30 && bench->turns > 0 &&
           bench->turns <= TURNS_MAX;
}

int main(int argc, char **argv)
{
    bench_t bench = {.turns = 9};
    size_t least = (size_t)16 << 20;
    size_t most = (size_t)64 << 20;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    if (!options_read(&bench, argc, argv, &least, &most)) {
        if (bench.rank == 0) {
            fprintf(stderr, "usage: npu [-d] [-i TURNS] [MIB [MIB]]: host buffers, or with -d device buffers, from the "
                            "first size to the second (16 to 64)\n");
        }
        MPI_Finalize();
        return 2;
    }
    if (!functions_open()) {
        MPI_Finalize();
        return 1;
    }
    device_open(&bench);
    memory_open(&bench, most);
    if (bench.rank == 0) {
        printf("# MPI_Allreduce of float, %s buffers, %d ranks; ms, medians of %d\n",
               bench.on_device ? "device" : "host", bench.ranks, bench.turns);
        printf("%-12s%14s%12s%s%14s%10s\n", "# bytes", "MPI_Allreduce", "HCCL alone",
               bench.on_device ? "" : "   to device     to host  CPU copies",
               bench.on_device ? "HCCL alone" : "slowest stage", "ratio");
    }
    for (bench.bytes = least; bench.bytes <= most; bench.bytes *= 2) {
        double medians[TIMED_COUNT] = {0};
        size_measure(&bench, medians);
        if (bench.rank == 0) {
            size_print(&bench, medians);
        }
    }
    memory_close(&bench);
    device_close(&bench);
    MPI_Finalize();
    return 0;
}
