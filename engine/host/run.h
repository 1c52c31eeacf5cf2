/* SPDX-License-Identifier: BSD-3-Clause */
/* Running collectives on the host engine: to the end, or step by step. The functions of engine_vtable_t. */
#ifndef ENGINE_HOST_RUN_H
#define ENGINE_HOST_RUN_H

#include "engine/host/host.h"

mpinpu_status_t host_run(engine_comm_t *comm, const collective_t *collective);
mpinpu_status_t host_start(engine_comm_t *comm, const collective_t *collective, const engine_prepared_t *prepared);
mpinpu_status_t host_advance(engine_comm_t *comm);

/* The last collective's algorithm; see engine_vtable_t. */
const char *host_algorithm(const engine_comm_t *comm);

/* Frees what start keeps for the communicator; what is under way is given up. */
void host_run_free(engine_comm_t *comm);

#endif
