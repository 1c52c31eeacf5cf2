/* SPDX-License-Identifier: BSD-3-Clause */
/* The costs of the model: published figures, the vendor's formulas, and that more never costs less. */
#include "tests/unit/model_samples.h"

#include <criterion/criterion.h>
#include <math.h>

/* Within so many parts of a hundred, and 100 ns of rounding. */
static void near(double got, double wanted, double percent, const char *what)
{
    cr_assert(fabs(got - wanted) <= wanted * percent / 100 + 100, "%s: %g ns, wanted %g", what, got, wanted);
}

Test(model_costs, published_copies)
{
    const uint64_t bytes = UINT64_C(2) << 30;

    near((double)model_copy_ns(model_product(ATLAS_910), MODEL_TO_DEVICE, bytes), 85.9e6, 2, "2 GiB to the device");
    near((double)model_copy_ns(model_product(ATLAS_910), MODEL_TO_HOST, bytes), 105.9e6, 2, "2 GiB to the host");
    for (int p = 0; p < 3; p++) {
        const model_product_t *product = model_product(model_series[p]);
        const uint64_t both =
            model_copy_ns(product, MODEL_TO_DEVICE, 1000000) + model_copy_ns(product, MODEL_TO_HOST, 1000000);
        near((double)(both - (uint64_t)2 * product->copy_launch), 0.09e6, 1, "1 MB there and back");
    }
}

Test(model_costs, published_collectives)
{
    const model_places_t pair = {2, 1, 2, 1};
    const model_places_t two_servers = {16, 2, 16, 2};
    const uint64_t bytes = UINT64_C(1) << 30;

    /* A pair exchanges half the vector: 37.8 GB/s. */
    near((double)model_collective_ns(model_product(ATLAS_910), &pair, COLLECTIVE_REDUCE_SCATTER_BLOCK, bytes),
         (double)bytes / 2 / 37.8, 1, "a pair of the 910");
    /* 16 x 910B3 on two servers: 48.59 GB/s at 32 MB was seen, so the links give that at least; not three times that.
     */
    const double seen = 32e6 / 48.59;
    const double got =
        (double)model_collective_ns(model_product(ATLAS_A2), &two_servers, COLLECTIVE_ALLREDUCE, 32000000);
    cr_assert(got <= seen && got >= seen / 3, "allreduce of 16 A2: %g ns, seen %g", got, seen);
    /* The A3's steps: 0.5 us inside, 5.5 us between. */
    const model_product_t *a3 = model_product(ATLAS_A3);
    cr_assert_eq(model_collective_ns(a3, &two_servers, COLLECTIVE_REDUCE_SCATTER_BLOCK, 0), a3->launch + 6000);
}

/* D = steps * alpha + bytes * beta of the vendor's guide, in floating point. */
static double formula_half_inside(const model_product_t *product, double p, double bytes)
{
    const double speed = product->series == ATLAS_910 && p > 4 ? 20.0 : product->inside / 1000.0;

    if (p < 2) {
        return 0;
    }
    return product->mesh ? product->inside_step + bytes / p / speed
                         : (p - 1) * product->inside_step + (p - 1) / p * bytes / speed;
}

static double formula_half_between(const model_product_t *product, double s, double bytes)
{
    return ceil(log2(s)) * product->between_step + (s - 1) / s * bytes / (product->between / 1000.0);
}

Test(model_costs, vendors_formulas)
{
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        const model_product_t *product = model_product(model_series[m]);
        for (int l = 0; l < MODEL_LAYOUT_COUNT; l++) {
            const model_places_t *places = &model_layouts[l];
            const double s = places->servers;
            const double p = ceil(places->owners / s);
            for (double bytes = 4096; bytes < 1e12; bytes *= 7) {
                const double allreduce =
                    2 * (formula_half_inside(product, p, bytes) + formula_half_between(product, s, bytes / p));
                const double scatter =
                    formula_half_between(product, s, bytes) + formula_half_inside(product, p, bytes / s);
                near((double)model_collective_ns(product, places, COLLECTIVE_ALLREDUCE, (uint64_t)bytes),
                     product->launch + allreduce, 0.5, "allreduce");
                near((double)model_collective_ns(product, places, COLLECTIVE_REDUCE_SCATTER_BLOCK, (uint64_t)bytes),
                     product->launch + scatter, 0.5, "reduce-scatter");
            }
        }
    }
}

Test(model_costs, encodings_cost_what_they_move)
{
    const encoding_t *copy = model_encoding(ATLAS_A2, COLLECTIVE_ALLREDUCE, DTYPE_F32, OP_SUM);
    const encoding_t *exact = model_encoding(ATLAS_A2, COLLECTIVE_ALLREDUCE, DTYPE_F64, OP_SUM);

    cr_assert(encoding_identity(copy));
    cr_assert_eq(exact->rounds, 2);
    near((double)model_encode_ns(copy, 0, 1 << 20), (4 << 20) / 8.0, 0.1, "a copy");
    near((double)model_encode_ns(exact, 0, 1 << 20) + (double)model_encode_ns(exact, 1, 1 << 20),
         (8 << 20) * (1 / 6.5 + 1 / 4.8), 0.1, "two rounds of float64");
    /* Every codec has a speed, and its class is not the next one's. */
    const encoding_t *order = model_encoding(ATLAS_A2, COLLECTIVE_ALLREDUCE, DTYPE_F64, OP_MAX);
    near((double)model_encode_ns(order, 0, 1 << 20), (8 << 20) / 5.5, 0.1, "order of float64");
    const encoding_t *widen = model_encoding(ATLAS_A2, COLLECTIVE_ALLREDUCE, DTYPE_BF16, OP_SUM);
    near((double)model_decode_ns(widen, 0, 1 << 20), (2 << 20) / 3.5, 0.1, "bfloat16 as float32");
    const encoding_t *flip = model_encoding(ATLAS_A2, COLLECTIVE_ALLREDUCE, DTYPE_U64, OP_MIN);
    near((double)model_decode_ns(flip, 0, 1 << 20), (8 << 20) / 6.0, 0.1, "unsigned");
}

Test(model_costs, host_cpus)
{
    const model_places_t pair = {2, 1, 2, 1};
    const model_places_t apart = {2, 2, 2, 2};

    near((double)model_host_ns(&pair, COLLECTIVE_ALLREDUCE, 64 << 20), 10.9e6, 1, "64 MiB on two ranks");
    near((double)model_host_ns(&apart, COLLECTIVE_ALLREDUCE, 64 << 20), (64 << 20) / 3.125 + 10000, 1, "over 25 Gb/s");
    near((double)model_host_ns(&pair, COLLECTIVE_REDUCE_SCATTER_BLOCK, 64 << 20), 10.9e6 / 2, 1, "half of it");
}

static uint64_t pipeline_ns(atlas_series_t series, const model_places_t *places, collective_kind_t function,
                            const encoding_t *encoding, uint64_t count)
{
    model_pipeline_t pipeline;
    const model_call_t call = {.product = model_product(series),
                               .places = *places,
                               .encoding = encoding,
                               .function = function,
                               .total = count,
                               .count = count,
                               .result = function == COLLECTIVE_ALLREDUCE ? count : count / places->owners + 1,
                               .longest = count / places->owners + 1};
    model_pipeline(&call, 1 << 20, &pipeline);
    return pipeline.ns;
}

Test(model_costs, more_never_costs_less)
{
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        const model_product_t *product = model_product(model_series[m]);
        const encoding_t *encoding = model_encoding(model_series[m], COLLECTIVE_ALLREDUCE, DTYPE_F64, OP_SUM);
        encoding =
            encoding != NULL ? encoding : model_encoding(model_series[m], COLLECTIVE_ALLREDUCE, DTYPE_F32, OP_SUM);
        for (int l = 0; l < MODEL_LAYOUT_COUNT; l++) {
            const model_places_t *places = &model_layouts[l];
            uint64_t last[9] = {0};
            for (uint64_t bytes = 8; bytes < UINT64_C(1) << 62; bytes += bytes / 5 + 1) {
                uint64_t now[9] = {model_copy_ns(product, MODEL_TO_DEVICE, bytes),
                                   model_copy_ns(product, MODEL_TO_HOST, bytes),
                                   model_copy_ns(product, MODEL_ON_DEVICE, bytes),
                                   model_collective_ns(product, places, COLLECTIVE_ALLREDUCE, bytes),
                                   model_collective_ns(product, places, COLLECTIVE_REDUCE_SCATTER, bytes),
                                   model_host_ns(places, COLLECTIVE_ALLREDUCE, bytes),
                                   model_host_ns(places, COLLECTIVE_REDUCE_SCATTER_BLOCK, bytes)};
                if (bytes < UINT64_C(1) << 34) {
                    now[7] = pipeline_ns(model_series[m], places, COLLECTIVE_ALLREDUCE, encoding, bytes);
                    now[8] = pipeline_ns(model_series[m], places, COLLECTIVE_REDUCE_SCATTER_BLOCK, encoding, bytes);
                } else {
                    now[7] = last[7];
                    now[8] = last[8];
                }
                for (int c = 0; c < 9; c++) {
                    cr_assert(now[c] >= last[c], "%s, layout %d, cost %d at %zu: %zu after %zu",
                              atlas_product(model_series[m])->name, l, c, (size_t)bytes, (size_t)now[c],
                              (size_t)last[c]);
                    last[c] = now[c];
                }
            }
        }
    }
}
