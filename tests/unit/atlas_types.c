/* SPDX-License-Identifier: BSD-3-Clause */
/* Which product a SoC is of, and what HCCL reduces on each: the vendor's tables written down once more. */
#include "engine/hccl/atlas.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct soc_case {
    const char *soc;
    atlas_series_t series;
} soc_cases[] = {
    {"Ascend910A", ATLAS_910},       {"Ascend910B", ATLAS_910},        {"Ascend910ProA", ATLAS_910},
    {"Ascend910ProB", ATLAS_910},    {"Ascend910PremiumA", ATLAS_910}, {"Ascend910B1", ATLAS_A2},
    {"Ascend910B2", ATLAS_A2},       {"Ascend910B2C", ATLAS_A2},       {"Ascend910B3", ATLAS_A2},
    {"Ascend910B4", ATLAS_A2},       {"Ascend910B4-1", ATLAS_A2},      {"Ascend910_9391", ATLAS_A3},
    {"Ascend910_9392", ATLAS_A3},    {"Ascend910_9381", ATLAS_A3},     {"Ascend910_9382", ATLAS_A3},
    {"Ascend910_9372", ATLAS_A3},    {"Ascend910_9362", ATLAS_A3},     {"Ascend910_9363", ATLAS_A3},
    {"Ascend310P1", ATLAS_310P},     {"Ascend310P3", ATLAS_310P},      {"Ascend310P7", ATLAS_310P},
    {"Ascend950PR_9579", ATLAS_950}, {"Ascend950DT", ATLAS_950},
};

Test(atlas_types, product_of_a_soc)
{
    for (size_t c = 0; c < sizeof soc_cases / sizeof soc_cases[0]; c++) {
        char why[256] = "";
        const atlas_product_t *product = atlas_product_find(soc_cases[c].soc, why, sizeof why);

        cr_assert_not_null(product, "%s: %s", soc_cases[c].soc, why);
        cr_assert_eq(product->series, soc_cases[c].series, "%s is %s", soc_cases[c].soc, product->name);
        cr_assert_str_empty(why);
    }
}

Test(atlas_types, no_product_of_a_soc)
{
    static const struct refusal {
        const char *soc;
        const char *why;
    } refusals[] = {
        {NULL, "the runtime does not tell the name of the SoC"},
        {"", "the SoC  is of no product that is known here"},
        {"Ascend910", "the SoC Ascend910 is of no product that is known here"},
        {"Ascend910A2", "the SoC Ascend910A2 is of no product that is known here"},
        {"Ascend910ProC", "the SoC Ascend910ProC is of no product that is known here"},
        {"ascend910B1", "the SoC ascend910B1 is of no product that is known here"},
        {"Ascend910_92", "the SoC Ascend910_92 is of no product that is known here"},
        {"Ascend310", "the SoC Ascend310 is of no product that is known here"},
        {"Ascend310B4", "the SoC Ascend310B4 is of Atlas 200I A2, which has no HCCL"},
    };

    for (size_t r = 0; r < sizeof refusals / sizeof refusals[0]; r++) {
        char why[256] = "";

        cr_assert_null(atlas_product_find(refusals[r].soc, why, sizeof why));
        cr_assert_str_eq(why, refusals[r].why);
    }
}

Test(atlas_types, version_of_a_text)
{
    static const struct version {
        const char *text;
        unsigned version;
    } versions[] = {
        {"8.0.RC1", 800},
        {"8.1.RC1", 801},
        {"8.2.RC1.alpha002", 802},
        {"8.5.0-beta.1", 805},
        {"9.2.0", 902},
        {"25.0.RC1", 2500},
        {"7.0", 700},
        {"6.3.RC2", 603},
        {"", 0},
        {NULL, 0},
        {"8", 0},
        {"8.", 0},
        {".8", 0},
        {"V100R001", 0},
        {"8.123", 0},
        {"999999999999999999999.1", 0},
    };

    for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
        cr_assert_eq(atlas_version(versions[v].text), versions[v].version, "%s gives %u",
                     versions[v].text == NULL ? "NULL" : versions[v].text, atlas_version(versions[v].text));
    }
}

/* What a product reduces: "SPXN" for sum, prod, max, min, a letter that is not there a dash; a datatype that is not
   listed is not reduced. */
typedef struct type_case {
    dtype_t dtype;
    const char *ops;
    const char *vector;
} type_case_t;

static const type_case_t types_910[] = {
    {DTYPE_I8, "SPXN", "----"},  {DTYPE_I32, "SPXN", "----"}, {DTYPE_I64, "SPXN", "----"},
    {DTYPE_F16, "SPXN", "----"}, {DTYPE_F32, "SPXN", "----"}, {DTYPE_COUNT, NULL, NULL},
};
static const type_case_t types_a2[] = {
    {DTYPE_I8, "SPXN", "S-XN"},  {DTYPE_I16, "S-XN", "S-XN"}, {DTYPE_I32, "SPXN", "S-XN"},  {DTYPE_I64, "SPXN", "----"},
    {DTYPE_F16, "SPXN", "S-XN"}, {DTYPE_F32, "SPXN", "S-XN"}, {DTYPE_BF16, "S-XN", "S-XN"}, {DTYPE_COUNT, NULL, NULL},
};
static const type_case_t types_a3[] = {
    {DTYPE_I8, "SPXN", "S-XN"},  {DTYPE_I16, "S-XN", "S-XN"}, {DTYPE_I32, "SPXN", "S-XN"},  {DTYPE_I64, "SPXN", "S-XN"},
    {DTYPE_F16, "SPXN", "S-XN"}, {DTYPE_F32, "SPXN", "S-XN"}, {DTYPE_BF16, "S-XN", "S-XN"}, {DTYPE_COUNT, NULL, NULL},
};
static const type_case_t types_310p[] = {
    {DTYPE_I8, "SPXN", "----"},  {DTYPE_I16, "S---", "S---"}, {DTYPE_I32, "SPXN", "----"},
    {DTYPE_F16, "SPXN", "S---"}, {DTYPE_F32, "SPXN", "S---"}, {DTYPE_COUNT, NULL, NULL},
};
static const type_case_t types_950[] = {
    {DTYPE_I8, "SPXN", "SPXN"},  {DTYPE_I16, "S-XN", "S-XN"}, {DTYPE_I32, "SPXN", "SPXN"},  {DTYPE_I64, "SPXN", "SPXN"},
    {DTYPE_F16, "SPXN", "SPXN"}, {DTYPE_F32, "SPXN", "SPXN"}, {DTYPE_BF16, "S-XN", "S-XN"}, {DTYPE_U64, "SPXN", "----"},
    {DTYPE_F64, "SPXN", "----"}, {DTYPE_COUNT, NULL, NULL},
};

static bool letter_says(const char *letters, op_t op)
{
    char letter = (char)(op == OP_SUM ? 'S' : op == OP_PROD ? 'P' : op == OP_MAX ? 'X' : op == OP_MIN ? 'N' : '?');

    return strchr(letters, letter) != NULL;
}

/* Every datatype and op of the vocabulary, on a CANN that has everything. */
static void types_check(atlas_series_t series, const type_case_t *cases)
{
    const atlas_product_t *product = atlas_product(series);

    for (int d = 0; d < DTYPE_COUNT; d++) {
        const type_case_t *row = cases;
        while (row->dtype != DTYPE_COUNT && row->dtype != (dtype_t)d) {
            row++;
        }
        bool listed = row->dtype != DTYPE_COUNT;
        for (int o = 0; o < OP_COUNT; o++) {
            bool ops = listed && letter_says(row->ops, (op_t)o);
            bool vector = listed && letter_says(row->vector, (op_t)o);
            cr_assert_eq(atlas_serves(product, 902, COLLECTIVE_ALLREDUCE, (dtype_t)d, (op_t)o), ops, "%s: %s %s",
                         product->name, dtype_name((dtype_t)d), op_name((op_t)o));
            cr_assert_eq(atlas_serves(product, 902, COLLECTIVE_REDUCE_SCATTER_BLOCK, (dtype_t)d, (op_t)o), ops);
            cr_assert_eq(atlas_serves(product, 902, COLLECTIVE_REDUCE_SCATTER, (dtype_t)d, (op_t)o), vector,
                         "%s: %s %s", product->name, dtype_name((dtype_t)d), op_name((op_t)o));
        }
    }
}

Test(atlas_types, training_series)
{
    types_check(ATLAS_910, types_910);
}

Test(atlas_types, a2)
{
    types_check(ATLAS_A2, types_a2);
}

Test(atlas_types, a3)
{
    types_check(ATLAS_A3, types_a3);
}

Test(atlas_types, duo)
{
    types_check(ATLAS_310P, types_310p);
}

Test(atlas_types, ascend950)
{
    types_check(ATLAS_950, types_950);
}

/* What an older CANN lacks; 0 is a version that is not known. */
static const struct since_case {
    atlas_series_t series;
    unsigned cann;
    collective_kind_t kind;
    dtype_t dtype;
    bool serves;
} since_cases[] = {
    {ATLAS_910, 0, COLLECTIVE_ALLREDUCE, DTYPE_F32, true},
    {ATLAS_910, 0, COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_F32, true},
    {ATLAS_910, 700, COLLECTIVE_ALLREDUCE, DTYPE_I64, false},
    {ATLAS_910, 800, COLLECTIVE_ALLREDUCE, DTYPE_I64, true},
    {ATLAS_910, 902, COLLECTIVE_REDUCE_SCATTER, DTYPE_F32, false},
    {ATLAS_A2, 0, COLLECTIVE_ALLREDUCE, DTYPE_BF16, true},
    {ATLAS_A2, 0, COLLECTIVE_ALLREDUCE, DTYPE_I16, false},
    {ATLAS_A2, 700, COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_I64, false},
    {ATLAS_A2, 800, COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_I64, true},
    {ATLAS_A2, 800, COLLECTIVE_ALLREDUCE, DTYPE_I16, true},
    {ATLAS_A2, 800, COLLECTIVE_REDUCE_SCATTER, DTYPE_F32, false},
    {ATLAS_A2, 801, COLLECTIVE_REDUCE_SCATTER, DTYPE_F32, true},
    {ATLAS_A3, 800, COLLECTIVE_REDUCE_SCATTER, DTYPE_I64, false},
    {ATLAS_A3, 801, COLLECTIVE_REDUCE_SCATTER, DTYPE_I64, true},
    {ATLAS_310P, 801, COLLECTIVE_ALLREDUCE, DTYPE_F32, true},
    {ATLAS_310P, 801, COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_F32, false},
    {ATLAS_310P, 803, COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_F32, true},
};

Test(atlas_types, since_which_version)
{
    for (size_t c = 0; c < sizeof since_cases / sizeof since_cases[0]; c++) {
        const struct since_case *since = &since_cases[c];

        cr_assert_eq(atlas_serves(atlas_product(since->series), since->cann, since->kind, since->dtype, OP_SUM),
                     since->serves, "case %zu", c);
    }
}

Test(atlas_types, slow)
{
    for (int s = 0; s < ATLAS_SERIES_COUNT; s++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            cr_assert_eq(atlas_slow(atlas_product((atlas_series_t)s), (dtype_t)d), s == ATLAS_A2 && d == DTYPE_I64);
        }
    }
}

Test(atlas_types, processes_a_device)
{
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_910), 2502), 1);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_310P), 2502), 1);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_A2), 0), 1);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_A2), 2401), 1);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_A2), 2500), 8);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_A3), 2401), 1);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_A3), 2501), 6);
    cr_assert_eq(atlas_processes(atlas_product(ATLAS_950), 2500), 6);
}

Test(atlas_types, alignment)
{
    cr_assert_eq(atlas_buffer_alignment(DTYPE_I8), 1);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_I16), 2);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_F16), 2);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_BF16), 2);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_I32), 4);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_F32), 4);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_I64), 8);
    cr_assert_eq(atlas_buffer_alignment(DTYPE_F64), 8);
    cr_assert_eq(atlas_copy_alignment(0), 64);
    cr_assert_eq(atlas_copy_alignment(800), 64);
    cr_assert_eq(atlas_copy_alignment(803), 64);
    cr_assert_eq(atlas_copy_alignment(805), 1);
    cr_assert_eq(ATLAS_COUNT_MAX, UINT64_C(34359738367));
}

Test(atlas_types, file_that_is_needed)
{
    cr_assert_str_eq(atlas_product(ATLAS_950)->file, "/etc/hccl_rootInfo.json");
    cr_assert_null(atlas_product(ATLAS_910)->file);
    cr_assert_null(atlas_product(ATLAS_A2)->file);
}
