/* SPDX-License-Identifier: BSD-3-Clause */
/* What is not for the engine, and what is wrong: each case prints the error class and its text, and how often the
   communicator's error handler was called, to FILE.RANK. The script compares these files of a bare and of a preloaded
   run. What has a result is checked here too: user ops that do not commute, intercommunicators, one-rank communicators.
   Usage: errors FILE walk | arguments | results
   Closes traps 11, 18, 19, 29. */
#include "tests/jobs/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *cases;
static int handled;
static int handled_code;

/* The signature is MPI's. */
static void handler(MPI_Comm *comm, int *code, ...) /* NOLINT(cert-dcl50-cpp) */
{
    (void)comm;
    handled++;
    handled_code = *code;
}

static void say(const char *what, int status)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    int class = 0;
    MPI_Error_class(status, &class);
    MPI_Error_string(status, text, &length);
    fprintf(cases, "%s: class %d, \"%s\", handler called %d times with %d\n", what, class, text, handled, handled_code);
    handled = 0;
    handled_code = 0;
}

/* Every type by every op, defined or not. */
static void test_walk(MPI_Comm comm)
{
    static const struct {
        const char *name;
        MPI_Datatype handle;
    } more[] = {
        {"MPI_CHAR", MPI_CHAR}, {"MPI_WCHAR", MPI_WCHAR}, {"MPI_PACKED", MPI_PACKED}, {"MPI_CHARACTER", MPI_CHARACTER}};
    size_t ntypes = 0;
    const pattern_type_t *types = pattern_types(&ntypes);
    const pattern_op_t *ops = pattern_ops();
    static char in[4096];
    static char out[4096];
    int *counts = calloc((size_t)job.size, sizeof(int));
    counts[job.size - 1] = 3;
    MPI_Op more_ops[] = {MPI_REPLACE, MPI_NO_OP};
    for (size_t t = 0; t < ntypes + sizeof(more) / sizeof(more[0]); t++) {
        MPI_Datatype type = t < ntypes ? types[t].handle : more[t - ntypes].handle;
        const char *name = t < ntypes ? types[t].name : more[t - ntypes].name;
        for (int o = 0; o < PATTERN_OPS + 2; o++) {
            MPI_Op op = o < PATTERN_OPS ? ops[o].handle : more_ops[o - PATTERN_OPS];
            const char *op_text = o < PATTERN_OPS ? ops[o].name : o == PATTERN_OPS ? "REPLACE" : "NO_OP";
            char what[128];
            if (o >= PATTERN_OPS && t % 8 != 0) {
                continue;
            }
            snprintf(what, sizeof(what), "allreduce %s %s", name, op_text);
            say(what, MPI_Allreduce(in, out, 3, type, op, comm));
            snprintf(what, sizeof(what), "reduce_scatter %s %s", name, op_text);
            say(what, MPI_Reduce_scatter(in, out, counts, type, op, comm));
            snprintf(what, sizeof(what), "reduce_scatter_block %s %s", name, op_text);
            say(what, MPI_Reduce_scatter_block(in, out, 3, type, op, comm));
            snprintf(what, sizeof(what), "allreduce of nothing %s %s", name, op_text);
            say(what, MPI_Allreduce(in, out, 0, type, op, comm));
        }
    }
    free(counts);
}

static void say_all(const char *what, const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    char text[128];
    int *counts = calloc((size_t)job.size, sizeof(int));
    counts[0] = count;
    counts[job.size - 1] = count;
    snprintf(text, sizeof(text), "allreduce, %s", what);
    say(text, MPI_Allreduce(in, out, count, type, op, comm));
    snprintf(text, sizeof(text), "reduce_scatter, %s", what);
    say(text, MPI_Reduce_scatter(in, out, counts, type, op, comm));
    snprintf(text, sizeof(text), "reduce_scatter_block, %s", what);
    say(text, MPI_Reduce_scatter_block(in, out, count, type, op, comm));
    free(counts);
}

static void test_arguments(MPI_Comm comm)
{
    static int in[1024];
    static int out[1024];
    /* some errors come through the handler of MPI_COMM_WORLD */
    MPI_Errhandler on_world = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &on_world);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, on_world);
    MPI_Errhandler_free(&on_world);
    MPI_Datatype dup = MPI_DATATYPE_NULL;
    MPI_Datatype two = MPI_DATATYPE_NULL;
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    MPI_Type_dup(MPI_INT, &dup);
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Type_contiguous(3, MPI_INT, &raw); /* not committed */

    say_all("a dup of MPI_INT", in, out, 4, dup, MPI_SUM, comm);
    say_all("two MPI_INT", in, out, 4, two, MPI_SUM, comm);
    say_all("not committed", in, out, 4, raw, MPI_SUM, comm);
    say_all("negative count", in, out, -1, MPI_INT, MPI_SUM, comm);
    say_all("most negative count", in, out, -2147483647, MPI_INT, MPI_SUM, comm);
    say_all("no op", in, out, 4, MPI_INT, MPI_OP_NULL, comm);
    say_all("no datatype", in, out, 4, MPI_DATATYPE_NULL, MPI_SUM, comm);
    say_all("the same buffer twice", in, in, 4, MPI_INT, MPI_SUM, comm);
    say_all("output in place", in, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, comm);
    say_all("both in place", MPI_IN_PLACE, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, comm);
    say_all("no op and negative count", in, out, -1, MPI_INT, MPI_OP_NULL, comm);
    say_all("no datatype and no op", in, out, 4, MPI_DATATYPE_NULL, MPI_OP_NULL, comm);
    say_all("nothing of no datatype", in, out, 0, MPI_DATATYPE_NULL, MPI_SUM, comm);
    say_all("nothing by no op", in, out, 0, MPI_INT, MPI_OP_NULL, comm);
    say_all("nothing of a dup", in, out, 0, dup, MPI_SUM, comm);

    say_all("no communicator", in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_NULL);

    /* after errors all goes on */
    for (int i = 0; i < 1024; i++) {
        in[i] = i + job.rank;
    }
    say("allreduce after errors", job_allreduce(in, out, 1024, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < 1024; i++) {
        int expected = i * job.size + job.size * (job.size - 1) / 2;
        JOB_CHECK(out[i] == expected, "after errors: index %d: got %d, expected %d", i, out[i], expected);
    }
    MPI_Type_free(&dup);
    MPI_Type_free(&two);
    MPI_Type_free(&raw);
}

/* 2x2 matrices modulo 2^32. */
typedef struct matrix {
    unsigned v[4];
} matrix_t;

static MPI_Datatype matrix_type;
static int matrix_wrong_type;

static matrix_t matrix_product(matrix_t a, matrix_t b)
{
    return (matrix_t){{a.v[0] * b.v[0] + a.v[1] * b.v[2], a.v[0] * b.v[1] + a.v[1] * b.v[3],
                       a.v[2] * b.v[0] + a.v[3] * b.v[2], a.v[2] * b.v[1] + a.v[3] * b.v[3]}};
}

static void matrix_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    matrix_t *left = in;
    matrix_t *right = inout;
    matrix_wrong_type += *type != matrix_type;
    for (int i = 0; i < *length; i++) {
        right[i] = matrix_product(left[i], right[i]);
    }
}

static matrix_t matrix_of(int rank, int index)
{
    matrix_t m;
    for (int k = 0; k < 4; k++) {
        m.v[k] = (unsigned)job_mix((uint64_t)rank, (uint64_t)index * 4 + (uint64_t)k);
    }
    return m;
}

static void matrix_check(const matrix_t *got, int first, int count, const char *what)
{
    for (int i = 0; i < count; i++) {
        matrix_t expected = matrix_of(0, first + i);
        for (int r = 1; r < job.size; r++) {
            expected = matrix_product(expected, matrix_of(r, first + i));
        }
        if (memcmp(&expected, &got[i], sizeof(expected)) != 0) {
            job_fail("%s of matrices: index %d: the product is not M0 M1 M2 ...", what, i);
            return;
        }
    }
}

static void test_user_op(void)
{
    enum { MATRICES = 3000 };
    static matrix_t in[MATRICES];
    static matrix_t out[MATRICES];
    MPI_Op op = MPI_OP_NULL;
    MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix_type);
    MPI_Type_commit(&matrix_type);
    MPI_Op_create(matrix_op, 0, &op);
    int *counts = malloc((size_t)job.size * sizeof(int));
    for (int length = 1; length <= MATRICES; length *= 10) {
        int each = length / job.size;
        for (int i = 0; i < length; i++) {
            in[i] = matrix_of(job.rank, i);
        }
        job_allreduce(in, out, length, matrix_type, op, MPI_COMM_WORLD);
        matrix_check(out, 0, length, "allreduce");
        memcpy(out, in, sizeof(in));
        job_allreduce(MPI_IN_PLACE, out, length, matrix_type, op, MPI_COMM_WORLD);
        matrix_check(out, 0, length, "allreduce in place");
        for (int r = 0; r < job.size; r++) {
            counts[r] = each;
        }
        job_reduce_scatter(in, out, counts, matrix_type, op, MPI_COMM_WORLD);
        matrix_check(out, each * job.rank, each, "reduce_scatter");
        job_reduce_scatter_block(in, out, each, matrix_type, op, MPI_COMM_WORLD);
        matrix_check(out, each * job.rank, each, "reduce_scatter_block");
    }
    JOB_CHECK(matrix_wrong_type == 0, "the user op was given another datatype handle %d times", matrix_wrong_type);
    free(counts);
    MPI_Op_free(&op);
    MPI_Type_free(&matrix_type);
    for (int k = 0; k < JOB_KINDS; k++) {
        job.engine[k] = 0; /* none of these was for the engine */
    }
}

/* Groups of the lower and the upper ranks, joined: each gets the sum of the other. */
static void test_intercommunicator(void)
{
    if (job.size < 2) {
        return;
    }
    int upper = job.rank >= (job.size + 1) / 2;
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, upper, job.rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, upper ? 0 : (job.size + 1) / 2, 5, &inter);
    int in[3] = {job.rank, 1, job.rank * job.rank};
    int out[3] = {-1, -1, -1};
    MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, inter);
    int expected[3] = {0, 0, 0};
    for (int r = 0; r < job.size; r++) {
        if ((r >= (job.size + 1) / 2) != upper) {
            expected[0] += r;
            expected[1] += 1;
            expected[2] += r * r;
        }
    }
    for (int i = 0; i < 3; i++) {
        JOB_CHECK(out[i] == expected[i], "intercommunicator: index %d: got %d, expected %d", i, out[i], expected[i]);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    job.calls[JOB_ALLREDUCE]++;
}

static void test_one_rank(MPI_Comm comm, const char *what)
{
    const pattern_type_t *type = pattern_type_named("MPI_DOUBLE_INT");
    const pattern_op_t *op = &pattern_ops()[PATTERN_MAXLOC];
    static char in[40000];
    static char out[40000];
    for (int count = 0; count < 2000; count = count * 3 + 1) {
        pattern_fill(type, op, 0, in, 0, (size_t)count);
        memset(out, 0x5A, sizeof(out));
        job_allreduce(in, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
        pattern_check(type, op, 1, out, 0, (size_t)count, what);
        memset(out, 0x5A, sizeof(out));
        job_reduce_scatter(in, out, &count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
        pattern_check(type, op, 1, out, 0, (size_t)count, what);
        memset(out, 0x5A, sizeof(out));
        job_reduce_scatter_block(in, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
        pattern_check(type, op, 1, out, 0, (size_t)count, what);
        memcpy(out, in, sizeof(in));
        job_allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
        pattern_check(type, op, 1, out, 0, (size_t)count, what);
        job_reduce_scatter_block(MPI_IN_PLACE, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
        pattern_check(type, op, 1, out, 0, (size_t)count, what);
        for (size_t i = (size_t)count * type->size; i < (size_t)count * type->size + 64; i++) {
            JOB_CHECK(out[i] == in[i] || out[i] == 0x5A, "%s: written behind the output", what);
        }
    }
}

static void test_results(void)
{
    test_user_op();
    test_intercommunicator();
    test_one_rank(MPI_COMM_SELF, "MPI_COMM_SELF");
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, job.rank, 0, &alone);
    test_one_rank(alone, "one rank");
    MPI_Comm_free(&alone);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    char path[4096];
    snprintf(path, sizeof(path), "%s.%d", argc > 1 ? argv[1] : "errors", job.rank);
    cases = fopen(path, "w");
    if (cases == NULL) {
        job_fail("cannot write %s", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm returning = MPI_COMM_NULL;
    MPI_Comm handling = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &returning);
    MPI_Comm_dup(MPI_COMM_WORLD, &handling);
    MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(handling, own);
    MPI_Errhandler_free(&own);
    for (int a = 2; a < argc; a++) {
        if (strcmp(argv[a], "walk") == 0) {
            test_walk(returning);
            test_walk(handling);
        } else if (strcmp(argv[a], "arguments") == 0) {
            test_arguments(returning);
            test_arguments(handling);
        } else if (strcmp(argv[a], "results") == 0) {
            test_results();
        } else {
            job_fail("no test named %s", argv[a]);
        }
    }
    MPI_Comm_free(&returning);
    MPI_Comm_free(&handling);
    fclose(cases);
    return job_end();
}
