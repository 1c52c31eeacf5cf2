/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: MAP_STACK */

#include "shim/setup.h"

#include "mpi_compat/exchange.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Room for what UCX does when it connects; the kernel gives only what is touched. */
static const size_t stack_bytes = (size_t)1 << 20;

struct setup {
    comm_state_t *state;
    compat_waiter_t waiter;
    MPI_Request request; /* what is waited for */
    int code;            /* and what came of it */
    void *stack;
    ucontext_t inside;
    ucontext_t outside;
    bool ended;
};

/* Inside: leaves until the request is done. */
static int setup_wait(void *context, MPI_Request *request)
{
    setup_t *setup = context;

    setup->request = *request;
    (void)swapcontext(&setup->inside, &setup->outside);
    *request = MPI_REQUEST_NULL;
    return setup->code;
}

static void setup_run(unsigned high, unsigned low)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): makecontext passes nothing but ints
    setup_t *setup = (setup_t *)((uintptr_t)high << 16 << 16 | low);
    engine_exchange_t exchange;

    setup->waiter.comm = setup->state->queue.twin;
    if (setup->code == MPI_SUCCESS && compat_exchange_init_waiting(&exchange, &setup->waiter) == MPINPU_OK) {
        exchange.owner = setup->state;
        comm_state_connect(setup->state, &exchange);
    } else {
        atomic_store_explicit(&setup->state->reason, REASON_NO_COMM, memory_order_release);
    }
    setup->ended = true;
}

static bool setup_stack_make(setup_t *setup)
{
    const size_t guard = 65536; /* the largest page there is */
    void *stack =
        mmap(NULL, guard + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED) {
        return false;
    }
    setup->stack = stack;
    if (mprotect((unsigned char *)stack + guard, stack_bytes, PROT_READ | PROT_WRITE) != 0 ||
        getcontext(&setup->inside) != 0) {
        (void)munmap(stack, guard + stack_bytes);
        return false;
    }
    setup->inside.uc_stack.ss_sp = (unsigned char *)stack + guard;
    setup->inside.uc_stack.ss_size = stack_bytes;
    setup->inside.uc_link = &setup->outside;
    makecontext(&setup->inside, (void (*)(void))setup_run, 2, (unsigned)((uintptr_t)setup >> 16 >> 16),
                (unsigned)(uintptr_t)setup);
    return true;
}

static void setup_free(setup_t *setup)
{
    const size_t guard = 65536;

    (void)munmap(setup->stack, guard + stack_bytes);
    free(setup);
}

setup_t *setup_begin(comm_state_t *state, MPI_Comm comm)
{
    setup_t *setup = calloc(1, sizeof *setup);

    if (setup == NULL) {
        return NULL;
    }
    if (!setup_stack_make(setup)) {
        free(setup);
        return NULL;
    }
    setup->state = state;
    setup->waiter = (compat_waiter_t){.context = setup, .wait = setup_wait};
    setup->request = MPI_REQUEST_NULL;
    if (PMPI_Comm_idup(comm, &state->queue.twin, &setup->request) != MPI_SUCCESS) {
        setup_free(setup);
        return NULL;
    }
    return setup;
}

bool setup_step(setup_t *setup)
{
    int done = 0;

    for (;;) {
        setup->code = PMPI_Test(&setup->request, &done, MPI_STATUS_IGNORE);
        if (setup->code == MPI_SUCCESS && !done) {
            return false;
        }
        (void)swapcontext(&setup->outside, &setup->inside);
        if (setup->ended) {
            setup_free(setup);
            return true;
        }
    }
}
