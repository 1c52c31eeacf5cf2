/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a collective is in which chunk, and where: the geometry of staging. Pure. */
#ifndef ENGINE_HCCL_PIECES_H
#define ENGINE_HCCL_PIECES_H

#include "engine/hccl/hccl.h"

/* Elements one behind the other. */
typedef struct run {
    size_t at;
    size_t count;
} run_t;

/* A run of elements of the vector. */
typedef struct piece {
    size_t at;
    size_t count;
    size_t room; /* elements on the wire */
} piece_t;

typedef struct staging {
    engine_comm_t *comm;
    engine_t *engine;
    const hccl_slot_t *slots;
    const collective_t *collective;
    const hccl_plan_t *plan;
    encode_ranks_t ranks;
    size_t element;
    run_t mine;   /* this rank's result, of the vector, */
    run_t group;  /* and the results of all ranks of its group, with what is between them */
    char *result; /* where its first element goes */
} staging_t;

/* From the first to the last element of the results of a rank's group. */
run_t pieces_group_run(const engine_comm_t *comm, const collective_t *collective);

/* The pieces of a chunk: one, or one of each block, those of a group one behind the other. */
uint32_t pieces_number(const staging_t *staging);
piece_t pieces_get(const staging_t *staging, size_t chunk, uint32_t number);
/* The number of the piece of this rank's block. */
uint32_t pieces_mine(const staging_t *staging);

/* Elements on the wire: of the pieces from .. to - 1, of all, of those of a group (what its owner gets). */
size_t pieces_elements(const staging_t *staging, size_t chunk, uint32_t from, uint32_t to);
size_t pieces_chunk(const staging_t *staging, size_t chunk);
size_t pieces_group(const staging_t *staging, size_t chunk, uint32_t place);

/* What a run of the vector and a piece have in common: the first element behind the piece's, and how many. */
run_t pieces_within(run_t run, piece_t piece);

/* Whether the round moves the collective itself, and is no allreduce before it. */
bool pieces_round_last(const staging_t *staging, unsigned round);

/* What comes back of a chunk to the group: the first element behind the collective, and how many; and the bytes of it.
   Older CANN wants addresses of copies aligned. */
run_t pieces_back(const staging_t *staging, size_t chunk, unsigned round);
void pieces_bytes_back(const staging_t *staging, size_t chunk, unsigned round, size_t *from, size_t *to);

#endif
