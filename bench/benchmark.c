/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark: one latency a size. It knows MPI and nothing else; mpicc alone builds it. */
#define _GNU_SOURCE
#include "collective.h"
#include "options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above LARGE_BYTES fewer calls are made. */
enum { LARGE_BYTES = 8192, GUARD_BYTES = 64, GUARD_VALUE = 0x5a, PROBE_CALLS = 3 };

typedef struct bench {
    options_t options;
    int rank;
    int ranks;
    shape_t shape;
    values_t values;
    char *send;
    char *recv;
    size_t turn; /* which data is in the buffers */
    bool failed; /* a result of this size was wrong on this rank */
} bench_t;

typedef struct row {
    int iterations;
    double seconds; /* of all timed calls, on this rank */
} row_t;

static void refill(bench_t *bench)
{
    char *input = bench->options.in_place ? bench->recv : bench->send;

    bench->turn++;
    values_fill(&bench->values, bench->turn, input, (size_t)bench->shape.total);
}

/* The result is right and nothing was written behind it. */
static void check(bench_t *bench)
{
    const size_t mine = (size_t)bench->shape.mine;
    const size_t written = bench->options.in_place ? (size_t)bench->shape.total : mine;
    const char *guard = bench->recv + written * bench->values.element;

    if (!values_match(&bench->values, bench->turn, bench->recv, (size_t)bench->shape.mine_offset, mine)) {
        bench->failed = true;
    }
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (guard[i] != GUARD_VALUE) {
            bench->failed = true;
        }
    }
}

static void call(bench_t *bench)
{
    const void *send = bench->options.in_place ? MPI_IN_PLACE : bench->send;

    collective.call(send, bench->recv, &bench->shape, bench->options.type->handle, bench->options.op->handle,
                    MPI_COMM_WORLD);
}

/* Calls `count` times; the seconds spent in the calls. */
static double run(bench_t *bench, int count)
{
    const bool pure = bench->options.back_to_back && !bench->options.rewrite;
    double seconds = 0;
    double start = MPI_Wtime();

    if (pure) {
        for (int i = 0; i < count; i++) {
            call(bench);
        }
        return MPI_Wtime() - start;
    }
    for (int i = 0; i < count; i++) {
        if (bench->options.rewrite) {
            refill(bench);
            if (!bench->options.back_to_back) {
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
        start = MPI_Wtime();
        call(bench);
        seconds += MPI_Wtime() - start;
        if (bench->options.check) {
            check(bench);
        }
        if (!bench->options.back_to_back) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    return seconds;
}

/* How many timed calls: the number asked for, or what a short probe says fits in the time. The same on all ranks. */
static int iterations_for(bench_t *bench, int asked)
{
    double seconds;
    int fits = asked;

    if (bench->options.seconds <= 0) {
        return asked;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    run(bench, PROBE_CALLS);
    seconds = (MPI_Wtime() - seconds) / PROBE_CALLS;
    if (seconds * asked > bench->options.seconds) {
        fits = (int)(bench->options.seconds / seconds);
    }
    fits = fits > PROBE_CALLS ? fits : PROBE_CALLS;
    fits = fits < asked ? fits : asked;
    MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return fits;
}

static row_t measure(bench_t *bench)
{
    const options_t *options = &bench->options;
    const bool large = (size_t)bench->shape.total * options->type->bytes > LARGE_BYTES;
    int warm_up = options->warm_up >= 0 ? options->warm_up : (large ? 10 : 200);
    row_t row;

    row.iterations = options->iterations > 0 ? options->iterations : (large ? 100 : 1000);
    bench->failed = false;
    memset(bench->recv, GUARD_VALUE, (size_t)bench->shape.total * options->type->bytes + GUARD_BYTES);
    refill(bench);
    run(bench, 1);
    row.iterations = iterations_for(bench, row.iterations);
    warm_up = warm_up < row.iterations || options->seconds <= 0 ? warm_up : row.iterations;
    run(bench, warm_up);
    MPI_Barrier(MPI_COMM_WORLD);
    row.seconds = run(bench, row.iterations);
    MPI_Barrier(MPI_COMM_WORLD);
    return row;
}

static void print_header(const bench_t *bench)
{
    printf("# OSU-like MPI %s Latency Test (%s, %d ranks%s%s%s)\n", collective.title, bench->options.op->mpi_name,
           bench->ranks, bench->options.in_place ? ", in place" : "",
           bench->options.rewrite ? ", input rewritten between calls" : "",
           bench->options.back_to_back ? ", no barrier between calls" : "");
    printf("# Datatype: %s.\n", bench->options.type->mpi_name);
    printf("%-10s%18s", "# Size", "Avg Latency(us)");
    if (bench->options.full) {
        printf("%18s%18s%12s", "Min Latency(us)", "Max Latency(us)", "Iterations");
    }
    if (bench->options.check) {
        printf("%14s", "Validation");
    }
    printf("\n");
    fflush(stdout);
}

/* Gathers the row on rank 0 and prints it; whether all ranks' results were right. */
static bool report(const bench_t *bench, row_t row)
{
    const double mine = row.seconds * 1e6 / row.iterations;
    const int wrong = bench->failed;
    double sum = 0;
    double least = 0;
    double most = 0;
    int any_wrong = 0;

    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(&any_wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (bench->rank == 0) {
        printf("%-10zu%18.2f", (size_t)bench->shape.total * bench->values.element, sum / bench->ranks);
        if (bench->options.full) {
            printf("%18.2f%18.2f%12d", least, most, row.iterations);
        }
        if (bench->options.check) {
            printf("%14s", any_wrong ? "Fail" : "Pass");
        }
        printf("\n");
        fflush(stdout);
    }
    return !any_wrong;
}

static bool run_sizes(bench_t *bench)
{
    const size_t element = bench->values.element;
    bool right = true;
    int last = 0;

    for (size_t bytes = bench->options.min_bytes; bytes <= bench->options.max_bytes; bytes *= 2) {
        size_t elements = bytes / element > 0 ? bytes / element : 1;

        collective.deal((int)elements, bench->rank, bench->ranks, &bench->shape);
        if (bench->shape.total == last) {
            continue;
        }
        last = bench->shape.total;
        right = report(bench, measure(bench)) && right;
    }
    return right;
}

/* Memory for the largest size, on page borders as OSU has it. */
static bool allocate(bench_t *bench)
{
    const size_t most = bench->options.max_bytes + ((size_t)bench->ranks + 1) * bench->values.element;
    void *memory;

    bench->shape.counts = calloc((size_t)bench->ranks, sizeof(int));
    if (bench->shape.counts == NULL || posix_memalign(&memory, 4096, most) != 0) {
        return false;
    }
    bench->send = memory;
    if (posix_memalign(&memory, 4096, most + GUARD_BYTES) != 0) {
        return false;
    }
    bench->recv = memory;
    return true;
}

int main(int argc, char **argv)
{
    bench_t bench = {.turn = 0};
    options_answer_t answer;
    bool right;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    answer = options_read(argc, argv, bench.rank == 0, &bench.options);
    if (answer == OPTIONS_RUN && bench.options.max_bytes / bench.options.type->bytes > INT_MAX - (size_t)bench.ranks) {
        if (bench.rank == 0) {
            fprintf(stderr, "-m: at most 2^31 - 1 elements of %s\n", bench.options.type->mpi_name);
        }
        answer = OPTIONS_WRONG;
    }
    if (answer != OPTIONS_RUN) {
        MPI_Finalize();
        return answer == OPTIONS_HELP ? 0 : 2;
    }
    if (!values_make(bench.options.type, bench.options.op, bench.rank, bench.ranks, &bench.values) ||
        !allocate(&bench)) {
        fprintf(stderr, "rank %d: no memory for 2 vectors of %zu bytes\n", bench.rank, bench.options.max_bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (bench.rank == 0) {
        print_header(&bench);
    }
    right = run_sizes(&bench);
    free(bench.send);
    free(bench.recv);
    free(bench.shape.counts);
    values_free(&bench.values);
    MPI_Finalize();
    return right ? 0 : 1;
}
