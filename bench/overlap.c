/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a nonblocking allreduce is hidden behind computing, as osu_iallreduce counts it: the pure latency is that
   of MPI_Iallreduce and MPI_Wait; then the rank computes for as long between the two, with TESTS calls of MPI_Test
   spread over it. Overlap: the share of the pure latency that was not spent in MPI calls. Kept: the share of it by
   which all took less than computing and reducing one after the other; less than Overlap where a thread or MPI_Test
   took the CPU that computes. Usage: overlap [TESTS [MOST_BYTES [LEAST_BYTES]]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 200, CALLS_LARGE = 40, LARGE = 1 << 20, WARM = 10 };

static volatile double sink;

static void compute(long rounds)
{
    double value = sink;

    for (long r = 0; r < rounds; r++) {
        value = value * 0.999999 + 1e-6;
    }
    sink = value;
}

/* Rounds a second. */
static double compute_rate(void)
{
    const long rounds = 20000000;
    const double start = MPI_Wtime();

    compute(rounds);
    return (double)rounds / (MPI_Wtime() - start);
}

typedef struct times {
    double all;   /* of a call, with its computing */
    double calls; /* in MPI */
} times_t;

static times_t run(const float *in, float *out, int count, int calls, long rounds, int tests)
{
    times_t times = {0, 0};

    for (int c = -WARM; c < calls; c++) {
        MPI_Request request;
        int done = 0;
        double inside;
        const double start = MPI_Wtime();

        MPI_Iallreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        inside = MPI_Wtime() - start;
        for (int t = 0; rounds > 0 && t <= tests; t++) {
            compute(rounds / (tests + 1));
            if (t < tests && !done) {
                const double test = MPI_Wtime();
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                inside += MPI_Wtime() - test;
            }
        }
        const double wait = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const double end = MPI_Wtime();
        if (c >= 0) {
            times.all += (end - start) / calls;
            times.calls += (inside + end - wait) / calls;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return times;
}

static double mean(double mine)
{
    double sum = 0;
    int ranks = 1;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum / ranks;
}

int main(int argc, char **argv)
{
    const int tests = argc > 1 ? atoi(argv[1]) : 0;
    const int most = argc > 2 ? atoi(argv[2]) : 4 << 20;
    const int least = argc > 3 ? atoi(argv[3]) : 4;
    int rank = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    float *in = calloc((size_t)most, 1);
    float *out = calloc((size_t)most, 1);
    if (in == NULL || out == NULL) {
        fprintf(stderr, "no memory for 2 vectors of %d bytes\n", most);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) {
        printf("# Iallreduce, %d calls of MPI_Test\n%-12s%14s%14s%14s%12s%12s\n", tests, "# Size", "Pure(us)",
               "Overall(us)", "In MPI(us)", "Overlap(%)", "Kept(%)");
    }
    for (int bytes = least; bytes <= most; bytes *= 2) {
        const int count = bytes / (int)sizeof *in;
        const int calls = bytes < LARGE ? CALLS : CALLS_LARGE;
        const double pure = run(in, out, count, calls, 0, 0).all;
        const double rate = compute_rate();
        const times_t with = run(in, out, count, calls, (long)(pure * rate) + 1, tests);
        const double shared = mean(pure);
        const double all = mean(with.all);
        const double inside = mean(with.calls);
        const double overlap = 100 * (1 - inside / shared);
        const double kept = 100 * (1 - (all - shared) / shared);
        if (rank == 0) {
            printf("%-12d%14.2f%14.2f%14.2f%12.1f%12.1f\n", bytes, shared * 1e6, all * 1e6, inside * 1e6,
                   overlap > 0 ? overlap : 0, kept > 0 ? kept : 0);
        }
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
