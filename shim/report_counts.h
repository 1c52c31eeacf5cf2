/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two files of the report share. */
#ifndef SHIM_REPORT_COUNTS_H
#define SHIM_REPORT_COUNTS_H

#include "shim/report.h"

#include <stdatomic.h>

/* Size classes by the bytes of a call: 0, then up to 64, 1K, 64K, 1M, and more. */
enum { REPORT_CLASS_COUNT = 6 };

/* The size class in words, "65-1K". */
const char *report_class_text(int size_class);

typedef struct report_count {
    atomic_uint_least64_t calls;
    atomic_uint_least64_t bytes;
    atomic_uint_least64_t nanoseconds;
} report_count_t;

struct report {
    /* The last index: 0 done by the library, 1 by the host MPI. */
    report_count_t row[REPORT_MODE_COUNT][COLLECTIVE_KIND_COUNT][DTYPE_COUNT + 1][REPORT_CLASS_COUNT][2];
    atomic_uint_least64_t reason[REASON_COUNT];
};

#endif
