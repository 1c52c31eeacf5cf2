/* SPDX-License-Identifier: BSD-3-Clause */
/* Right results of the three collectives: every type and op, counts around every threshold, in place and not, input in
   read-only memory that ends at an unmapped page, guard bytes around the output.
   Usage: values table | sizes | big | zeros
   Closes traps 8, 9, 12, 13, 14, 15, 16. */
#include "tests/jobs/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 64, GUARD_BYTE = 0xA5 };

/* An input: read-only between input_lock and input_unlock; the page behind its last byte cannot be read. */
typedef struct input {
    char *map;
    size_t map_bytes; /* without the last page */
} input_t;

/* An output: guard bytes before and behind. */
typedef struct output {
    char *memory;
    size_t room;
} output_t;

static input_t input;
static output_t output;

static void buffers_make(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    input.map_bytes = (bytes + GUARD + 2 * page - 1) / page * page;
    input.map = mmap(NULL, input.map_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    output.room = bytes + 3 * (size_t)GUARD;
    output.memory = malloc(output.room);
    if (input.map == MAP_FAILED || output.memory == NULL) {
        job_fail("no memory for buffers of %zu bytes", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    mprotect(input.map + input.map_bytes, page, PROT_NONE);
}

static void buffers_free(void)
{
    munmap(input.map, input.map_bytes + (size_t)sysconf(_SC_PAGESIZE));
    free(output.memory);
}

static char *input_at(size_t bytes)
{
    return input.map + input.map_bytes - bytes;
}

static void input_lock(bool locked)
{
    mprotect(input.map, input.map_bytes, locked ? PROT_READ : PROT_READ | PROT_WRITE);
}

/* `shift` bytes off a multiple of 64. */
static char *output_at(size_t bytes, size_t shift)
{
    uintptr_t base = ((uintptr_t)output.memory + GUARD + 63) / 64 * 64 + shift;
    char *at = (char *)base;
    memset(at - GUARD, GUARD_BYTE, GUARD);
    memset(at, 0x5A, bytes);
    memset(at + bytes, GUARD_BYTE, GUARD);
    return at;
}

static void guards_check(const char *at, size_t bytes, const char *what)
{
    for (int i = 0; i < GUARD; i++) {
        if ((unsigned char)at[i - GUARD] != GUARD_BYTE) {
            job_fail("%s: byte %d before the output was overwritten", what, GUARD - i);
            return;
        }
        if ((unsigned char)at[bytes + (size_t)i] != GUARD_BYTE) {
            job_fail("%s: byte %d behind the output was overwritten", what, i);
            return;
        }
    }
}

/* Gaps of padded types are the user's: what was there before stays. Bare Open MPI does not promise it. */
static void gaps_check(const pattern_type_t *type, const char *at, size_t count, unsigned char was, const char *what)
{
    if (!job.preloaded || type->class != PATTERN_PAIR) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned char *element = (const unsigned char *)at + i * type->size;
        /* a long double has a gap of its own, which any copy may write */
        for (size_t b = type->first_size; b < type->second_offset; b++) {
            JOB_CHECK(element[b] == was, "%s %s: gap inside element %zu was written", what, type->name, i);
        }
        for (size_t b = type->second_offset + type->second_size; b < type->size; b++) {
            JOB_CHECK(element[b] == was, "%s %s: gap behind element %zu was written", what, type->name, i);
        }
    }
}

/* A case: buffers, call and check. `counts` has one block a rank (allreduce: the total is counts[0]). */
typedef struct run {
    job_kind_t kind;
    const pattern_type_t *type;
    const pattern_op_t *op;
    const int *counts;
    bool in_place;
    size_t shift; /* elements that the output is off alignment */
    MPI_Comm comm;
    int rank;
    int size;
} run_t;

static int run_call(const run_t *run, const void *send, void *recv)
{
    switch (run->kind) {
    case JOB_ALLREDUCE:
        return job_allreduce(send, recv, run->counts[0], run->type->handle, run->op->handle, run->comm);
    case JOB_REDUCE_SCATTER:
        return job_reduce_scatter(send, recv, run->counts, run->type->handle, run->op->handle, run->comm);
    default:
        return job_reduce_scatter_block(send, recv, run->counts[0], run->type->handle, run->op->handle, run->comm);
    }
}

static void run_case(const run_t *run)
{
    static const char *const names[JOB_KINDS] = {"allreduce", "reduce_scatter", "reduce_scatter_block"};
    size_t total = (size_t)run->counts[0];
    size_t mine = total;
    size_t first = 0;
    if (run->kind != JOB_ALLREDUCE) {
        total = 0;
        for (int r = 0; r < run->size; r++) {
            first = r == run->rank ? total : first;
            total += (size_t)run->counts[r];
        }
        mine = (size_t)run->counts[run->rank];
    }
    char what[128];
    snprintf(what, sizeof(what), "%s, total %zu%s, %zu off", names[run->kind], total, run->in_place ? ", in place" : "",
             run->shift);
    size_t size = run->type->size;
    size_t room = (run->in_place ? total : mine) * size;
    char *recv = output_at(room, run->shift * size);
    const void *send = MPI_IN_PLACE;
    if (run->in_place) {
        pattern_fill(run->type, run->op, run->rank, recv, 0, total);
    } else {
        char *filled = input_at(total * size);
        pattern_fill(run->type, run->op, run->rank, filled, 0, total);
        input_lock(true);
        send = filled;
    }
    int status = run_call(run, send, recv);
    JOB_CHECK(status == MPI_SUCCESS, "%s %s %s: MPI error %d", what, run->type->name, run->op->name, status);
    if (!run->in_place) {
        input_lock(false);
    }
    if (status == MPI_SUCCESS && pattern_check(run->type, run->op, run->size, recv, first, mine, what)) {
        gaps_check(run->type, recv, mine, run->in_place ? 0xEE : 0x5A, what);
    }
    guards_check(recv, room, what);
}

/* One block a rank, together `total`; not equal where that does not divide. */
static void counts_even(int *counts, int size, size_t total)
{
    for (int r = 0; r < size; r++) {
        counts[r] = (int)(total / (size_t)size + ((size_t)r < total % (size_t)size ? 1 : 0));
    }
}

static void run_kinds(const pattern_type_t *type, const pattern_op_t *op, size_t total, size_t shift)
{
    int *counts = malloc((size_t)job.size * sizeof(int));
    for (int in_place = 0; in_place < 2; in_place++) {
        run_t run = {JOB_ALLREDUCE, type, op, counts, in_place != 0, shift, MPI_COMM_WORLD, job.rank, job.size};
        counts[0] = (int)total;
        run_case(&run);
        run.kind = JOB_REDUCE_SCATTER;
        counts_even(counts, job.size, total);
        run_case(&run);
        run.kind = JOB_REDUCE_SCATTER_BLOCK;
        for (int r = 0; r < job.size; r++) {
            counts[r] = (int)((total + (size_t)job.size - 1) / (size_t)job.size);
        }
        run_case(&run);
    }
    free(counts);
}

/* Open MPI 4.1 takes MPI_UNSIGNED_LONG for a signed type and MPI_OFFSET for an unsigned one in MIN and MAX: not asked
   of bare Open MPI. */
static bool known_host_bug(const pattern_type_t *type, const pattern_op_t *op)
{
    return !job.preloaded && (type->handle == MPI_UNSIGNED_LONG || type->handle == MPI_OFFSET) &&
           (op->id == PATTERN_MIN || op->id == PATTERN_MAX);
}

/* All types by all ops. */
static void test_table(void)
{
    size_t ntypes = 0;
    const pattern_type_t *types = pattern_types(&ntypes);
    const pattern_op_t *ops = pattern_ops();
    buffers_make((size_t)64 * 1024);
    for (size_t t = 0; t < ntypes; t++) {
        for (int o = 0; o < PATTERN_OPS; o++) {
            if (pattern_defined(&types[t], &ops[o]) && !known_host_bug(&types[t], &ops[o])) {
                run_kinds(&types[t], &ops[o], 1, 0);
                run_kinds(&types[t], &ops[o], 37, 1);
                run_kinds(&types[t], &ops[o], 1031, 0);
            }
        }
    }
    buffers_free();
}

/* A few types of every width, at counts around thresholds. */
static void test_sizes(void)
{
    static const struct {
        const char *type;
        pattern_op_id_t op;
    } chosen[] = {
        {"MPI_FLOAT", PATTERN_SUM},       {"MPI_SIGNED_CHAR", PATTERN_MAX},   {"MPI_UNSIGNED_SHORT", PATTERN_BXOR},
        {"MPI_LONG_DOUBLE", PATTERN_SUM}, {"MPI_DOUBLE_INT", PATTERN_MINLOC},
    };
    static const size_t small[] = {0, 1, 2, 3, 7, 8, 9, 13, 15, 16, 17, 31, 33, 61, 63, 64, 65, 127, 129};
    static const size_t bytes[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 262144, 1048576};
    const pattern_op_t *ops = pattern_ops();
    buffers_make((size_t)2 * 1024 * 1024);
    for (size_t t = 0; t < sizeof(chosen) / sizeof(chosen[0]); t++) {
        const pattern_type_t *type = pattern_type_named(chosen[t].type);
        const pattern_op_t *op = &ops[chosen[t].op];
        for (size_t c = 0; c < sizeof(small) / sizeof(small[0]); c++) {
            run_kinds(type, op, small[c], c % 3);
        }
        for (size_t b = 0; b < sizeof(bytes) / sizeof(bytes[0]); b++) {
            size_t count = bytes[b] / type->size;
            run_kinds(type, op, count - 1, 0);
            run_kinds(type, op, count, 1);
            run_kinds(type, op, count + 1, 0);
        }
    }
    buffers_free();
}

static void test_big(void)
{
    const pattern_op_t *ops = pattern_ops();
    buffers_make((size_t)17 * 1024 * 1024);
    run_kinds(pattern_type_named("MPI_DOUBLE"), &ops[PATTERN_SUM], 2 * 1024 * 1024 + 3, 1);
    run_kinds(pattern_type_named("MPI_UNSIGNED_CHAR"), &ops[PATTERN_BAND], 5 * 1000 * 1000 + 1, 0);
    buffers_free();
}

static void zeros_on(MPI_Comm comm, const int *cycle, int length, bool in_place, const pattern_type_t *type)
{
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *counts = malloc((size_t)size * sizeof(int));
    for (int r = 0; r < size; r++) {
        counts[r] = r < length ? cycle[r] : 0;
    }
    const pattern_op_t *op = &pattern_ops()[PATTERN_SUM];
    run_t run = {JOB_REDUCE_SCATTER, type, op, counts, in_place, 0, comm, rank, size};
    run_case(&run);
    free(counts);
}

/* Blocks of length 0; each the first call on a new communicator too. Count 0 with NULL buffers. */
static void test_zeros(void)
{
    static const int cycles[][8] = {
        {0, 5, 0}, {0, 0, 5, 0}, {1, 7, 0, 3, 0, 0, 0, 2}, {9}, {0}, {0, 0, 0, 0, 0, 0, 0, 4}, {70000, 0, 1}};
    static const char *const types[] = {"MPI_INT", "MPI_DOUBLE", "MPI_SHORT"};
    buffers_make((size_t)1024 * 1024);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        for (size_t c = 0; c < sizeof(cycles) / sizeof(cycles[0]); c++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                const pattern_type_t *type = pattern_type_named(types[t]);
                MPI_Comm fresh = MPI_COMM_NULL;
                MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
                zeros_on(fresh, cycles[c], 8, in_place != 0, type);
                MPI_Comm_free(&fresh);
                zeros_on(MPI_COMM_WORLD, cycles[c], 8, in_place != 0, type);
            }
        }
    }
    int *none = calloc((size_t)job.size, sizeof(int));
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    for (int times = 0; times < 2; times++) {
        JOB_CHECK(job_allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, fresh) == MPI_SUCCESS, "allreduce of nothing");
        JOB_CHECK(job_reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, fresh) == MPI_SUCCESS,
                  "reduce_scatter_block of nothing");
        JOB_CHECK(job_reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, fresh) == MPI_SUCCESS,
                  "reduce_scatter of nothing");
    }
    MPI_Comm_free(&fresh);
    free(none);
    buffers_free();
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "table") == 0) {
            test_table();
        } else if (strcmp(argv[a], "sizes") == 0) {
            test_sizes();
        } else if (strcmp(argv[a], "big") == 0) {
            test_big();
        } else if (strcmp(argv[a], "zeros") == 0) {
            test_zeros();
        } else {
            job_fail("no test named %s", argv[a]);
        }
    }
    return job_end();
}
