/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/hccl/pieces.h"

uint32_t pieces_number(const staging_t *staging)
{
    return staging->plan->function == COLLECTIVE_ALLREDUCE ? 1 : staging->comm->size;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

piece_t pieces_get(const staging_t *staging, size_t chunk, uint32_t number)
{
    const hccl_plan_t *plan = staging->plan;
    const bool whole = plan->function == COLLECTIVE_ALLREDUCE;
    const uint32_t rank = staging->comm->owners.grouped[number];
    const size_t count = whole ? plan->count : collective_block(staging->collective, rank);
    const size_t run = plan->function == COLLECTIVE_REDUCE_SCATTER ? count : plan->count;
    const size_t from = model_cut_start(&plan->cut, run, chunk);
    const size_t to = model_cut_start(&plan->cut, run, chunk + 1);

    return (piece_t){.at = (whole ? 0 : collective_block_start(staging->collective, rank)) + least(from, count),
                     .count = least(to, count) - least(from, count),
                     .room = to - from};
}

size_t pieces_elements(const staging_t *staging, size_t chunk, uint32_t from, uint32_t to)
{
    size_t count = 0;

    for (uint32_t p = from; p < to; p++) {
        count += pieces_get(staging, chunk, p).room;
    }
    return count;
}

size_t pieces_chunk(const staging_t *staging, size_t chunk)
{
    return pieces_elements(staging, chunk, 0, pieces_number(staging));
}

size_t pieces_group(const staging_t *staging, size_t chunk, uint32_t place)
{
    const uint32_t *first = staging->comm->owners.first;

    return pieces_elements(staging, chunk, first[place], first[place + 1]);
}

uint32_t pieces_mine(const staging_t *staging)
{
    const owners_t *owners = &staging->comm->owners;
    uint32_t number = owners->first[staging->comm->place];

    while (owners->grouped[number] != staging->comm->rank) {
        number++;
    }
    return number;
}

bool pieces_round_last(const staging_t *staging, unsigned round)
{
    return round + 1 == staging->plan->encoding->rounds;
}

run_t pieces_within(run_t run, piece_t piece)
{
    const size_t from = piece.at > run.at ? piece.at : run.at;
    const size_t to = least(piece.at + piece.count, run.at + run.count);

    return from < to ? (run_t){.at = from - piece.at, .count = to - from} : (run_t){.at = 0, .count = 0};
}

run_t pieces_back(const staging_t *staging, size_t chunk, unsigned round)
{
    if (!pieces_round_last(staging, round)) {
        return (run_t){.at = 0, .count = pieces_chunk(staging, chunk)};
    }
    if (staging->plan->function != COLLECTIVE_ALLREDUCE) {
        return (run_t){.at = 0, .count = pieces_group(staging, chunk, staging->comm->place)};
    }
    return pieces_within(staging->group, pieces_get(staging, chunk, 0));
}

void pieces_bytes_back(const staging_t *staging, size_t chunk, unsigned round, size_t *from, size_t *to)
{
    const encoding_t *encoding = staging->plan->encoding;
    const run_t back = pieces_back(staging, chunk, round);

    *from = encoding_wire_bytes(encoding, round, back.at) / ATLAS_COPY_ALIGNMENT * ATLAS_COPY_ALIGNMENT;
    *to = back.count == 0 ? *from : encoding_wire_bytes(encoding, round, back.at + back.count);
}

run_t pieces_group_run(const engine_comm_t *comm, const collective_t *collective)
{
    const owners_t *owners = &comm->owners;
    size_t from = SIZE_MAX;
    size_t to = 0;

    if (collective->kind == COLLECTIVE_ALLREDUCE) {
        return (run_t){.at = 0, .count = collective->count};
    }
    for (uint32_t i = owners->first[comm->place]; i < owners->first[comm->place + 1]; i++) {
        const size_t start = collective_block_start(collective, owners->grouped[i]);
        from = least(from, start);
        to = start + collective_block(collective, owners->grouped[i]) > to
                 ? start + collective_block(collective, owners->grouped[i])
                 : to;
    }
    return (run_t){.at = from, .count = to - from};
}
