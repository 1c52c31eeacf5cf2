/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: MAP_STACK */

#include "shim/coroutine.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Room for what UCX does when it connects, of which the kernel gives only what is touched; before it, no memory, as
   much as the largest page there is. */
static const size_t stack_bytes = (size_t)1 << 20;
static const size_t guard_bytes = (size_t)1 << 16;

struct coroutine {
    void (*function)(coroutine_t *coroutine, void *argument);
    void *argument;
    MPI_Request *requests; /* waited for; NULL: nothing */
    int count;
    int code; /* what came of it */
    bool returned;
    void *stack;
    ucontext_t inside;
    ucontext_t outside;
};

int coroutine_wait(void *coroutine, int count, MPI_Request *requests)
{
    coroutine_t *self = coroutine;

    self->requests = requests;
    self->count = count;
    (void)swapcontext(&self->inside, &self->outside);
    return self->code;
}

static void coroutine_run(unsigned high, unsigned low)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): makecontext passes nothing but ints
    coroutine_t *coroutine = (coroutine_t *)((uintptr_t)high << 16 << 16 | low);

    coroutine->function(coroutine, coroutine->argument);
    coroutine->returned = true;
}

static bool coroutine_stack_make(coroutine_t *coroutine)
{
    void *stack = mmap(NULL, guard_bytes + stack_bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED) {
        return false;
    }
    if (mprotect((char *)stack + guard_bytes, stack_bytes, PROT_READ | PROT_WRITE) != 0 ||
        getcontext(&coroutine->inside) != 0) {
        (void)munmap(stack, guard_bytes + stack_bytes);
        return false;
    }
    coroutine->stack = stack;
    coroutine->inside.uc_stack.ss_sp = (char *)stack + guard_bytes;
    coroutine->inside.uc_stack.ss_size = stack_bytes;
    coroutine->inside.uc_link = &coroutine->outside;
    makecontext(&coroutine->inside, (void (*)(void))coroutine_run, 2, (unsigned)((uintptr_t)coroutine >> 16 >> 16),
                (unsigned)(uintptr_t)coroutine);
    return true;
}

coroutine_t *coroutine_new(void (*function)(coroutine_t *coroutine, void *argument), void *argument)
{
    coroutine_t *made = calloc(1, sizeof *made);

    if (made == NULL || !coroutine_stack_make(made)) {
        free(made);
        return NULL;
    }
    made->function = function;
    made->argument = argument;
    return made;
}

void coroutine_free(coroutine_t *coroutine)
{
    if (coroutine != NULL) {
        (void)munmap(coroutine->stack, guard_bytes + stack_bytes);
        free(coroutine);
    }
}

bool coroutine_step(coroutine_t *coroutine)
{
    for (;;) {
        if (coroutine->requests != NULL) {
            int done = 0;
            coroutine->code = PMPI_Testall(coroutine->count, coroutine->requests, &done, MPI_STATUSES_IGNORE);
            if (coroutine->code == MPI_SUCCESS && !done) {
                return false;
            }
            coroutine->requests = NULL;
        }
        (void)swapcontext(&coroutine->outside, &coroutine->inside);
        if (coroutine->returned) {
            coroutine_free(coroutine);
            return true;
        }
    }
}
