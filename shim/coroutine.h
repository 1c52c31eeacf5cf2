/* SPDX-License-Identifier: BSD-3-Clause */
/* A function that waits for requests of the host MPI without keeping its caller: it runs on a stack of its own, and
   where it waits it is left, to be gone on with when the requests are done. */
#ifndef SHIM_COROUTINE_H
#define SHIM_COROUTINE_H

#include <mpi.h>
#include <stdbool.h>

typedef struct coroutine coroutine_t;

/* Nothing of it runs yet. NULL: no memory. */
coroutine_t *coroutine_new(void (*function)(coroutine_t *coroutine, void *argument), void *argument);

/* One that has not been run; NULL is allowed. */
void coroutine_free(coroutine_t *coroutine);

/* Runs it as far as it gets without waiting. True: it has returned, and is freed. Calls one after the other, from any
   thread that may call MPI. */
bool coroutine_step(coroutine_t *coroutine);

/* Inside: waits. The requests become MPI_REQUEST_NULL; returns what PMPI_Waitall would. `coroutine` is untyped for who
   takes a context. */
int coroutine_wait(void *coroutine, int count, MPI_Request *requests);

#endif
