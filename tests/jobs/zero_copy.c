/* SPDX-License-Identifier: BSD-3-Clause */
/* Large buffers that are shared with the other ranks at their place: right results, and memory that behaves as it did.
   Usage: zero_copy CASE [moved|unmoved]; the second says whether buffers must, or must not, be shared. */
#define _GNU_SOURCE
#include "tests/jobs/pattern.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, COUNT = BYTES / 4, USES = 6 };

static const pattern_type_t *type;
static const pattern_op_t *op;
static int shared_expected = -1; /* 1: must be, 0: must not be */

/* Whether the page of an address lies in a memory file of the library. */
static bool is_shared(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;

    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t from = 0;
        uintptr_t to = 0;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)address >= from && (uintptr_t)address < to) {
            found = strstr(line, "memfd:mpinpu") != NULL;
        }
    }
    fclose(maps);
    return found;
}

static void expect_shared(const void *buffer, bool expected, const char *what)
{
    const char *inside = (const char *)buffer + BYTES / 2;

    if (job.size > 1 && shared_expected >= 0) {
        const bool must = expected && shared_expected == 1;
        JOB_CHECK(is_shared(inside) == must, "%s: the buffer is %s", what, must ? "not shared" : "shared");
    }
}

static void *map_new(void *where, size_t bytes)
{
    void *at = mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (where != NULL ? MAP_FIXED : 0),
                    -1, 0);
    if (at == MAP_FAILED) {
        job_fail("mmap failed");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

/* One allreduce of other data than the last, checked; the input must be as it was. */
static void reduce_once(float *in, float *out, size_t count)
{
    static size_t turn;

    turn++;
    pattern_fill(type, op, job.rank, in, turn, count);
    const uint64_t before = job_digest(0, in, count * sizeof *in);
    if (in == out) {
        job_allreduce(MPI_IN_PLACE, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
        memset(out, 0x5A, count * sizeof *out);
        job_allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        JOB_CHECK(job_digest(0, in, count * sizeof *in) == before, "the input was changed");
    }
    pattern_check(type, op, job.size, out, turn, count, "allreduce");
}

static void reduce(float *in, float *out, size_t count)
{
    for (int use = 0; use < USES; use++) {
        reduce_once(in, out, count);
    }
}

/* Every kind, many counts, buffers that begin anywhere and differ among ranks, guards around results. */
static void case_values(void)
{
    const size_t room = 3 * (size_t)COUNT + 4096;
    float *in = malloc(room * sizeof *in);
    float *out = malloc(room * sizeof *out);
    int *counts = calloc((size_t)job.size, sizeof *counts);

    for (int turn = 0; turn < 40; turn++) {
        const uint64_t dice = job_mix(7, (uint64_t)turn / 5);
        const size_t count = COUNT / 2 + dice % (2 * (size_t)COUNT);
        float *from = in + (dice >> 8) % 1500 + (size_t)job.rank * 3;
        float *to = out + 16 + (dice >> 24) % 1500 + (size_t)(job.size - job.rank) * 5;
        size_t at = (size_t)turn;

        pattern_fill(type, op, job.rank, from, at, count);
        to[-1] = to[count] = 12345;
        job_allreduce(from, to, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, to, at, count, "allreduce");
        JOB_CHECK(to[-1] == 12345 && to[count] == 12345, "allreduce wrote outside its result");

        const size_t block = count / (size_t)job.size;
        to[block] = 12345;
        job_reduce_scatter_block(from, to, (int)block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, to, at + block * (size_t)job.rank, block, "reduce_scatter_block");
        JOB_CHECK(to[-1] == 12345 && to[block] == 12345, "reduce_scatter_block wrote outside its result");

        size_t before = 0;
        size_t rest = count;
        for (int r = 0; r < job.size; r++) {
            /* Uneven, with blocks of nothing. */
            counts[r] = r == job.size - 1 ? (int)rest : (int)(job_mix(dice, (uint64_t)r) % 4 * (rest / 4));
            before += r < job.rank ? (size_t)counts[r] : 0;
            rest -= (size_t)counts[r];
        }
        const size_t mine = (size_t)counts[job.rank];
        to[mine] = 12345;
        job_reduce_scatter(from, to, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, to, at + before, mine, "reduce_scatter");
        JOB_CHECK(to[-1] == 12345 && to[mine] == 12345, "reduce_scatter wrote outside its result");
        job_reduce_scatter(MPI_IN_PLACE, from, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, from, at + before, mine, "reduce_scatter in place");

        pattern_fill(type, op, job.rank, to, at, count);
        job_allreduce(MPI_IN_PLACE, to, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, to, at, count, "allreduce in place");
        JOB_CHECK(to[-1] == 12345 && to[count] == 12345, "allreduce in place wrote outside its result");
    }
    free(counts);
    free(in);
    free(out);
}

/* Which memory is shared, and that the rest serves as well. One rank's kind may differ from the others'. */
static void case_kinds(void)
{
    static float fixed[COUNT];
    float *out = malloc(BYTES);
    float *mapped = map_new(NULL, BYTES);
    float *large = malloc(BYTES);
    char name[] = "/tmp/mpinpu-zero-copy-XXXXXX";
    const int file = mkstemp(name);
    float local[COUNT];

    reduce(mapped, out, COUNT);
    expect_shared(mapped, true, "mmap");
    expect_shared(out, true, "malloc");
    reduce(large, large, COUNT);
    expect_shared(large, true, "malloc, in place");

    reduce(fixed, out, COUNT);
    expect_shared(fixed, true, "static memory");
    reduce(local, out, COUNT);
    expect_shared(local, false, "the stack");
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    float *heap = malloc(BYTES);
    reduce(heap, out, COUNT);
    expect_shared(heap, false, "the heap");
    if (file >= 0 && ftruncate(file, BYTES) == 0) {
        float *filed = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        reduce(filed, out, COUNT);
        expect_shared(filed, false, "a file");
        munmap(filed, BYTES);
    } else {
        job_fail("no temporary file");
    }
    float *common = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    reduce(common, out, COUNT);
    expect_shared(common, false, "shared memory");
    /* Rank 0 has one kind, the others another: all do the same collective. */
    reduce(job.rank == 0 ? fixed : mapped, out, COUNT);
    munmap(common, BYTES);
    close(file);
    unlink(name);
    free(heap);
    free(large);
    munmap(mapped, BYTES);
    free(out);
}

/* Contents seen by another thread never change while the pages are moved. */
static float *watched;
static atomic_bool watching;
static void *watch(void *unused)
{
    (void)unused;
    while (atomic_load(&watching)) {
        for (size_t i = 0; i < COUNT; i += 64) {
            if (((volatile float *)watched)[i] != (float)(i % 1000)) {
                job_fail("element %zu was %g while it was read", i, (double)watched[i]);
                return NULL;
            }
        }
    }
    return NULL;
}

static void case_reader(void)
{
    float *out = malloc(BYTES);

    for (int turn = 0; turn < 12; turn++) {
        pthread_t thread;
        watched = map_new(NULL, BYTES);
        for (size_t i = 0; i < COUNT; i++) {
            watched[i] = (float)(i % 1000);
        }
        atomic_store(&watching, true);
        pthread_create(&thread, NULL, watch, NULL);
        for (int use = 0; use < USES; use++) {
            job_allreduce(watched, out, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            JOB_CHECK(out[999] == 999.0F * (float)job.size, "a wrong sum");
        }
        atomic_store(&watching, false);
        pthread_join(thread, NULL);
        expect_shared(watched, true, "read by a thread");
        munmap(watched, BYTES);
    }
    free(out);
}

/* What a program may do with its memory afterwards. */
static void case_memory(void)
{
    float *out = map_new(NULL, BYTES);
    float *in = map_new(NULL, BYTES);

    /* madvise clears, as it does private pages. */
    reduce(in, out, COUNT);
    expect_shared(in, true, "before madvise");
    JOB_CHECK(madvise(in, BYTES / 2, MADV_DONTNEED) == 0, "madvise failed");
    for (size_t i = 0; i < COUNT / 2; i += 511) {
        JOB_CHECK(in[i] == 0, "element %zu is %g after MADV_DONTNEED", i, (double)in[i]);
    }
    reduce(in, out, COUNT);

    /* mremap: contents go along, what is new is zero, and nothing ends in SIGBUS. */
    reduce(in, out, COUNT);
    expect_shared(in, true, "before mremap");
    const float kept = in[COUNT - 1];
    float *grown = mremap(in, BYTES, (size_t)4 * BYTES, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) {
        job_fail("mremap failed");
        return;
    }
    JOB_CHECK(grown[COUNT - 1] == kept && grown[(size_t)4 * COUNT - 1] == 0, "mremap lost or made contents");
    memset(grown, 1, (size_t)4 * BYTES);
    reduce(grown, out, COUNT);

    /* A part is unmapped and mapped anew; the whole is unmapped, and other memory put there. */
    expect_shared(grown, true, "after mremap");
    munmap((char *)grown + BYTES / 2, 4096);
    map_new((char *)grown + BYTES / 2, 4096);
    reduce(grown, out, COUNT);
    map_new(out, BYTES);
    reduce(grown, out, COUNT);
    munmap(grown, (size_t)4 * BYTES);
    grown = map_new(grown, (size_t)4 * BYTES);
    JOB_CHECK(grown[COUNT / 2] == 0, "new memory is not zero");
    for (int turn = 0; turn < 4; turn++) {
        reduce_once(grown, out, COUNT);
        map_new(grown, BYTES);
    }
    mprotect(grown, 4096, PROT_READ);
    mprotect(grown, 4096, PROT_READ | PROT_WRITE);
    reduce(grown, out, COUNT);
    munmap(grown, (size_t)4 * BYTES);
    munmap(out, BYTES);

    /* The allocator's own. */
    float *buffer = NULL;
    float *other = malloc((size_t)2 * BYTES);
    for (int turn = 1; turn <= 8; turn++) {
        const size_t count = COUNT / 4 * (size_t)turn;
        buffer = realloc(buffer, count * sizeof *buffer);
        reduce_once(buffer, other, count);
        reduce(buffer, other, count);
        if (turn % 3 == 0) {
            free(buffer);
            buffer = calloc(count, sizeof *buffer);
            for (size_t i = 0; i < count; i += 1023) {
                JOB_CHECK(buffer[i] == 0, "calloc gave %g", (double)buffer[i]);
            }
        }
    }
    free(buffer);
    free(other);
}

/* A child has its own copy, in every way to make one. */
static void case_fork(void)
{
    float *buffers = map_new(NULL, (size_t)2 * BYTES);
    float *in = buffers;
    float *out = buffers + COUNT;

    for (int turn = 0; turn < 6; turn++) {
        int go[2];
        int status = -1;
        char byte = 0;
        reduce(in, out, COUNT);
        if (turn == 0) {
            expect_shared(in, true, "before fork");
        }
        in[7] = 1;
        if (pipe(go) != 0) {
            job_fail("no pipe");
            return;
        }
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            in[7] += 10; /* the parent must not see it, */
            out[7] = -1;
            bool right = read(go[0], &byte, 1) == 1 && in[7] == 11; /* nor the child what the parent does */
            _exit(right ? 0 : 1);
        }
        in[7] = 5;
        JOB_CHECK(child > 0 && write(go[1], &byte, 1) == 1, "fork failed");
        JOB_CHECK(waitpid(child, &status, 0) == child && status == 0, "the child saw what the parent wrote");
        JOB_CHECK(in[7] == 5 && out[7] != -1, "the parent saw what the child wrote");
        close(go[0]);
        close(go[1]);
        reduce(in, out, COUNT);
        JOB_CHECK(system("true") == 0, "system failed");
        reduce_once(in, out, COUNT);
    }
    munmap(buffers, (size_t)2 * BYTES);
}

static long resident_kb(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;

    while (fgets(line, sizeof line, status) != NULL) {
        sscanf(line, "VmRSS: %ld", &kb);
    }
    fclose(status);
    return kb;
}

static int files_open(void)
{
    int open = 0;

    for (int fd = 0; fd < 1024; fd++) {
        open += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return open;
}

/* Many buffers in turn: what is kept is bounded. */
static void case_many(void)
{
    float *out = map_new(NULL, BYTES);
    long kb = 0;
    int files = 0;

    for (int turn = 0; turn < 120; turn++) {
        float *in = map_new(NULL, BYTES);
        reduce(in, out, COUNT);
        munmap(in, BYTES);
        if (turn == 40) {
            kb = resident_kb();
            files = files_open();
        }
    }
    JOB_CHECK(resident_kb() - kb < 16 * BYTES / 1024, "memory has grown by %ld kB", resident_kb() - kb);
    JOB_CHECK(files_open() <= files + 2, "descriptors have grown from %d to %d", files, files_open());
    munmap(out, BYTES);
}

/* Address space is short: some maps fail somewhere. */
static void case_short(void)
{
    float *in = map_new(NULL, BYTES);
    float *out = map_new(NULL, BYTES);
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) {
        job_fail("/proc/self/statm cannot be read");
        return;
    }
    fclose(statm);
    reduce_once(in, out, 1000); /* what the library needs in any case */
    if (job.rank == job.size - 1) {
        const rlim_t limit = (rlim_t)pages * 4096 + ((rlim_t)24 << 20) + BYTES + BYTES / 2;
        setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = limit, .rlim_max = limit});
    }
    reduce(in, out, COUNT);
    reduce(in, out, COUNT);
    munmap(in, BYTES);
    munmap(out, BYTES);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"values", case_values}, {"kinds", case_kinds}, {"reader", case_reader}, {"memory", case_memory},
             {"fork", case_fork},     {"many", case_many},   {"short", case_short}};

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    type = pattern_type_named("MPI_FLOAT");
    op = &pattern_ops()[PATTERN_SUM];
    if (argc > 2) {
        shared_expected = strcmp(argv[2], "moved") == 0;
    }
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        if (argc > 1 && strcmp(argv[1], cases[c].name) == 0) {
            cases[c].run();
        }
    }
    return job_end();
}
