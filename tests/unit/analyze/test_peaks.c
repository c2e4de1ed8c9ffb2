/* Tests of analyze/peaks.c: rates of ops and layers, and their shares of measured peaks. */
#include "analyze_maker.h"
#include "unit.h"

#include <math.h>

#define PRODUCT \
    "\"Input Dims\":[[1024,1024],[1024,1024]],\"Input type\":[\"%s\",\"%s\"]," \
    "\"Concrete Inputs\":[\"\",\"\"]"
#define FLOPS 2147483648.0

static void add_product(maker *maker, const char *dtype, const char *kernel, int64_t start_ns)
{
    char args[200];
    snprintf(args, sizeof args, PRODUCT, dtype, dtype);
    maker_event(maker, "cpu_op", "aten::mm", 100, 1, start_ns, 1000, args);
    maker_kernel(maker, kernel, start_ns + 2000, 10000, start_ns + 100);
}

static pyro_peaks measured(void)
{
    pyro_peaks peaks = {.device_count = 1, .measured = "2026-11-17"};
    snprintf(peaks.devices[0].name, PYRO_PEAKS_NAME, "NVIDIA H200");
    peaks.devices[0].rates = (pyro_rates){.bfloat16_flops_per_s = 700e12,
                                          .tf32_flops_per_s = 400e12,
                                          .float32_flops_per_s = 50e12,
                                          .bytes_per_s = 3e12,
                                          .elementwise_bytes_per_s = 4e12};
    return peaks;
}

/* Two products take 20 us: at the peaks of their types they would take less. */
static void test_shares(void **state)
{
    pyro_peaks peaks = measured();
    pyro_analysis_options options = {.step = -1, .peaks = &peaks};
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_product(&maker, "c10::BFloat16", "sm90_xmma_gemm_bf16bf16", 0);
    add_product(&maker, "float", "ampere_sgemm_128x128_tn", 20000);
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    const pyro_op_row *row = &analysis->ops[0];
    assert_string_equal(analysis->peaks_from, "measured");
    assert_string_equal(analysis->peaks_measured, "2026-11-17");
    assert_string_equal(row->name, "aten::mm");
    assert_float_equal(row->flops_per_s, 2 * FLOPS / 20e-6, 1e6);
    assert_float_equal(row->peak_share, (FLOPS / 700e12 + FLOPS / 50e12) / 20e-6, 1e-9);
    assert_float_equal(row->bytes_per_s, (6 + 12) * 1048576 / 20e-6, 1e6);
    assert_float_equal(row->bandwidth_share, row->bytes_per_s / 4e12, 1e-9);
    for (size_t i = 0; i < analysis->op_by_shape_count; i++)
        assert_true(analysis->ops_by_shape[i].peak_share > 0);
    maker_end(&maker);
}

/* float32 is compared with TF32 where the program uses it. */
static void test_tf32(void **state)
{
    pyro_peaks peaks = measured();
    pyro_analysis_options options = {.step = -1, .peaks = &peaks};
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_product(&maker, "float", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn", 0);
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    assert_float_equal(analysis->ops[0].peak_share, FLOPS / 400e12 / 10e-6, 1e-9);
    maker_end(&maker);
}

static void test_sources(void **state)
{
    pyro_peaks peaks = measured();
    pyro_analysis_options options = {.step = -1, .peaks = &peaks};
    maker maker;
    (void)state;
    maker_begin(&maker);
    add_product(&maker, "c10::BFloat16", "sm90_xmma_gemm_bf16bf16", 0);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_string_equal(analysis->peaks_from, "data sheet");
    assert_float_equal(analysis->ops[0].peak_share, FLOPS / 989.5e12 / 10e-6, 1e-9);
    assert_float_equal(analysis->ops[0].bandwidth_share, analysis->ops[0].bytes_per_s / 4.8e12,
                       1e-9);
    peaks.devices[0].rates.bfloat16_flops_per_s = 0; /* measured, but not this type */
    analysis = maker_analyze(&maker, &options);
    assert_true(analysis->ops[0].peak_share == -1 && analysis->ops[0].bandwidth_share > 0);
    maker_end(&maker);
}

/* The host's rates, also those of an old file. */
static void test_host(void **state)
{
    pyro_peaks peaks = {.host = {.float32_flops_per_s = 4e11, .bytes_per_s = 2e10}};
    pyro_analysis_options options = {.step = -1, .peaks = &peaks};
    char args[200];
    maker maker;
    (void)state;
    maker_begin(&maker);
    snprintf(args, sizeof args, PRODUCT, "float", "float");
    maker_event(&maker, "cpu_op", "aten::mm", 100, 1, 0, 20000000, args);
    const pyro_analysis *analysis = maker_analyze(&maker, &options);
    assert_string_equal(analysis->peaks_from, "measured");
    assert_float_equal(analysis->ops[0].peak_share, FLOPS / 4e11 / 20e-3, 1e-9);
    assert_float_equal(analysis->ops[0].bandwidth_share, 12 * 1048576 / 20e-3 / 2e10, 1e-9);
    analysis = maker_analyze(&maker, NULL);
    assert_string_equal(analysis->peaks_from, "");
    assert_true(analysis->ops[0].peak_share == -1 && analysis->ops[0].bytes_per_s > 0);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shares),
    cmocka_unit_test(test_tf32),
    cmocka_unit_test(test_sources),
    cmocka_unit_test(test_host),
};

UNIT_TESTS(tests, NULL, NULL)
