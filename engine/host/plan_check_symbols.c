/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions with equal numbers for equal ones, and memory as a sorted array of stretches. */
#include "engine/host/plan_check_symbols.h"

#include <stdlib.h>
#include <string.h>

enum { BITS_OF_WORD = 64 };

typedef struct fold_node {
    size_t first; /* its sources in `sources` */
    uint32_t n;
    uint32_t next;      /* in the chain of its hash */
    uint32_t twice;     /* first rank that is there more than once */
    uint64_t *has_rank; /* a bit a rank */
} fold_node_t;

enum { HASH_CHAINS = 4096 };

struct symbols {
    uint32_t nranks;
    uint32_t nwords;
    fold_node_t *nodes;
    size_t nnodes;
    size_t nodes_room;
    uint32_t *sources;
    size_t nsources;
    size_t sources_room;
    uint32_t chains[HASH_CHAINS]; /* index + 1 into nodes */
};

static bool room_for(void **array, size_t used, size_t more, size_t *room, size_t bytes)
{
    if (used + more <= *room) {
        return true;
    }
    const size_t wanted = 2 * (used + more);
    void *grown = realloc(*array, wanted * bytes);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *room = wanted;
    return true;
}

symbols_t *symbols_open(uint32_t nranks)
{
    symbols_t *symbols = calloc(1, sizeof(*symbols));

    if (symbols != NULL) {
        symbols->nranks = nranks;
        symbols->nwords = nranks / BITS_OF_WORD + 1;
    }
    return symbols;
}

void symbols_close(symbols_t *symbols)
{
    if (symbols != NULL) {
        for (size_t i = 0; i < symbols->nnodes; i++) {
            free(symbols->nodes[i].has_rank);
        }
        free(symbols->nodes);
        free(symbols->sources);
        free(symbols);
    }
}

static bool is_input(const symbols_t *symbols, uint32_t symbol)
{
    return symbol <= symbols->nranks;
}

static const fold_node_t *node_of(const symbols_t *symbols, uint32_t symbol)
{
    return &symbols->nodes[symbol - symbols->nranks - 1];
}

static bool has_rank(const symbols_t *symbols, uint32_t symbol, uint32_t rank)
{
    if (is_input(symbols, symbol)) {
        return symbol == rank + 1;
    }
    return (node_of(symbols, symbol)->has_rank[rank / BITS_OF_WORD] >> rank % BITS_OF_WORD & 1) != 0;
}

/* Adds a source's contributions to a node's. */
static void node_take(const symbols_t *symbols, fold_node_t *node, uint32_t source)
{
    for (uint32_t rank = 0; rank < symbols->nranks; rank++) {
        if (has_rank(symbols, source, rank)) {
            const uint64_t bit = (uint64_t)1 << rank % BITS_OF_WORD;
            uint64_t *word = &node->has_rank[rank / BITS_OF_WORD];
            if ((*word & bit) != 0 && rank < node->twice) {
                node->twice = rank;
            }
            *word |= bit;
        }
    }
    const uint32_t twice = symbols_first_double(symbols, source);
    node->twice = twice < node->twice ? twice : node->twice;
}

static size_t hash_of(const uint32_t *sources, uint32_t n)
{
    uint64_t hash = n;

    for (uint32_t i = 0; i < n; i++) {
        hash = (hash ^ sources[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash % HASH_CHAINS;
}

uint32_t symbols_fold(symbols_t *symbols, const uint32_t *sources, uint32_t n)
{
    uint32_t *chain = &symbols->chains[hash_of(sources, n)];
    void *nodes = symbols->nodes;
    void *all = symbols->sources;

    for (uint32_t i = *chain; i != 0; i = symbols->nodes[i - 1].next) {
        const fold_node_t *node = &symbols->nodes[i - 1];
        if (node->n == n && memcmp(&symbols->sources[node->first], sources, n * sizeof(*sources)) == 0) {
            return symbols->nranks + i;
        }
    }
    if (!room_for(&nodes, symbols->nnodes, 1, &symbols->nodes_room, sizeof(fold_node_t))) {
        return SYMBOL_NONE;
    }
    symbols->nodes = nodes;
    if (!room_for(&all, symbols->nsources, n, &symbols->sources_room, sizeof(*sources))) {
        return SYMBOL_NONE;
    }
    symbols->sources = all;
    fold_node_t node = {.first = symbols->nsources,
                        .n = n,
                        .next = *chain,
                        .twice = symbols->nranks,
                        .has_rank = calloc(symbols->nwords, sizeof(uint64_t))};
    if (node.has_rank == NULL) {
        return SYMBOL_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        symbols->sources[symbols->nsources++] = sources[i];
        node_take(symbols, &node, sources[i]);
    }
    symbols->nodes[symbols->nnodes++] = node;
    *chain = (uint32_t)symbols->nnodes;
    return symbols->nranks + *chain;
}

uint32_t symbols_first_double(const symbols_t *symbols, uint32_t symbol)
{
    return is_input(symbols, symbol) ? symbols->nranks : node_of(symbols, symbol)->twice;
}

uint32_t symbols_first_missing(const symbols_t *symbols, uint32_t symbol)
{
    uint32_t rank = 0;

    while (rank < symbols->nranks && has_rank(symbols, symbol, rank)) {
        rank++;
    }
    return rank;
}

bool symbols_is_raw(const symbols_t *symbols, uint32_t symbol)
{
    if (is_input(symbols, symbol)) {
        return symbols->nranks == 1;
    }
    const fold_node_t *node = node_of(symbols, symbol);
    for (uint32_t i = 0; i < node->n; i++) {
        if (symbols->sources[node->first + i] != i + 1) {
            return false;
        }
    }
    return node->n == symbols->nranks;
}

void memory_close(memory_t *memory)
{
    free(memory->stretches);
    *memory = (memory_t){0};
}

/* Index of the first stretch that ends behind `offset`. */
static size_t first_behind(const memory_t *memory, uint64_t offset)
{
    size_t low = 0;
    size_t high = memory->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (memory->stretches[middle].end > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

const stretch_t *memory_find(const memory_t *memory, uint64_t offset)
{
    const size_t i = first_behind(memory, offset);

    return i < memory->n && memory->stretches[i].start <= offset ? &memory->stretches[i] : NULL;
}

const stretch_t *memory_next(const memory_t *memory, uint64_t offset)
{
    const size_t i = first_behind(memory, offset);

    return i < memory->n ? &memory->stretches[i] : NULL;
}

/* Replaces the stretches [from, to) by `n` others. */
static bool replace(memory_t *memory, size_t from, size_t to, const stretch_t *others, size_t n)
{
    void *stretches = memory->stretches;

    if (!room_for(&stretches, memory->n, n, &memory->room, sizeof(*others))) {
        return false;
    }
    memory->stretches = stretches;
    if (memory->n > to) {
        memmove(&memory->stretches[from + n], &memory->stretches[to], (memory->n - to) * sizeof(*others));
    }
    for (size_t i = 0; i < n; i++) {
        memory->stretches[from + i] = others[i];
    }
    memory->n = memory->n - (to - from) + n;
    return true;
}

/* Puts `middle` (or nothing) in the place of [start, end), keeping what sticks out on both sides. */
static bool overwrite(memory_t *memory, uint64_t start, uint64_t end, const stretch_t *middle)
{
    stretch_t others[3];
    size_t n = 0;
    const size_t from = first_behind(memory, start);
    size_t to = from;

    if (from < memory->n && memory->stretches[from].start < start) {
        others[n] = memory->stretches[from];
        others[n++].end = start;
    }
    if (middle != NULL) {
        others[n++] = *middle;
    }
    while (to < memory->n && memory->stretches[to].start < end) {
        to++;
    }
    if (to > from && memory->stretches[to - 1].end > end) {
        others[n] = memory->stretches[to - 1];
        others[n].at += end - others[n].start;
        others[n++].start = end;
    }
    return replace(memory, from, to, others, n);
}

bool memory_erase(memory_t *memory, uint64_t start, uint64_t end)
{
    return start == end || overwrite(memory, start, end, NULL);
}

static bool continues(const stretch_t *a, const stretch_t *b)
{
    return a->end == b->start && a->symbol == b->symbol && a->written == b->written && a->writer == b->writer &&
           a->item == b->item && a->at + (a->end - a->start) == b->at;
}

bool memory_write(memory_t *memory, const stretch_t *stretch)
{
    if (stretch->start == stretch->end) {
        return true;
    }
    if (!overwrite(memory, stretch->start, stretch->end, stretch)) {
        return false;
    }
    size_t i = first_behind(memory, stretch->start);
    if (i + 1 < memory->n && continues(&memory->stretches[i], &memory->stretches[i + 1])) {
        stretch_t joined = memory->stretches[i];
        joined.end = memory->stretches[i + 1].end;
        (void)replace(memory, i, i + 2, &joined, 1);
    }
    if (i > 0 && continues(&memory->stretches[i - 1], &memory->stretches[i])) {
        stretch_t joined = memory->stretches[i - 1];
        joined.end = memory->stretches[i].end;
        (void)replace(memory, i - 1, i + 1, &joined, 1);
    }
    return true;
}

bool memory_date(memory_t *memory, uint64_t start, uint64_t end, uint64_t written)
{
    for (uint64_t at = start; at < end;) {
        const stretch_t *found = memory_next(memory, at);
        if (found == NULL || found->start >= end) {
            break;
        }
        stretch_t dated = *found;
        if (dated.start < start) {
            dated.at += start - dated.start;
            dated.start = start;
        }
        dated.end = dated.end < end ? dated.end : end;
        dated.written = written;
        at = dated.end;
        if (!memory_write(memory, &dated)) {
            return false;
        }
    }
    return true;
}
