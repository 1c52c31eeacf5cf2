/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program with buffers in NPU memory: host, device, mixed, different on different ranks; in place; at offsets;
   datatypes that the engines serve and that only the host MPI does. Every value, the input and what lies around are
   checked, and that the thread's context stays what it was.
   usage: places global|local
   CANN is loaded so that its functions are found as a linked program finds them, or by its handle alone. */
#define _GNU_SOURCE /* dlvsym */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, TO_DEVICE = 1, TO_HOST = 2, FILL = 0x5A };

static int (*acl_init)(const char *);
static int (*acl_set_device)(int32_t);
static int (*acl_reset_device)(int32_t);
static int (*acl_device_count)(uint32_t *);
static int (*acl_malloc)(void **, size_t, int);
static int (*acl_free)(void *);
static int (*acl_memcpy)(void *, size_t, const void *, size_t, int);
static int (*acl_context)(void **);

static int rank;
static int size;
static int wrong;
static int made;

static void stop(const char *what)
{
    printf("FAIL rank %d: %s\n", rank, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void look_up(void *library, const char *name, void *function)
{
    /* The dynamic linker binds a program to the preloaded library's function; dlsym does not find that. */
    void *found = library == RTLD_DEFAULT ? dlvsym(library, name, "MPINPU") : NULL;
    found = found != NULL ? found : dlsym(library, name);
    if (found == NULL) {
        stop(name);
    }
    memcpy(function, &found, sizeof found);
}

static void cann_load(bool global)
{
    static const char *const names[] = {"libascendcl.so", "libacl_rt.so"};
    const char *home = getenv("ASCEND_HOME_PATH");
    void *library = NULL;
    char path[4096];
    for (int n = 0; n < 2 && library == NULL; n++) {
        snprintf(path, sizeof path, "%s/lib64/%s", home != NULL ? home : "", names[n]);
        library = dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    }
    if (library == NULL) {
        stop("no CANN");
    }
    library = global ? RTLD_DEFAULT : library;
    look_up(library, "aclInit", &acl_init);
    look_up(library, "aclrtSetDevice", &acl_set_device);
    look_up(library, "aclrtResetDevice", &acl_reset_device);
    look_up(library, "aclrtGetDeviceCount", &acl_device_count);
    look_up(library, "aclrtMalloc", &acl_malloc);
    look_up(library, "aclrtFree", &acl_free);
    look_up(library, "aclrtMemcpy", &acl_memcpy);
    look_up(library, "aclrtGetCurrentContext", &acl_context);
}

/* --- buffers --- */

typedef struct buffer {
    bool device;
    size_t bytes; /* without the guards */
    char *base;
    char *address; /* what MPI gets */
    char *shadow;  /* of base, on the host */
} buffer_t;

static size_t buffer_room(const buffer_t *buffer)
{
    return buffer->bytes + 3 * (size_t)GUARD;
}

/* `shift` bytes beyond the start of the allocation's guard. */
static buffer_t buffer_make(bool device, size_t bytes, size_t shift)
{
    buffer_t buffer = {.device = device, .bytes = bytes};
    const size_t room = buffer_room(&buffer);
    void *base = NULL;
    buffer.shadow = malloc(room);
    if (device ? acl_malloc(&base, room, 0) != 0 : (base = malloc(room)) == NULL) {
        stop("no memory");
    }
    memset(buffer.shadow, FILL, room);
    buffer.base = base;
    buffer.address = buffer.base + GUARD + shift;
    return buffer;
}

static char *buffer_host(const buffer_t *buffer)
{
    return buffer->shadow + (buffer->address - buffer->base);
}

static void buffer_write(const buffer_t *buffer)
{
    const size_t room = buffer_room(buffer);
    if (!buffer->device) {
        memcpy(buffer->base, buffer->shadow, room);
    } else if (acl_memcpy(buffer->base, room, buffer->shadow, room, TO_DEVICE) != 0) {
        stop("aclrtMemcpy to the device");
    }
}

/* Whether the buffer's memory holds what the shadow does, but for some bytes, of which nothing is said. */
static bool buffer_equals(const buffer_t *buffer, size_t open_from, size_t open_bytes)
{
    const size_t room = buffer_room(buffer);
    const size_t open = (size_t)(buffer->address - buffer->base) + open_from;
    char *now = malloc(room);
    if (now == NULL) {
        stop("no memory");
    }
    if (!buffer->device) {
        memcpy(now, buffer->base, room);
    } else if (acl_memcpy(now, room, buffer->base, room, TO_HOST) != 0) {
        stop("aclrtMemcpy to the host");
    }
    memcpy(buffer->shadow + open, now + open, open_bytes);
    const bool equal = memcmp(now, buffer->shadow, room) == 0;
    free(now);
    return equal;
}

static void buffer_free(const buffer_t *buffer)
{
    if (buffer->device) {
        acl_free(buffer->base);
    } else {
        free(buffer->base);
    }
    free(buffer->shadow);
}

/* --- elements --- */

typedef struct pair {
    double value;
    int place;
} pair_t;

typedef enum form { INTEGER, REAL32, REAL64, LONG_REAL, COMPLEX, PAIR, TRIPLE } form_t;

typedef struct element {
    const char *name;
    form_t form;
    size_t extent;
    MPI_Datatype type;
    MPI_Op op;
} element_t;

/* Of triples, a derived type: an int, a gap, an int. */
static void triple_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        const int32_t *from = (const int32_t *)in + (ptrdiff_t)3 * i;
        int32_t *to = (int32_t *)inout + (ptrdiff_t)3 * i;
        to[0] += from[0];
        to[2] += from[2];
    }
}

static int input(int r, size_t i)
{
    return (int)((i * 7 + (size_t)r * 3) % 10);
}

static void put(const element_t *element, char *at, int value, int place)
{
    if (element->form == INTEGER) {
        const int64_t wide = value; /* little-endian, as every machine of CANN */
        memcpy(at, &wide, element->extent);
    } else if (element->form == REAL32) {
        const float number = (float)value;
        memcpy(at, &number, sizeof number);
    } else if (element->form == REAL64) {
        const double number = value;
        memcpy(at, &number, sizeof number);
    } else if (element->form == LONG_REAL) {
        long double number;
        memset(&number, 0, sizeof number);
        number = value;
        memcpy(at, &number, 10);
        memset(at + 10, 0, sizeof number - 10);
    } else if (element->form == COMPLEX) {
        const double number[2] = {value, -value};
        memcpy(at, number, sizeof number);
    } else if (element->form == PAIR) {
        memcpy(at, &(double){value}, sizeof(double));
        memcpy(at + sizeof(double), &place, sizeof place);
    } else {
        memcpy(at, &value, sizeof value);
        memcpy(at + 8, &(int){2 * value}, sizeof value);
    }
}

/* The reduction, done here. */
static void reduced(const element_t *element, char *at, size_t i)
{
    int value = input(0, i);
    int place = 0;
    for (int r = 1; r < size; r++) {
        const int other = input(r, i);
        if (element->op == MPI_MAXLOC) {
            place = other > value ? r : place;
            value = other > value ? other : value;
        } else if (element->op == MPI_MAX) {
            value = other > value ? other : value;
        } else if (element->op == MPI_BAND) {
            value &= other;
        } else {
            value += other;
        }
    }
    put(element, at, value, place);
}

/* --- calls --- */

typedef enum function { ALLREDUCE, SCATTER, SCATTER_BLOCK, FUNCTIONS } function_t;

typedef struct places {
    bool send;
    bool recv;
    bool in_place;
    size_t shift; /* bytes */
} places_t;

/* Elements of rank r's result. */
static int block(function_t function, int count, int r)
{
    return function == SCATTER ? count * (r % 3) + (r == 0 ? 1 : 0) : count;
}

static int call(function_t function, const void *send, void *recv, int count, const element_t *element)
{
    int counts[64];
    for (int r = 0; r < size; r++) {
        counts[r] = block(function, count, r);
    }
    switch (function) {
    case ALLREDUCE:
        return MPI_Allreduce(send, recv, count, element->type, element->op, MPI_COMM_WORLD);
    case SCATTER:
        return MPI_Reduce_scatter(send, recv, counts, element->type, element->op, MPI_COMM_WORLD);
    default:
        return MPI_Reduce_scatter_block(send, recv, count, element->type, element->op, MPI_COMM_WORLD);
    }
}

/* One call, its values, and its surroundings. What MPI_Reduce_scatter in place leaves behind the result is not said. */
static void check(function_t function, int count, const element_t *element, const places_t *places)
{
    size_t total = (size_t)count;
    size_t first = 0;
    if (function != ALLREDUCE) {
        total = 0;
        for (int r = 0; r < size; r++) {
            first += r < rank ? (size_t)block(function, count, r) : 0;
            total += (size_t)block(function, count, r);
        }
    }
    const size_t mine = function == ALLREDUCE ? total : (size_t)block(function, count, rank);
    const size_t extent = element->extent;
    buffer_t recv = buffer_make(places->recv, (places->in_place ? total : mine) * extent, places->shift);
    buffer_t send = buffer_make(places->send, total * extent, places->shift);
    char *from = buffer_host(places->in_place ? &recv : &send);
    for (size_t i = 0; i < total; i++) {
        put(element, from + i * extent, input(rank, i), rank);
    }
    buffer_write(&send);
    buffer_write(&recv);
    void *before = NULL;
    void *after = NULL;
    (void)acl_context(&before);
    const int code = call(function, places->in_place ? MPI_IN_PLACE : send.address, recv.address, count, element);
    (void)acl_context(&after);
    made++;
    if (code != MPI_SUCCESS) {
        stop("a call failed");
    } else {
        for (size_t i = 0; i < mine; i++) {
            reduced(element, buffer_host(&recv) + i * extent, first + i);
        }
        const bool right = buffer_equals(&recv, mine * extent, places->in_place ? (total - mine) * extent : 0);
        const bool kept = buffer_equals(&send, 0, 0);
        if (!right || !kept || before != after) {
            wrong++;
            printf("FAIL rank %d: %s, function %d, count %d, send %s, recv %s%s, shift %zu:%s%s%s\n", rank,
                   element->name, function, count, places->send ? "device" : "host", places->recv ? "device" : "host",
                   places->in_place ? ", in place" : "", places->shift, right ? "" : " the result or what is around it",
                   kept ? "" : " the input", before == after ? "" : " the context");
        }
    }
    buffer_free(&send);
    buffer_free(&recv);
}

/* All places: the same on all ranks, then different ones. */
static void places_all(function_t function, int count, const element_t *element, bool brief)
{
    for (int combination = 0; combination < 8; combination++) {
        const int own = combination < 4 ? combination : combination + rank;
        const places_t apart = {.send = (own & 1) != 0, .recv = (own & 2) != 0, .shift = 0};
        const places_t shifted = {.send = apart.send, .recv = apart.recv, .shift = (size_t)(rank % 2) * 16};
        const places_t in_place = {.send = false, .recv = apart.recv, .in_place = true};
        if (brief && combination % 4 == 1) {
            continue;
        }
        check(function, count, element, &apart);
        check(function, count, element, &in_place);
        if (!brief) {
            check(function, count, element, &shifted);
        }
    }
}

static void values_all(void)
{
    MPI_Datatype triple;
    MPI_Op sum;
    MPI_Type_create_indexed_block(2, 1, (int[]){0, 2}, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    MPI_Op_create(triple_sum, 1, &sum);
    const element_t elements[] = {
        {"float32 sum", REAL32, 4, MPI_FLOAT, MPI_SUM},
        {"int32 sum", INTEGER, 4, MPI_INT, MPI_SUM},
        {"int32 max", INTEGER, 4, MPI_INT32_T, MPI_MAX},
        {"int32 band", INTEGER, 4, MPI_INT, MPI_BAND},
        {"int8 sum", INTEGER, 1, MPI_SIGNED_CHAR, MPI_SUM},
        {"int16 max", INTEGER, 2, MPI_SHORT, MPI_MAX},
        {"int64 sum", INTEGER, 8, MPI_LONG, MPI_SUM},
        {"uint8 max", INTEGER, 1, MPI_UNSIGNED_CHAR, MPI_MAX},
        {"uint32 sum", INTEGER, 4, MPI_UNSIGNED, MPI_SUM},
        {"uint64 sum", INTEGER, 8, MPI_UNSIGNED_LONG, MPI_SUM},
        {"float64 sum", REAL64, 8, MPI_DOUBLE, MPI_SUM},
        {"float64 max", REAL64, 8, MPI_DOUBLE, MPI_MAX},
        {"complex float64 sum", COMPLEX, 16, MPI_C_DOUBLE_COMPLEX, MPI_SUM},
        {"float64,int32 maxloc", PAIR, 16, MPI_DOUBLE_INT, MPI_MAXLOC},
        {"derived, user op", TRIPLE, 12, triple, sum},
    };
    for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++) {
        for (int function = 0; function < FUNCTIONS; function++) {
            places_all((function_t)function, 9, &elements[e], e > 1);
        }
    }
    for (int function = 0; function < FUNCTIONS; function++) {
        places_all((function_t)function, 70001, &elements[0], true);
    }
    MPI_Op_free(&sum);
    MPI_Type_free(&triple);
}

int main(int argc, char **argv)
{
    uint32_t devices = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cann_load(argc > 1 && strcmp(argv[1], "global") == 0);
    const int code = acl_init(NULL);
    if ((code != 0 && code != 100002) || acl_device_count(&devices) != 0 || devices == 0) {
        stop("no device");
    }
    const int32_t device = (int32_t)((uint32_t)rank % devices);
    if (acl_set_device(device) != 0) {
        stop("aclrtSetDevice");
    }
    values_all();
    if (wrong == 0) {
        printf("rank %d: %d calls right\n", rank, made);
    }
    MPI_Finalize();
    acl_reset_device(device);
    return wrong > 0 ? 1 : 0;
}
