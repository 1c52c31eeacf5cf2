/* SPDX-License-Identifier: BSD-3-Clause */
/* Fails each function of CANN that the engine calls on a communicator, at its first, second, a middle and its last
   call, on all ranks and on one, and the tasks of the devices. Each time a new communicator of all ranks reduces:
   either all its numbers are right, or it has an error on all ranks, by the error handler, of one class, naming the
   rank that had it and its code. Then the communicator of the first two ranks, which was made before on the same
   devices, must still be right. Prints each function that it failed. Usage: sweep [FUNCTION]... (without: all of the
   engine's table) */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 20000, CALLS = 8, CODE_ACL = 507899, CODE_HCCL = 19 };

static const char *const functions[] = {
#define CANN_FUNCTION(LIBRARY, NEED, SINCE, RESULT, NAME, PARAMETERS) #NAME,
#include "engine/hccl/cann_functions.def"
#undef CANN_FUNCTION
    "task", "HcclAllReduce.task", "HcclReduceScatter.task", "HcclReduceScatterV.task", "HcclGetCommAsyncError.value",
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void (*faults_set)(const char *faults);
static long (*calls_get)(const char *function);
static int rank, size, wrong, handled;
static int faulty; /* the one rank that fails */
static char fault[128] = "none";
static MPI_Errhandler errhandler;

#define REQUIRE(CONDITION, ...)                              \
    do {                                                     \
        if (!(CONDITION)) {                                  \
            wrong++;                                         \
            printf("FAIL rank %d, fault %s: ", rank, fault); \
            printf(__VA_ARGS__);                             \
            printf("\n");                                    \
            fflush(stdout);                                  \
        }                                                    \
    } while (0)

/* The signature is MPI's. */
static void handler(MPI_Comm *comm, int *code, ...) /* NOLINT(cert-dcl50-cpp) */
{
    (void)comm;
    (void)code;
    handled++;
}

static MPI_Comm comm_new(MPI_Comm of, int color)
{
    MPI_Comm comm;
    MPI_Comm_split(of, color, 0, &comm);
    MPI_Comm_set_errhandler(comm, errhandler);
    return comm;
}

/* What rank r puts into element i. */
static int element(int r, int i, int call)
{
    return i % 1000 + call + r;
}

static int counts_of(int r, int ranks)
{
    return COUNT / ranks / 4 * (r % 2 + 1);
}

/* One reduction of the kind that the number stands for, checked. The MPI call's code. */
static int reduce(MPI_Comm comm, int call)
{
    static int in[COUNT], out[COUNT];
    static double in64[COUNT], out64[COUNT];
    int counts[64];
    int ranks = 0;
    int me = 0;
    int first = 0;
    int count = COUNT;
    int code = MPI_SUCCESS;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < COUNT; i++) {
        in[i] = element(me, i, call);
        in64[i] = in[i];
        out[i] = -1;
        out64[i] = -1;
    }
    const int kind = call % 4;
    const int before = handled;
    if (kind == 0) {
        code = MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
    } else if (kind == 1) {
        count = COUNT / ranks;
        first = me * count;
        code = MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm);
    } else if (kind == 2) {
        for (int r = 0; r < ranks; r++) {
            counts[r] = counts_of(r, ranks);
            first += r < me ? counts[r] : 0;
        }
        count = counts[me];
        code = MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
    } else {
        code = MPI_Allreduce(in64, out64, COUNT, MPI_DOUBLE, MPI_SUM, comm);
    }
    REQUIRE(handled - before == (code != MPI_SUCCESS), "call %d called the error handler %d times", call,
            handled - before);
    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
        const int expected = ranks * element(0, first + i, call) + ranks * (ranks - 1) / 2;
        if ((kind == 3 ? (int)out64[i] : out[i]) != expected) {
            REQUIRE(false, "call %d gives a wrong number", call);
            break;
        }
    }
    return code;
}

/* All calls on a new communicator. The code of the last. */
static int reduce_all(MPI_Comm comm)
{
    int code = MPI_SUCCESS;
    for (int call = 0; call < CALLS; call++) {
        const int before = code;
        code = reduce(comm, call);
        REQUIRE(before == MPI_SUCCESS || code == before, "call %d does not fail as the one before", call);
    }
    return code;
}

/* The errors of all ranks must be one. */
static void errors_check(int code, bool one, int injected)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    char number[32];
    char who[32];
    int length = 0;
    int class = MPI_SUCCESS;
    int range[2];
    MPI_Error_class(code, &class);
    const int mine[2] = {class, -class};
    MPI_Reduce(mine, range, 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(range, 2, MPI_INT, 0, MPI_COMM_WORLD);
    REQUIRE(range[0] == -range[1], "the error class is %d here, %d to %d elsewhere", class, -range[1], range[0]);
    if (code == MPI_SUCCESS) {
        return;
    }
    MPI_Error_string(code, text, &length);
    snprintf(number, sizeof number, "(%d)", injected);
    snprintf(who, sizeof who, "rank %d: ", faulty);
    REQUIRE(strncmp(text, "mpinpu: ", 8) == 0 && strstr(text, number) != NULL && (!one || strstr(text, who) != NULL),
            "the text is %s", text);
}

/* One fault. *reached: whether the call that is to fail was made on some rank; *error: whether it became an error,
   which it need not, since the engine does without some calls. */
static void try(MPI_Comm healthy, const char *function, long n, bool one, bool *reached, bool *error)
{
    MPI_Comm comm = comm_new(MPI_COMM_WORLD, 0);
    const int code = strncmp(function, "Hccl", 4) == 0 && strstr(function, ".task") == NULL ? CODE_HCCL : CODE_ACL;
    snprintf(fault, sizeof fault, "%s:%ld:%d:%d", function, n, code, one ? faulty : -1);
    faults_set(fault);
    reduce_all(comm);
    int mine = calls_get(function) >= n && (!one || rank == faulty);
    int any = 0;
    MPI_Reduce(&mine, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    faults_set("");
    /* Who did not take part in what failed hears of it here at the latest. */
    const int last = reduce(comm, 0);
    errors_check(last, one, code);
    /* Its HCCL communicator must not serve the next one, so it fails now. */
    faults_set("HcclAllReduce:1:4");
    (void)reduce(comm, 0);
    faults_set("");
    MPI_Comm_free(&comm);
    const int other = reduce(healthy, 0);
    REQUIRE(other == MPI_SUCCESS, "another communicator fails too");
    *reached = any != 0;
    *error = last != MPI_SUCCESS;
}

static bool chosen(int argc, char **argv, const char *function)
{
    bool found = argc < 2;
    for (int a = 1; a < argc; a++) {
        found = found || strcmp(argv[a], function) == 0;
    }
    return found;
}

/* All faults of a function that some rank calls `calls` times, and the last that calls it at all is to fail alone. */
static void sweep(MPI_Comm healthy, const char *function, long calls)
{
    const long at[] = {1, 2, calls / 2 + 1, calls};
    int faults = 0;
    int errors = 0;
    for (int i = 0; i < 4; i++) {
        if (at[i] > calls || (i > 0 && at[i] <= at[i - 1])) {
            continue;
        }
        for (int one = 0; one < 2; one++) {
            bool reached;
            bool error;
            try(healthy, function, at[i], one != 0, &reached, &error);
            faults += reached;
            errors += error;
        }
    }
    if (rank == 0 && faults > 0) {
        printf("swept %s: %d faults, %d of them errors\n", function, faults, errors);
        fflush(stdout);
    }
}

/* The library that the engine uses, as it was called till CANN 8.5 or since. */
static bool library_find(void)
{
    static const char *const names[] = {"libascendcl.so", "libacl_rt.so"};
    void *library = NULL;
    char path[4096];
    for (int n = 0; n < 2 && library == NULL; n++) {
        snprintf(path, sizeof path, "%s/lib64/%s", getenv("ASCEND_HOME_PATH"), names[n]);
        library = dlopen(path, RTLD_NOW);
    }
    if (library == NULL) {
        return false;
    }
    *(void **)&faults_set = dlsym(library, "standin_faults_set");
    *(void **)&calls_get = dlsym(library, "standin_calls");
    return faults_set != NULL && calls_get != NULL;
}

int main(int argc, char **argv)
{
    long mine[FUNCTIONS], most[FUNCTIONS];
    int calling[FUNCTIONS], last[FUNCTIONS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(handler, &errhandler);
    if (!library_find()) {
        printf("FAIL: the stand-in is not in ASCEND_HOME_PATH\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm healthy = comm_new(MPI_COMM_WORLD, rank < 2 ? 0 : 1);
    REQUIRE(reduce(healthy, 0) == MPI_SUCCESS, "no communicator");
    /* Without a fault: what is called how often. */
    MPI_Comm comm = comm_new(MPI_COMM_WORLD, 0);
    faults_set("");
    REQUIRE(reduce_all(comm) == MPI_SUCCESS, "an error");
    for (int f = 0; f < FUNCTIONS; f++) {
        mine[f] = calls_get(functions[f]);
        calling[f] = mine[f] > 0 ? rank : -1;
    }
    faults_set("HcclAllReduce:1:4");
    REQUIRE(reduce(comm, 0) != MPI_SUCCESS, "the NPUs did nothing");
    faults_set("");
    MPI_Comm_free(&comm);
    MPI_Reduce(mine, most, FUNCTIONS, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(most, FUNCTIONS, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Reduce(calling, last, FUNCTIONS, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(last, FUNCTIONS, MPI_INT, 0, MPI_COMM_WORLD);
    for (int f = 0; f < FUNCTIONS; f++) {
        faulty = last[f];
        if (chosen(argc, argv, functions[f])) {
            sweep(healthy, functions[f], most[f]);
        }
    }
    MPI_Comm_free(&healthy);
    MPI_Errhandler_free(&errhandler);
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong > 0;
}
