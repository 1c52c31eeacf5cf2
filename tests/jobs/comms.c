/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: made and freed in loops without a leak, duplicated, split in every way, used in turns, freed in any
   order, handles used again for other groups.
   Usage: comms churn [N] | dup | kinds | overlap [SEED] | many [N] | finalize | spawn
   Closes traps 26, 27. */
#include "tests/jobs/pattern.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Checks a communicator by reductions of ranks in MPI_COMM_WORLD: a state left over from another group shows. */
static void use(MPI_Comm comm, size_t count, const char *what)
{
    enum { COUNT_MAX = 20000 };
    static double in[COUNT_MAX];
    static double out[COUNT_MAX];
    static int members[1024];
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int ranks[1024];
    int size = 0;
    int rank = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int r = 0; r < size; r++) {
        ranks[r] = r;
    }
    MPI_Group_translate_ranks(group, size, ranks, world, members);
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    double sum = 0;
    for (int r = 0; r < size; r++) {
        sum += (members[r] + 1.0) * (r + 1.0);
    }
    for (size_t i = 0; i < count; i++) {
        in[i] = (job.rank + 1.0) * (rank + 1.0) * (double)(i + 1);
    }
    memset(out, 0, count * sizeof(double));
    job_allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, comm);
    for (size_t i = 0; i < count; i++) {
        if (out[i] != sum * (double)(i + 1)) {
            job_fail("%s: allreduce on %d ranks: index %zu of %zu: got %g, expected %g", what, size, i, count, out[i],
                     sum * (double)(i + 1));
            return;
        }
    }
    size_t block = count / (size_t)size;
    job_reduce_scatter_block(in, out, (int)block, MPI_DOUBLE, MPI_SUM, comm);
    for (size_t i = 0; i < block; i++) {
        double expected = sum * (double)(block * (size_t)rank + i + 1);
        if (out[i] != expected) {
            job_fail("%s: reduce_scatter_block on %d ranks: index %zu of %zu: got %g, expected %g", what, size, i,
                     block, out[i], expected);
            return;
        }
    }
}

static long entries(const char *path)
{
    long count = 0;
    DIR *dir = opendir(path);
    if (dir != NULL) {
        while (readdir(dir) != NULL) {
            count++;
        }
        closedir(dir);
    }
    return count;
}

static long lines(const char *path)
{
    long count = 0;
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        for (int c = getc(file); c != EOF; c = getc(file)) {
            count += c == '\n';
        }
        fclose(file);
    }
    return count;
}

/* What a leak would make grow: kilobytes resident, open descriptors, mappings, shared memory. */
typedef struct held {
    long resident;
    long descriptors;
    long mappings;
    long posix;
    long sysv;
} held_t;

static held_t held_now(void)
{
    held_t held = {0};
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%*d %ld", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    held.resident = pages * (sysconf(_SC_PAGESIZE) / 1024);
    held.descriptors = entries("/proc/self/fd");
    held.mappings = lines("/proc/self/maps");
    held.posix = entries("/dev/shm");
    held.sysv = lines("/proc/sysvipc/shm");
    return held;
}

/* Split, use, free; the groups change from one time to the next, so handles come back for other groups. */
static void test_churn(int times)
{
    held_t before = {0};
    held_t after = {0};
    for (int i = 0; i < times; i++) {
        MPI_Comm part = MPI_COMM_NULL;
        int color = (job.rank >> (i % 3)) & 1;
        MPI_Comm_split(MPI_COMM_WORLD, color, i % 2 == 0 ? job.rank : -job.rank, &part);
        use(part, (size_t)(i % 7 == 0 ? 300 : 8), "churn");
        MPI_Comm_free(&part);
        if (i == times / 10) {
            MPI_Barrier(MPI_COMM_WORLD);
            before = held_now();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    after = held_now();
    JOB_CHECK(after.resident - before.resident < 2048, "resident memory grew from %ld to %ld KiB", before.resident,
              after.resident);
    JOB_CHECK(after.descriptors <= before.descriptors, "open descriptors grew from %ld to %ld", before.descriptors,
              after.descriptors);
    JOB_CHECK(after.mappings <= before.mappings + 8, "mappings grew from %ld to %ld", before.mappings, after.mappings);
    if (getenv("JOB_ALONE") == NULL) {
        after.posix = before.posix; /* other jobs may come and go */
        after.sysv = before.sysv;
    }
    JOB_CHECK(after.posix <= before.posix, "entries in /dev/shm grew from %ld to %ld", before.posix, after.posix);
    JOB_CHECK(after.sysv <= before.sysv, "System V segments grew from %ld to %ld", before.sysv, after.sysv);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Copies outlive their origins and the other way round. */
static void test_dup(void)
{
    for (int used = 0; used < 2; used++) {
        for (int way = 0; way < 4; way++) {
            MPI_Comm first = MPI_COMM_NULL;
            MPI_Comm second = MPI_COMM_NULL;
            MPI_Comm third = MPI_COMM_NULL;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Comm_dup(MPI_COMM_WORLD, &first);
            if (used) {
                use(first, 100, "dup, origin used");
            }
            if (way == 2) {
                MPI_Comm_dup_with_info(first, MPI_INFO_NULL, &second);
            } else if (way == 3) {
                MPI_Comm_idup(first, &second, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Comm_dup(first, &second);
            }
            if (way == 0) {
                MPI_Comm_free(&first);
                use(second, 100, "dup, origin freed");
                MPI_Comm_dup(second, &third);
                use(third, 3000, "dup of dup");
                use(second, 3000, "dup, origin freed");
                MPI_Comm_free(&second);
                use(third, 20000, "dup of dup, both origins freed");
                MPI_Comm_free(&third);
            } else {
                use(second, 100, "dup");
                use(first, 100, "dup, origin");
                MPI_Comm_free(&second);
                use(first, 20000, "dup freed, origin");
                MPI_Comm_free(&first);
            }
            use(MPI_COMM_WORLD, 100, "world");
        }
    }
}

static void use_and_free(MPI_Comm *comm, const char *what)
{
    if (*comm != MPI_COMM_NULL) {
        use(*comm, 10, what);
        use(*comm, 5000, what);
        MPI_Comm_free(comm);
    }
}

/* Every other way to make a communicator. */
static void test_kinds(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -job.rank, MPI_INFO_NULL, &comm);
    use_and_free(&comm, "split_type");

    int dims[2] = {0, 0};
    int periods[2] = {1, 0};
    MPI_Dims_create(job.size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
    if (comm != MPI_COMM_NULL) {
        int keep[2] = {1, 0};
        MPI_Comm row = MPI_COMM_NULL;
        MPI_Cart_sub(comm, keep, &row);
        use_and_free(&row, "cart_sub");
    }
    use_and_free(&comm, "cart");

    int *index = malloc((size_t)job.size * sizeof(int));
    int *edges = malloc((size_t)job.size * sizeof(int));
    for (int r = 0; r < job.size; r++) {
        index[r] = r + 1;
        edges[r] = (r + 1) % job.size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, job.size, index, edges, 1, &comm);
    use_and_free(&comm, "graph");
    int weight = 1;
    int source = (job.rank + job.size - 1) % job.size;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, &weight, 1, &edges[job.rank], &weight, MPI_INFO_NULL, 1,
                                   &comm);
    use_and_free(&comm, "dist_graph");
    free(index);
    free(edges);

    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int without = 0; without < job.size && job.size > 1; without++) {
        MPI_Group rest = MPI_GROUP_NULL;
        MPI_Group_excl(world, 1, &without, &rest);
        MPI_Comm_create(MPI_COMM_WORLD, rest, &comm);
        use_and_free(&comm, "create");
        if (job.rank != without) {
            MPI_Comm_create_group(MPI_COMM_WORLD, rest, 17, &comm);
            use_and_free(&comm, "create_group");
        }
        MPI_Group_free(&rest);
    }
    MPI_Group_free(&world);

    if (job.size > 1) {
        /* two groups joined to one intercommunicator, merged, the upper group first */
        MPI_Comm local = MPI_COMM_NULL;
        MPI_Comm inter = MPI_COMM_NULL;
        int upper = job.rank % 2;
        MPI_Comm_split(MPI_COMM_WORLD, upper, job.rank, &local);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - upper, 3, &inter);
        MPI_Intercomm_merge(inter, 1 - upper, &comm);
        use(local, 100, "local group");
        MPI_Comm_free(&inter);
        use_and_free(&comm, "merge");
        MPI_Comm_free(&local);
    }
}

/* Many overlapping communicators, made, used and freed in a random order that all ranks share. */
static void test_overlap(uint64_t seed)
{
    enum { COMMS = 12, STEPS = 600 };
    MPI_Comm comms[COMMS];
    for (int c = 0; c < COMMS; c++) {
        comms[c] = MPI_COMM_NULL;
    }
    for (int step = 0; step < STEPS; step++) {
        uint64_t h = job_mix(seed, (uint64_t)step);
        int c = (int)(h % COMMS);
        int action = (int)((h >> 8) % 8);
        if (action == 0 || action == 1) {
            /* a rank outside frees nothing */
            if (comms[c] != MPI_COMM_NULL) {
                MPI_Comm_free(&comms[c]);
            }
            int color = (h >> 16) % 3 == 0 ? 0 : (int)((h >> (20 + job.rank % 32)) & 1);
            int key = (h >> 18) % 2 == 0 ? job.rank : (int)(job_mix(h, (uint64_t)job.rank) % 100);
            bool outside = (h >> 17) % 4 == 0 && color == 1;
            MPI_Comm_split(MPI_COMM_WORLD, outside ? MPI_UNDEFINED : color, key, &comms[c]);
        } else if (comms[c] != MPI_COMM_NULL) {
            static const size_t counts[] = {1, 8, 17, 500, 4000, 20000};
            use(comms[c], counts[(h >> 24) % 6], "overlap");
        }
    }
    for (int c = 0; c < COMMS; c++) {
        if (comms[c] != MPI_COMM_NULL) {
            use(comms[c], 100, "overlap, at the end");
            MPI_Comm_free(&comms[c]);
        }
    }
}

/* So many alive at once that not all can have a share of a window. */
static void test_many(int count)
{
    MPI_Comm *comms = malloc((size_t)count * sizeof(MPI_Comm));
    for (int c = 0; c < count; c++) {
        MPI_Comm_split(MPI_COMM_WORLD, c % 3 == 0 ? job.rank % 2 : 0, c % 2 == 0 ? job.rank : -job.rank, &comms[c]);
    }
    for (int turn = 0; turn < 2; turn++) {
        for (int c = 0; c < count; c++) {
            use(comms[c], c % 20 == 0 ? 5000 : 3, "many");
        }
    }
    for (int c = 0; c < count; c++) {
        MPI_Comm_free(&comms[c]);
    }
}

/* PETSc and others clean up in the delete callback of an attribute of MPI_COMM_SELF, and reduce there: within
   MPI_Finalize, before and after the library's own end. */
static int at_end(MPI_Comm self, int keyval, void *value, void *state)
{
    (void)self;
    (void)keyval;
    (void)state;
    long before = job.failures;
    use(MPI_COMM_WORLD, 3, value);
    use(MPI_COMM_WORLD, 20000, value);
    if (job.failures > before) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    printf("%s: done\n", (const char *)value);
    return MPI_SUCCESS;
}

static void test_finalize(void)
{
    static char texts[2][40] = {"set before the first collective", "set after the first collective"};
    MPI_Comm others = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, job.rank == 0, 0, &others);
    for (int t = 0; t < 2; t++) {
        int keyval = MPI_KEYVAL_INVALID;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &keyval, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, texts[t]);
        MPI_Comm_free_keyval(&keyval);
        /* Rank 0 stays out of the first one: each rank's callbacks then stand in another order beside the library's. */
        use(t == 0 ? others : MPI_COMM_WORLD, 100, "before the end");
    }
    MPI_Comm_free(&others);
}

/* Ranks of two jobs in one communicator. A spawned rank runs this too. */
static void test_spawn(char *program)
{
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm all = MPI_COMM_NULL;
    char argument[] = "spawn";
    char *arguments[] = {argument, NULL};
    use(MPI_COMM_WORLD, 100, "spawn, own job");
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    } else {
        inter = parent;
    }
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    for (int count = 1; count < 20000; count = count * 7 + 1) {
        int *in = malloc((size_t)count * sizeof(int));
        int *out = malloc((size_t)count * sizeof(int));
        for (int i = 0; i < count; i++) {
            in[i] = rank + i;
        }
        job_allreduce(in, out, count, MPI_INT, MPI_SUM, all);
        for (int i = 0; i < count; i++) {
            int expected = size * i + size * (size - 1) / 2;
            JOB_CHECK(out[i] == expected, "two jobs: index %d of %d: got %d, expected %d", i, count, out[i], expected);
        }
        free(in);
        free(out);
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 1000;
    if (strcmp(what, "churn") == 0) {
        test_churn(number);
    } else if (strcmp(what, "dup") == 0) {
        test_dup();
    } else if (strcmp(what, "kinds") == 0) {
        test_kinds();
    } else if (strcmp(what, "overlap") == 0) {
        test_overlap((uint64_t)number);
    } else if (strcmp(what, "many") == 0) {
        test_many(number);
    } else if (strcmp(what, "finalize") == 0) {
        test_finalize();
    } else if (strcmp(what, "spawn") == 0) {
        test_spawn(argv[0]);
    } else {
        job_fail("no test named %s", what);
    }
    return job_end();
}
