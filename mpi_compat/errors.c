/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_compat/errors.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CAUSES_MAX = 64 };

typedef struct cause {
    int class;
    int code;
    char text[MPI_MAX_ERROR_STRING];
} cause_t;

/* All causes so far; under the lock. */
static pthread_mutex_t causes_lock = PTHREAD_MUTEX_INITIALIZER;
static cause_t causes[CAUSES_MAX];
static int causes_count;

/* The code of a new cause, or its class where MPI or this table has no more. */
static int cause_new(int class, const char *text)
{
    cause_t *cause = &causes[causes_count];

    if (causes_count == CAUSES_MAX || PMPI_Add_error_code(class, &cause->code) != MPI_SUCCESS) {
        return class;
    }
    cause->class = class;
    (void)strcpy(cause->text, text); /* as long as the array, which `text` was made in */
    causes_count++;
    (void)PMPI_Add_error_string(cause->code, cause->text);
    return cause->code;
}

static int cause_code(int class, const char *text)
{
    for (int c = 0; c < causes_count; c++) {
        if (causes[c].class == class && strcmp(causes[c].text, text) == 0) {
            return causes[c].code;
        }
    }
    return cause_new(class, text);
}

int compat_error_code(mpinpu_status_t status, const char *text)
{
    char said[MPI_MAX_ERROR_STRING];
    const int class = status == MPINPU_ERR_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;

    (void)snprintf(said, sizeof said, "mpinpu: %s", text[0] != '\0' ? text : status_name(status));
    pthread_mutex_lock(&causes_lock);
    const int code = cause_code(class, said);
    pthread_mutex_unlock(&causes_lock);
    return code;
}

int compat_error_raise(MPI_Comm comm, mpinpu_status_t status, const char *text)
{
    const int code = compat_error_code(status, text);

    (void)PMPI_Comm_call_errhandler(comm, code);
    return code;
}
