/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's vocabulary: kinds, datatypes, ops, and the collective itself. mpi_compat translates MPI's handles into
 * it. */
#ifndef ENGINE_COLLECTIVE_H
#define ENGINE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum collective_kind {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_REDUCE_SCATTER,       /* a count a rank */
    COLLECTIVE_REDUCE_SCATTER_BLOCK, /* one count for all ranks */
    COLLECTIVE_KIND_COUNT,           /* of what applications call; the others are the engines' own, among themselves: */
    COLLECTIVE_REDUCE = COLLECTIVE_KIND_COUNT, /* the result is rank 0's alone; the others' recv is not touched */
    COLLECTIVE_BROADCAST,                      /* recv of all ranks becomes send of rank 0 */
    COLLECTIVE_KIND_END
} collective_kind_t;

/* Datatypes by kind and width, one row each: DTYPE(NAME, text, bytes, padded). bytes is the extent; padded rows hold a
   gap that no copy into a user's buffer may write. */
#define DTYPE_TABLE(DTYPE)                                               \
    DTYPE(I8, "int8", 1, false)                                          \
    DTYPE(I16, "int16", 2, false)                                        \
    DTYPE(I32, "int32", 4, false)                                        \
    DTYPE(I64, "int64", 8, false)                                        \
    DTYPE(U8, "uint8", 1, false)                                         \
    DTYPE(U16, "uint16", 2, false)                                       \
    DTYPE(U32, "uint32", 4, false)                                       \
    DTYPE(U64, "uint64", 8, false)                                       \
    DTYPE(BOOL, "bool", sizeof(bool), false)                             \
    DTYPE(F16, "float16", 2, false)                                      \
    DTYPE(BF16, "bfloat16", 2, false)                                    \
    DTYPE(F32, "float32", 4, false)                                      \
    DTYPE(F64, "float64", 8, false)                                      \
    DTYPE(FLONG, "long double", sizeof(long double), false)              \
    DTYPE(C32, "complex float32", 8, false)                              \
    DTYPE(C64, "complex float64", 16, false)                             \
    DTYPE(CLONG, "complex long double", 2 * sizeof(long double), false)  \
    DTYPE(F32_I32, "float32,int32", 8, false)                            \
    DTYPE(F64_I32, "float64,int32", 16, true)                            \
    DTYPE(I64_I32, "int64,int32", 16, true)                              \
    DTYPE(I16_I32, "int16,int32", 8, true)                               \
    DTYPE(FLONG_I32, "long double,int32", 2 * sizeof(long double), true) \
    DTYPE(I32_I32, "int32,int32", 8, false)                              \
    DTYPE(F32_F32, "float32,float32", 8, false)                          \
    DTYPE(F64_F64, "float64,float64", 16, false)

typedef enum dtype {
#define DTYPE_ENUM(NAME, text, bytes, padded) DTYPE_##NAME,
    DTYPE_TABLE(DTYPE_ENUM)
#undef DTYPE_ENUM
        DTYPE_COUNT
} dtype_t;

/* OP(NAME, text) */
#define OP_TABLE(OP)     \
    OP(SUM, "sum")       \
    OP(PROD, "prod")     \
    OP(MIN, "min")       \
    OP(MAX, "max")       \
    OP(LAND, "land")     \
    OP(LOR, "lor")       \
    OP(LXOR, "lxor")     \
    OP(BAND, "band")     \
    OP(BOR, "bor")       \
    OP(BXOR, "bxor")     \
    OP(MINLOC, "minloc") \
    OP(MAXLOC, "maxloc")

typedef enum op {
#define OP_ENUM(NAME, text) OP_##NAME,
    OP_TABLE(OP_ENUM)
#undef OP_ENUM
        OP_COUNT
} op_t;

/* Extent in bytes of one element. */
size_t dtype_size(dtype_t dtype);
/* Whether the element holds a gap between or behind its fields. */
bool dtype_padded(dtype_t dtype);
const char *dtype_name(dtype_t dtype);
const char *op_name(op_t op);
const char *collective_kind_name(collective_kind_t kind);

struct collective;

/* Where a collective's buffers are not on the host: what an engine can do with them. The rest of the world sees
   addresses that the host must not touch. */
typedef struct collective_memory {
    bool direct; /* input and result are both memory of the device that this process uses */
    void *context;
    /* Puts copies on the host in the place of the buffers, once; false: it cannot be done. */
    bool (*to_host)(void *context, struct collective *collective);
} collective_memory_t;

/* One collective, as the application called it. All buffers are the application's. In place: send == recv (for the
   reduce-scatters recv then holds the whole input, and the result starts at its offset 0). */
typedef struct collective {
    collective_kind_t kind;
    dtype_t dtype;
    op_t op;
    const void *send;
    void *recv;
    size_t count;                      /* elements: of the vector (allreduce), of each block (reduce_scatter_block) */
    const int *counts;                 /* reduce_scatter: elements of each rank's block; else NULL */
    const collective_memory_t *memory; /* NULL: the buffers are on the host */
} collective_t;

/* Elements of the whole input, of all `size` ranks' blocks together. */
size_t collective_total(const collective_t *collective, size_t size);
/* Elements of a rank's result. */
size_t collective_block(const collective_t *collective, size_t rank);
/* Elements of the input before those that a rank's result is of. */
size_t collective_block_start(const collective_t *collective, size_t rank);

#endif
