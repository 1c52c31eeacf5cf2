/* SPDX-License-Identifier: BSD-3-Clause */
/* The straight path for inputs that fit beside a flag in one cache line: every rank stores its whole input in its own
   line, and folds all lines in rank order. The same bits as the "flat" plan gives. */
#ifndef ENGINE_HOST_TINY_H
#define ENGINE_HOST_TINY_H

#include "engine/host/host.h"

/* More ranks than this share the work by plans. */
enum { TINY_RANKS_MAX = 32 };

/* Whether a collective that is run, with so many bytes in its whole input, goes this way. */
static inline bool tiny_serves(const engine_comm_t *comm, const collective_t *collective, size_t bytes)
{
    return comm->tiny && collective->kind < COLLECTIVE_KIND_COUNT && bytes <= REGION_TINY_BYTES;
}

/* Runs one collective whose whole input is `bytes` <= REGION_TINY_BYTES on a communicator with comm->tiny; sequence is
   its number, from 1. */
void tiny_run(engine_comm_t *comm, const collective_t *collective, size_t bytes, uint64_t sequence);

#endif
