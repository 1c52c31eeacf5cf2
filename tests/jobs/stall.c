/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs with a rank that comes late to its collectives. Usage: stall first|late SECONDS RANK [COUNT|iCOUNT ...]
   late: after some calls in time, this rank of the communicator, "the late ones", whose ranks are those of
   MPI_COMM_WORLD backwards, comes so much later to one of each COUNT (i: nonblocking, waited for). first: it is late to
   the first call on the communicator, in which it is set up. */
#include "tests/jobs/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reduce(const double *in, double *out, int count, bool nonblocking, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;

    memset(out, 0, (size_t)count * sizeof *out);
    if (nonblocking) {
        job_iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        job_allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
    }
}

static void one(const char *what, unsigned milliseconds, int late, MPI_Comm comm, bool warm)
{
    const bool nonblocking = what[0] == 'i';
    const int count = atoi(what + nonblocking);
    const size_t bytes = ((size_t)count * sizeof(double) + 4095) / 4096 * 4096;
    double *in = aligned_alloc(4096, bytes);
    double *out = aligned_alloc(4096, bytes);
    int rank = 0;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < count; i++) {
        in[i] = (double)(i % 100 + rank);
    }
    for (int time = warm ? 0 : 3; time < 4; time++) {
        if (time == 3 && rank == late) {
            usleep(milliseconds * 1000);
        }
        reduce(in, out, count, nonblocking, comm);
    }
    for (int i = 0; i < count; i++) {
        const int whole = i % 100 * job.size + job.size * (job.size - 1) / 2;
        const double right = whole;
        JOB_CHECK(out[i] == right, "element %d of %d is %g, not %g", i, count, out[i], right);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;

    job_begin(&argc, &argv);
    if (argc < 5) {
        fprintf(stderr, "usage: stall first|late SECONDS RANK COUNT...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, -job.rank, &comm);
    MPI_Comm_set_name(comm, "the late ones");
    for (int a = 4; a < argc; a++) {
        one(argv[a], (unsigned)(atof(argv[2]) * 1000), atoi(argv[3]), comm, strcmp(argv[1], "late") == 0);
    }
    MPI_Comm_free(&comm);
    return job_end();
}
