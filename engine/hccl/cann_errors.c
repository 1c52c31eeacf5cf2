/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/hccl/cann.h"

#include <stdio.h>
#include <string.h>

typedef enum error_kind { ACL, HCCL } error_kind_t;

typedef struct error_row {
    error_kind_t kind;
    cann_error_t error;
} error_row_t;

static const error_row_t error_rows[] = {
#define CANN_ERROR(KIND, NAME, CODE, STATUS, MEANING, ADVICE) {KIND, {CODE, STATUS, #NAME, MEANING, ADVICE}},
#include "engine/hccl/cann_errors.def"
#undef CANN_ERROR
};

static const cann_error_t error_unknown = {-1, MPINPU_ERR_DEVICE, "a code unknown here", "no meaning is known",
                                           "look the code up in CANN's documentation"};

static const cann_error_t *error_find(error_kind_t kind, int code)
{
    for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++) {
        if (error_rows[i].kind == kind && error_rows[i].error.code == code) {
            return &error_rows[i].error;
        }
    }
    return &error_unknown;
}

const cann_error_t *cann_acl_error(aclError code)
{
    return error_find(ACL, code);
}

const cann_error_t *cann_hccl_error(HcclResult code)
{
    return error_find(HCCL, code);
}

/* CANN's text has several lines; a sentence has one. */
static void lines_join(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool blank = *from == '\n' || *from == '\r' || *from == '\t' || *from == ' ';
        if (!blank) {
            *to++ = *from;
        } else if (to != text && to[-1] != ' ') {
            *to++ = ' ';
        }
    }
    while (to != text && to[-1] == ' ') {
        to--;
    }
    *to = '\0';
}

static mpinpu_status_t explain(const cann_t *cann, const char *what, const cann_error_t *error, int code, char *text,
                               size_t text_bytes)
{
    char said[512] = "";
    const char *recent = cann->aclGetRecentErrMsg != NULL ? cann->aclGetRecentErrMsg() : NULL;
    if (recent != NULL) {
        snprintf(said, sizeof said, "%s", recent);
        lines_join(said);
    }
    snprintf(text, text_bytes, "%s failed: %s (%d): %s%s%s%s%s", what, error->name, code, error->meaning,
             error->advice[0] != '\0' ? "; " : "", error->advice, said[0] != '\0' ? "; CANN says: " : "", said);
    return error->status;
}

mpinpu_status_t cann_acl_explain(const cann_t *cann, const char *what, aclError code, char *text, size_t text_bytes)
{
    return explain(cann, what, cann_acl_error(code), code, text, text_bytes);
}

mpinpu_status_t cann_hccl_explain(const cann_t *cann, const char *what, HcclResult code, char *text, size_t text_bytes)
{
    return explain(cann, what, cann_hccl_error(code), code, text, text_bytes);
}
