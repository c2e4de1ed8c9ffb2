/* Tests of analyze/host/recorded_call.c, over rows that an analysis may have. */
#include "trace/trace.h"
#include "unit.h"

#include <pyrometer/recommend.h>
#include <string.h>

static const pyro_op_row ops[] = {
    {.name = "aten::linear", .calls = 2, .host_self_ns = 100, .device_self_ns = 0},
    {.name = "aten::addmm", .calls = 2, .host_self_ns = 300, .device_self_ns = 900},
    {.name = "aten::relu", .calls = 1, .host_self_ns = 100, .device_self_ns = 100},
};
static const pyro_layer_row layers[] = {
    {.path = "", .parent = PYRO_NO_EVENT, .forward_host_ns = 1000},
    {.path = "fc", .parent = 0, .forward_host_ns = 800},
};
static const pyro_memory_point curve[] = {{0, 70, -1}, {1, 50, -1}, {2, 250, -1}};
static const pyro_memory_device memory[] = {
    {.device = "cpu", .peak_bytes = 40, .allocations = 3, .allocated_bytes = 90},
    {.device = "cuda:0", .peak_bytes = 250, .curve = curve, .curve_count = 3},
};

static const pyro_analysis analysis = {.ops = ops,
                                       .op_count = 3,
                                       .layers = layers,
                                       .layer_count = 2,
                                       .memory = memory,
                                       .memory_count = 2};

static void test_sums(void **state)
{
    (void)state;
    pyro_recorded_call call = pyro_analysis_recorded_call(&analysis, false);
    assert_int_equal(call.host_ns, 1000);
    assert_true(call.outside_share == 0.5);
    assert_int_equal(call.activation_bytes, 40);
    assert_int_equal(call.allocations, 3);
    assert_int_equal(call.allocated_bytes, 90);
    /* On a GPU the amount includes memory allocated before. */
    assert_int_equal(pyro_analysis_recorded_call(&analysis, true).activation_bytes, 200);
}

static void test_nothing_recorded(void **state)
{
    (void)state;
    pyro_analysis bare = {.ops = ops, .op_count = 3};
    pyro_recorded_call call = pyro_analysis_recorded_call(&bare, false);
    assert_int_equal(call.host_ns, 500);
    assert_true(call.outside_share == 0);
    assert_int_equal(call.activation_bytes, -1);
}

static void test_shares(void **state)
{
    (void)state;
    pyro_op_share shares[3];
    pyro_analysis_op_shares(&analysis, shares);
    assert_string_equal(shares[0].name, "aten::addmm");
    assert_true(shares[0].share == 0.6 && shares[0].calls == 2);
    assert_string_equal(shares[1].name, "aten::linear"); /* more calls than relu */
    pyro_analysis on_device = analysis;
    on_device.device_total_ns = 1000;
    pyro_analysis_op_shares(&on_device, shares);
    assert_true(shares[0].share == 0.9 && shares[2].share == 0);
    assert_string_equal(shares[1].name, "aten::relu");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums),
    cmocka_unit_test(test_nothing_recorded),
    cmocka_unit_test(test_shares),
};

UNIT_TESTS(tests, NULL, NULL)
