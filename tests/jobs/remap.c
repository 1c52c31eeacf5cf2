/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers unmapped between calls and new memory mapped at the same address: nothing remembered of the old one is used.
   Closes trap 39. */
#include "tests/jobs/pattern.h"

#include <string.h>
#include <sys/mman.h>

enum { BYTES = 4 * 1024 * 1024 };

static char *map_at(char *where)
{
    int fixed = where == NULL ? 0 : MAP_FIXED;
    char *at = mmap(where, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (at == MAP_FAILED) {
        job_fail("mmap of %d bytes failed", BYTES);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    const pattern_op_t *ops = pattern_ops();
    const pattern_type_t *types[2] = {pattern_type_named("MPI_FLOAT"), pattern_type_named("MPI_INT")};
    char *in = map_at(NULL);
    char *out = map_at(NULL);
    for (int turn = 0; turn < 24; turn++) {
        /* other data at every turn: another type, and a start shifted by `turn` */
        const pattern_type_t *type = types[turn % 2];
        const pattern_op_t *op = &ops[turn % 4 < 2 ? PATTERN_SUM : PATTERN_MAX];
        size_t count = BYTES / type->size >> (turn % 3 * 4);
        pattern_fill(type, op, job.rank, in, (size_t)turn, count);
        memset(out, 0x5A, count * type->size);
        job_allreduce(in, out, (int)count, type->handle, op->handle, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, out, (size_t)turn, count, "allreduce");
        size_t block = count / (size_t)job.size;
        job_reduce_scatter_block(in, out, (int)block, type->handle, op->handle, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, out, (size_t)turn + block * (size_t)job.rank, block, "reduce_scatter_block");
        if (turn % 2 == 0) {
            munmap(in, BYTES);
            munmap(out, BYTES);
        }
        in = map_at(in);
        out = map_at(out);
    }
    munmap(in, BYTES);
    munmap(out, BYTES);
    return job_end();
}
