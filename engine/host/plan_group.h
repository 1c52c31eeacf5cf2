/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce by messages among some ranks of a communicator: parts of plans. */
#ifndef ENGINE_HOST_PLAN_GROUP_H
#define ENGINE_HOST_PLAN_GROUP_H

#include "engine/host/plan_build.h"

/* Who takes part, in the order in which inputs are folded. */
typedef struct plan_group {
    const uint32_t *ranks; /* `n` of them; NULL: 0 .. n - 1 */
    uint32_t n;
    uint32_t mine; /* this rank's index */
} plan_group_t;

static inline uint32_t plan_group_rank(const plan_group_t *group, uint32_t index)
{
    return group->ranks == NULL ? index : group->ranks[index];
}

/* Both: dst = the fold of all members' src, `length` bytes (0: nothing is done), the same bits in all. src and dst are
   of this rank and may be the same. All messages are complete at the end. `scratch` is in PLAN_TMP, of as many bytes as
   the _scratch function says for this length or a longer one. A padded element is never received into PLAN_RECV. */

/* Recursive doubling, few and whole messages: for small vectors. Ranks beyond a power of two join a neighbour's. */
void plan_group_double(plan_builder_t *builder, const plan_group_t *group, plan_ref_t dst, plan_ref_t src,
                       uint64_t length, plan_ref_t scratch);
uint64_t plan_group_double_scratch(uint64_t length);

/* Ring reduce-scatter and ring allgather: every byte is sent twice, whatever the number of members: for large vectors.
 */
void plan_group_ring(plan_builder_t *builder, const plan_group_t *group, plan_ref_t dst, plan_ref_t src,
                     uint64_t length, plan_ref_t scratch);
uint64_t plan_group_ring_scratch(const plan_params_t *params, const plan_group_t *group, uint64_t length);

/* The better of the two for this length. */
void plan_group_allreduce(plan_builder_t *builder, const plan_group_t *group, plan_ref_t dst, plan_ref_t src,
                          uint64_t length, plan_ref_t scratch);
uint64_t plan_group_allreduce_scratch(const plan_params_t *params, const plan_group_t *group, uint64_t length);

#endif
