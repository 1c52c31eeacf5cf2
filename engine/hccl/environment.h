/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's own environment variables, those that matter to a job: one table (environment.def), from which values are
   checked, shown and compared among the ranks. HCCL reads them at its first use in a process and fails with a wrong one
   (error EI0001), or later where ranks differ (EI0005). */
#ifndef ENGINE_HCCL_ENVIRONMENT_H
#define ENGINE_HCCL_ENVIRONMENT_H

#include "engine/hccl/atlas.h"
#include "engine/settings.h"

/* HCCL_VARIABLE_CONNECT_TIMEOUT, ...: the name without its first word, HCCL or ASCEND. */
typedef enum hccl_variable {
#define HCCL_VARIABLE(PREFIX, NAME, ...) HCCL_VARIABLE_##NAME,
#include "engine/hccl/environment.def"
#undef HCCL_VARIABLE
    HCCL_VARIABLE_COUNT
} hccl_variable_t;

typedef enum hccl_kind {
    HCCL_KIND_INTEGER,    /* least to most, a multiple of step */
    HCCL_KIND_WORD,       /* one of `words`, which | separates; capitals do not matter */
    HCCL_KIND_PORTS,      /* "auto", or ports and ranges */
    HCCL_KIND_ADDRESS,    /* IPv4 or IPv6 */
    HCCL_KIND_INTERFACES, /* names of network interfaces, behind ^, = or ^= */
    HCCL_KIND_DEVICES,    /* ascending device numbers */
    HCCL_KIND_ALGORITHM,  /* a choice of `words` at each level, for all functions or for each */
    HCCL_KIND_TEXT,       /* anything but nothing */
} hccl_kind_t;

/* A row of the table. All texts are static. */
typedef struct hccl_variable_row {
    const char *name;
    hccl_kind_t kind;
    uint32_t products;   /* bit s: atlas_series_t s knows the variable */
    const char *initial; /* what HCCL does without it, as a value; "" if there is no such */
    int64_t least;
    int64_t most; /* INT32_MAX: no limit */
    int64_t step; /* 0: as 1 */
    const char *words;
    bool compared;            /* ranks must have it alike */
    const char *reproducible; /* what MPINPU_REPRODUCIBLE=1 makes of it, */
    uint32_t reproducible_on; /* on these products; NULL, 0: nothing */
    const char *help;         /* full sentences */
} hccl_variable_row_t;

enum { HCCL_ENVIRONMENT_TEXT_BYTES = 4096 };

/* The values of this process. A plain value: copy it at will. */
typedef struct hccl_environment {
    struct hccl_value {
        bool set;         /* by the environment */
        bool wrong;       /* HCCL would fail with it */
        int64_t compared; /* equal texts, and texts that mean the same number or word, give the same */
        uint16_t text;    /* where in `text` it begins */
    } value[HCCL_VARIABLE_COUNT];
    unsigned wrong; /* how many are */
    char text[HCCL_ENVIRONMENT_TEXT_BYTES];
} hccl_environment_t;

/* Reads the variables from `environment`, an array as environ, for a product (NULL: not known; then what any product
   allows is right). Each that is wrong, or that the product does not know, is told to `complain`. Pure; any thread. */
void hccl_environment_parse(hccl_environment_t *hccl, char *const *environment, const atlas_product_t *product,
                            settings_complaint_t *complain, void *context);

/* The value, or what HCCL takes without one; "" where there is no such. Long ones may be cut off. Lives as long as
   `hccl`. */
const char *hccl_environment_text(const hccl_environment_t *hccl, hccl_variable_t variable);

/* What the ranks of a job must have alike: fills in values[0 .. count) and gives the count; the names are
   hccl_compared_name(0 .. count). `values` has room for HCCL_VARIABLE_COUNT. */
unsigned hccl_environment_compared(const hccl_environment_t *hccl, int64_t *values);
const char *hccl_compared_name(unsigned place);

/* Tells `set` each variable that MPINPU_REPRODUCIBLE=1 must set on the product before HCCL's first use, and its value:
   those that do not have it, or a stricter one, already. (They give the same bits run after run for one layout; sums of
   floats may still differ from one layout to another.) */
void hccl_environment_reproducible(const hccl_environment_t *hccl, const atlas_product_t *product,
                                   void (*set)(void *context, const char *name, const char *value), void *context);

/* The row of a variable. */
const hccl_variable_row_t *hccl_variable_row(hccl_variable_t variable);

/* What is allowed on a product (NULL: on any), "a number from 120 to 7200". Cut off at `bytes`. */
void hccl_allowed_text(hccl_variable_t variable, const atlas_product_t *product, char *text, size_t bytes);

/* Reads a list of device numbers below ATLAS_DEVICES_MAX, "4,5,6,7": no blanks, none twice; `ascending` wants them in
   order. How many there are, 0 if it is no such list. `list` has room for ATLAS_DEVICES_MAX. */
unsigned hccl_device_list(const char *text, bool ascending, uint8_t *list);

#endif
