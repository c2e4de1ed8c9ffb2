/* Tests of analyze/host/layer_groups.c, over rows that an analysis may have. */
#include "trace/trace.h"
#include "unit.h"

#include <pyrometer/recommend.h>

#include <math.h>

enum { COUNT = 5 };

static const pyro_layer_row layers[COUNT] = {
    {.path = "",
     .class_name = "Net",
     .parent = PYRO_NO_EVENT,
     .calls = 1,
     .forward_host_ns = 1000,
     .forward_host_self_ns = 0,
     .forward_device_ns = 50},
    {.path = "block.self_attn",
     .class_name = "Block",
     .parent = 0,
     .calls = 2,
     .forward_host_ns = 600,
     .forward_host_self_ns = 200},
    {.path = "block.self_attn.out",
     .class_name = "Linear",
     .parent = 1,
     .calls = 2,
     .forward_host_ns = 400,
     .forward_host_self_ns = 400},
    {.path = "ln_f",
     .class_name = "LayerNorm",
     .parent = 0,
     .calls = 1,
     .forward_host_ns = 400,
     .forward_host_self_ns = 400,
     .forward_device_self_ns = 50},
    {.path = "drop", .class_name = "Identity", .parent = 0},
};
static const pyro_analysis analysis = {.layers = layers, .layer_count = COUNT};

static void test_names(void **state)
{
    size_t found[COUNT];

    (void)state;
    assert_int_equal(pyro_analysis_layers_named(&analysis, "Attention", found), 2);
    assert_int_equal(found[0], 1);
    assert_int_equal(found[1], 2);
    assert_int_equal(pyro_analysis_layers_named(&analysis, "norm", found), 1);
    assert_int_equal(found[0], 3);
    assert_int_equal(pyro_analysis_layers_named(&analysis, "LINEAR", found), 1);
    assert_int_equal(found[0], 2);
    assert_int_equal(pyro_analysis_layers_named(&analysis, "embedding", found), 0);
    assert_int_equal(pyro_analysis_layers_named(&analysis, "conv", found), 0);
}

static void test_layers_inside_others_are_not_added_again(void **state)
{
    static const size_t both[] = {1, 2}, apart[] = {2, 3};

    (void)state;
    pyro_layer_sum sum = pyro_analysis_sum_layers(&analysis, both, 2);
    assert_int_equal(sum.calls, 2);
    assert_int_equal(sum.forward_ns, 600);
    assert_true(sum.share == 0.6);
    assert_false(sum.on_device);
    sum = pyro_analysis_sum_layers(&analysis, apart, 2);
    assert_int_equal(sum.calls, 3);
    assert_int_equal(sum.forward_ns, 800);
    sum = pyro_analysis_sum_layers(&analysis, NULL, 0);
    assert_int_equal(sum.calls, 0);
    assert_true(sum.share == 0);
}

static void test_the_device_counts_if_it_worked(void **state)
{
    static const size_t root[] = {0};
    pyro_analysis on_device = analysis, empty = {0};
    pyro_layer_share shares[COUNT];

    (void)state;
    on_device.device_total_ns = 50;
    pyro_layer_sum sum = pyro_analysis_sum_layers(&on_device, root, 1);
    assert_int_equal(sum.forward_ns, 50);
    assert_true(sum.on_device && sum.share == 1);
    assert_int_equal(pyro_analysis_layer_shares(&on_device, shares), 3);
    assert_int_equal(shares[0].layer, 3);
    assert_true(shares[0].share == 1);
    assert_true(isnan(pyro_analysis_sum_layers(&empty, NULL, 0).share));
}

static void test_shares(void **state)
{
    pyro_layer_share shares[COUNT];

    (void)state;
    /* The root has no own time; the layer without time contains no other. */
    assert_int_equal(pyro_analysis_layer_shares(&analysis, shares), 4);
    assert_int_equal(shares[0].layer, 2);
    assert_int_equal(shares[0].own_ns, 400);
    assert_true(shares[0].share == 0.4);
    assert_int_equal(shares[1].layer, 3);
    assert_int_equal(shares[2].layer, 1);
    assert_int_equal(shares[3].layer, 4);
    assert_true(shares[3].share == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_layers_inside_others_are_not_added_again),
    cmocka_unit_test(test_the_device_counts_if_it_worked),
    cmocka_unit_test(test_shares),
};

UNIT_TESTS(tests, NULL, NULL)
