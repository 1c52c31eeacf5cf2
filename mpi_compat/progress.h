/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress of the host MPI: driving it, and being driven by it. */
#ifndef MPI_COMPAT_PROGRESS_H
#define MPI_COMPAT_PROGRESS_H

#include <stdbool.h>

/* Finds out how the host MPI is driven. Once, before the others. */
void compat_progress_init(void);

/* Lets the host MPI make progress once. Any thread that may call MPI. */
void compat_progress(void);

/* From now on every MPI call of this process that waits, and every test of a request, calls `function` again and again,
   in its own thread; it returns how many events it saw, and may be called by several threads at once and out of MPI
   calls that it makes itself. Until it is unregistered. False: this host MPI has nothing of the kind. Open MPI's
   opal_progress_register (opal/runtime/opal_progress.h), by which its own components take part. Any thread. */
bool compat_progress_register(int (*function)(void));

/* From now on it is not, except where it is being called. */
void compat_progress_unregister(int (*function)(void));

#endif
