/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_compat/reduction.h"

compat_answer_t compat_reduction_find(MPI_Datatype datatype, MPI_Op operation, dtype_t *dtype, op_t *op)
{
    static const struct {
        MPI_Datatype handle;
        dtype_t dtype;
    } types[] = {{MPI_FLOAT, DTYPE_F32}, {MPI_DOUBLE, DTYPE_F64}, {MPI_DOUBLE_PRECISION, DTYPE_F64},
                 {MPI_REAL, DTYPE_F32},  {MPI_INT, DTYPE_I32},    {MPI_INTEGER, DTYPE_I32},
                 {MPI_LONG, DTYPE_I64}};
    static const struct {
        MPI_Op handle;
        op_t op;
    } ops[] = {{MPI_SUM, OP_SUM}, {MPI_MAX, OP_MAX}, {MPI_MIN, OP_MIN}, {MPI_PROD, OP_PROD}};

    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
        if (ops[o].handle == operation) {
            for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
                if (types[t].handle == datatype) {
                    *dtype = types[t].dtype;
                    *op = ops[o].op;
                    return COMPAT_SERVED;
                }
            }
            return COMPAT_DERIVED_TYPE;
        }
    }
    return COMPAT_USER_OP;
}

void compat_reduction_init(void)
{
}

const char *compat_answer_name(compat_answer_t answer)
{
    (void)answer;
    return "";
}
