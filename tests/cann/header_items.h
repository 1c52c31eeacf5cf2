/* SPDX-License-Identifier: BSD-3-Clause */
/* Read by the C++ preprocessor for tests/cann/header_check: each row of the engine's tables becomes one line
   ITEM <need> <name> <name> <assertion>. The assertion is dropped where the vendor's headers lack one of the names and
   the need is OPTIONAL. */
#define CANN_FUNCTION(LIBRARY, NEED, SINCE, RESULT, NAME, PARAMETERS) \
    ITEM NEED NAME NAME static_assert(std::is_same<decltype(&NAME), RESULT(*) PARAMETERS>::value, "signature of " #NAME);
#include "engine/hccl/cann_functions.def"
#undef CANN_FUNCTION
#define CANN_VALUE(TYPE, NAME, NUMBER) \
    ITEM OPTIONAL NAME NAME static_assert((long long)(NAME) == (NUMBER), "value of " #NAME);
#include "engine/hccl/cann_values.def"
#undef CANN_VALUE
#define CANN_ERROR(KIND, NAME, CODE, STATUS, MEANING, ADVICE) \
    ITEM OPTIONAL NAME NAME static_assert((long long)(NAME) == (CODE), "value of " #NAME);
#include "engine/hccl/cann_errors.def"
#undef CANN_ERROR
#define CANN_TYPE(NAME, BYTES) ITEM OPTIONAL NAME NAME static_assert(sizeof(NAME) == (BYTES), "size of " #NAME);
#define CANN_PREFIX(NAME) ITEM OPTIONAL NAME NAME static_assert(sizeof(NAME) >= 24, "size of " #NAME);
#define CANN_FIELD(TYPE, FIELD, OFFSET, BYTES)                                                                 \
    ITEM OPTIONAL TYPE FIELD static_assert(offsetof(TYPE, FIELD) == (OFFSET) &&                                \
                                               sizeof(static_cast<TYPE *>(nullptr)->FIELD) == (BYTES),         \
                                           "place of " #TYPE "." #FIELD);
#include "engine/hccl/cann_structs.def"
