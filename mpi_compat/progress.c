/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: dladdr */

#include "mpi_compat/progress.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Open MPI's own functions, or NULL: set once at start, read after. */
static void (*progress_function)(void);
static int (*register_function)(int (*)(void));
static int (*unregister_function)(int (*)(void));

void compat_progress_init(void)
{
#ifdef OPEN_MPI
    Dl_info info;

    /* libmpi needs libopen-pal, so a look-up through libmpi's handle finds it however the program loaded libmpi. */
    if (dladdr((const void *)(uintptr_t)PMPI_Allgather, &info) != 0 && info.dli_fname != NULL) {
        void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            *(void **)(&progress_function) = dlsym(handle, "opal_progress");
            *(void **)(&register_function) = dlsym(handle, "opal_progress_register");
            *(void **)(&unregister_function) = dlsym(handle, "opal_progress_unregister");
            (void)dlclose(handle);
        }
    }
#endif
}

void compat_progress(void)
{
    int flag = 0;

    if (progress_function != NULL) {
        progress_function();
    } else {
        /* A probe drives the progress of any MPI; the message, if there is one, stays where it is. */
        (void)PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
}

bool compat_progress_register(int (*function)(void))
{
    return register_function != NULL && register_function(function) == 0;
}

void compat_progress_unregister(int (*function)(void))
{
    if (unregister_function != NULL) {
        (void)unregister_function(function);
    }
}
