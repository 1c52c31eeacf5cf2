/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of plan_algorithms[], declared from plan_algorithms.def. */
#ifndef ENGINE_HOST_PLAN_ALGORITHMS_H
#define ENGINE_HOST_PLAN_ALGORITHMS_H

#include "engine/host/plan_build.h"

#define ALGORITHM(name, help)                               \
    bool plan_##name##_serves(const plan_params_t *params); \
    mpinpu_status_t plan_##name##_build(const plan_params_t *params, plan_t *plan);
#include "engine/host/plan_algorithms.def"
#undef ALGORITHM

#endif
