/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checker of plans computes with: expressions over the ranks' inputs, and memory that holds them. */
#ifndef ENGINE_HOST_PLAN_CHECK_SYMBOLS_H
#define ENGINE_HOST_PLAN_CHECK_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Expressions are numbered; equal expressions have equal numbers. 0 is no value, r + 1 the input of rank r, others are
   folds. An expression says nothing of the place in the vector: it stands for the same fold at every element. */
typedef struct symbols symbols_t;
enum { SYMBOL_NONE = 0 };

symbols_t *symbols_open(uint32_t nranks);
void symbols_close(symbols_t *symbols);

/* The left fold of `n` expressions, n >= 2; SYMBOL_NONE where memory is short. */
uint32_t symbols_fold(symbols_t *symbols, const uint32_t *sources, uint32_t n);

/* How often the contributions of a rank are in it: the first rank that is there more than once, or nranks. */
uint32_t symbols_first_double(const symbols_t *symbols, uint32_t symbol);
/* The first rank whose contribution is missing, or nranks. */
uint32_t symbols_first_missing(const symbols_t *symbols, uint32_t symbol);
/* Whether it is one left fold over all inputs in rank order. */
bool symbols_is_raw(const symbols_t *symbols, uint32_t symbol);

/* A stretch of memory that holds `symbol` of the vector's bytes at, at + 1, ... */
typedef struct stretch {
    uint64_t start;
    uint64_t end;
    uint64_t at;
    uint64_t written; /* when, on its writer's clock; STRETCH_IN_FLIGHT while a message comes in */
    uint32_t writer;  /* rank */
    uint32_t symbol;
    uint32_t item; /* in which collective */
} stretch_t;
#define STRETCH_IN_FLIGHT UINT64_MAX

/* Memory: stretches in order of their start, no two overlap; what none covers has never been written. */
typedef struct memory {
    stretch_t *stretches;
    size_t n;
    size_t room;
} memory_t;

void memory_close(memory_t *memory);
/* The stretch that holds `offset`, or NULL. */
const stretch_t *memory_find(const memory_t *memory, uint64_t offset);
/* The first stretch that ends behind `offset`, or NULL. */
const stretch_t *memory_next(const memory_t *memory, uint64_t offset);
/* Forgets what [start, end) holds. False where memory is short. */
bool memory_erase(memory_t *memory, uint64_t start, uint64_t end);
/* Writes a stretch over what was there. */
bool memory_write(memory_t *memory, const stretch_t *stretch);
/* Dates all of [start, end) anew. */
bool memory_date(memory_t *memory, uint64_t start, uint64_t end, uint64_t written);

#endif
