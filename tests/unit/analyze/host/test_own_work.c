/* Tests of analyze/host/own_work.c: FLOPs of an op over its own device time. */
#include "analyze_maker.h"
#include "unit.h"

#include <string.h>

#define PRODUCT "\"Input Dims\":[[4,5],[5,6]],\"Input type\":[\"double\",\"double\"]"
#define LINEAR "\"Input Dims\":[[4,5],[6,5],[]],\"Input type\":[\"double\",\"double\",\"\"]"
#define ATTENTION \
    "\"Input Dims\":[[1,2,8,4],[1,2,8,4],[1,2,8,4],[],[],[],[],[]]," \
    "\"Input type\":[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\",\"\"]"

static void launch(maker *maker, int64_t at, int64_t start, int64_t length, int correlation)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", correlation);
    maker_event(maker, "cuda_runtime", "cudaLaunchKernel", 100, 1, at, 1, args);
    snprintf(args, sizeof args, "\"correlation\":%d,\"device\":0,\"stream\":7", correlation);
    maker_event(maker, "kernel", "k", 0, 7, start, length, args);
}

static const pyro_op_row *find(const pyro_analysis *analysis, const char *name)
{
    for (size_t i = 0; i < analysis->op_count; i++)
        if (!strcmp(analysis->ops[i].name, name))
            return &analysis->ops[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* The product inside a linear layer has the FLOPs and the device time. */
static void test_inner_product(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_event(&maker, "cpu_op", "aten::linear", 100, 1, 0, 100, LINEAR);
    maker_event(&maker, "cpu_op", "aten::matmul", 100, 1, 10, 80, PRODUCT);
    maker_event(&maker, "cpu_op", "aten::mm", 100, 1, 20, 50, PRODUCT);
    launch(&maker, 30, 200, 10, 1);
    /* the same product alone */
    maker_event(&maker, "cpu_op", "aten::mm", 100, 1, 300, 50, PRODUCT);
    launch(&maker, 310, 400, 30, 2);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_op_row *mm = find(analysis, "aten::mm");
    assert_int_equal(mm->flops, 480);
    assert_true(mm->flops_per_s > 480 / 40e-9 * 0.999 && mm->flops_per_s < 480 / 40e-9 * 1.001);
    assert_string_equal(mm->dtype, "float64");
    assert_int_equal(find(analysis, "aten::linear")->flops, 0);
    assert_true(find(analysis, "aten::linear")->flops_per_s < 0);
    assert_int_equal(analysis->ops_by_shape[0].flops, 480);
    maker_end(&maker);
}

/* An op inside without a rule leaves the FLOPs outside; its time counts there. */
static void test_inner_op_without_a_rule(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_event(&maker, "cpu_op", "aten::scaled_dot_product_attention", 100, 1, 0, 100, ATTENTION);
    maker_event(&maker, "cpu_op", "my::fused", 100, 1, 10, 80, "\"Input Dims\":[]");
    launch(&maker, 30, 200, 10, 1);
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    const pyro_op_row *attention = find(analysis, "aten::scaled_dot_product_attention");
    assert_true(attention->flops > 0 && attention->device_self_ns == 0);
    double wanted = (double)attention->flops / 10e-9;
    assert_true(attention->flops_per_s > wanted * 0.999 && attention->flops_per_s < wanted * 1.001);
    assert_int_equal(find(analysis, "my::fused")->flops, -1);
    maker_end(&maker);
}

/* Ops inside never have more than the op around them. */
static void test_totals_stay(void **state)
{
    (void)state;
    maker maker;
    maker_begin(&maker);
    maker_event(&maker, "cpu_op", "aten::mm", 100, 1, 0, 100, PRODUCT);
    maker_event(&maker, "cpu_op", "aten::mm", 100, 1, 10, 20, PRODUCT);
    maker_event(&maker, "cpu_op", "aten::bmm", 100, 1, 40, 20,
                "\"Input Dims\":[[1,4,5],[1,5,6]],\"Input type\":[\"float\",\"float\"]");
    const pyro_analysis *analysis = maker_analyze(&maker, NULL);
    assert_int_equal(find(analysis, "aten::mm")->flops, 240);
    assert_int_equal(find(analysis, "aten::bmm")->flops, 0);
    maker_end(&maker);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_inner_product),
    cmocka_unit_test(test_inner_op_without_a_rule),
    cmocka_unit_test(test_totals_stay),
};

UNIT_TESTS(tests, NULL, NULL)
