/* Tests of trace/joins/backward.c: inferred threads, repeated numbers, arrows. */
#include "trace/joins/internal.h"

#include "trace_builder.h"
#include "unit.h"
#include <stddef.h>

static pyro_joins join(pyro_trace *trace)
{
    pyro_joins joins;
    assert_int_equal(pyro_joins_make(&joins, trace, NULL, NULL), PYRO_OK);
    return joins;
}

static const char *layer_of(const pyro_joins *joins, uint32_t event)
{
    uint32_t call = joins->call[event];
    return call == PYRO_NO_LAYER ? "" : joins->layers[joins->calls[call].layer].path;
}

/* The last op to start with a number makes the node: integer ops before it make no node. */
static void the_last_op_makes_the_node(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 0);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Mask_0", 0, 10);
    build_op(trace, 0, "aten::arange", 2, 3, 7, 0);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Linear_0", 20, 10);
    build_op(trace, 0, "aten::linear", 21, 8, 7, 0);
    build_op(trace, 0, "aten::addmm", 22, 5, 7, 0);
    uint32_t backward = build_op(trace, 1, "AddmmBackward0", 50, 5, 7, 1);
    uint32_t lost = build_op(trace, 1, "MulBackward0", 60, 5, 99, 1);
    uint32_t behind = build_op(trace, 1, "torch::autograd::AccumulateGrad", 70, 5, 0, 0);
    pyro_joins joins = join(trace);
    assert_string_equal(layer_of(&joins, backward), "Linear_0");
    assert_string_equal(layer_of(&joins, lost), "");
    assert_int_equal(joins.phase[lost], PYRO_PHASE_BACKWARD);
    assert_string_equal(layer_of(&joins, behind), "");
    pyro_joins_free(&joins);
    built_free(trace);
}

static void numbers_repeat_from_step_to_step(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 0);
    uint32_t backward[2];
    for (int step = 0; step < 2; step++) {
        int64_t at = step * 1000;
        build_slice(trace, PYRO_EVENT_PYTHON, 0,
                    step ? "nn.Module: Linear_1" : "nn.Module: Linear_0", at, 100);
        build_op(trace, 0, "aten::addmm", at + 10, 10, 1, 0);
        backward[step] = build_op(trace, 1, "AddmmBackward0", at + 500, 5, 1, 1);
    }
    pyro_joins joins = join(trace);
    assert_string_equal(layer_of(&joins, backward[0]), "Linear_0");
    assert_string_equal(layer_of(&joins, backward[1]), "Linear_1");
    pyro_joins_free(&joins);
    built_free(trace);
}

/* Two threads run forwards with the same numbers: names distinguish the ids. */
static void threads_are_learned(void **state)
{
    (void)state;
    static const char *const forward[2][2] = {{"aten::addmm", "aten::relu"},
                                              {"aten::_log_softmax", "aten::mul"}};
    static const char *const backward[2][2] = {{"AddmmBackward0", "ReluBackward0"},
                                               {"LogSoftmaxBackward0", "MulBackward0"}};
    pyro_trace *trace = build_trace(3, 0);
    uint32_t joined[2][2];
    for (int thread = 0; thread < 2; thread++) {
        build_slice(trace, PYRO_EVENT_PYTHON, thread,
                    thread ? "nn.Module: Second_0" : "nn.Module: First_0", 0, 100);
        for (int i = 0; i < 2; i++) {
            build_op(trace, thread, forward[thread][i], 10 + 10 * i, 5, 1 + i, 0);
            joined[thread][i] = build_op(trace, 2, backward[thread][i], 200 + 20 * i + 50 * thread,
                                         5, 1 + i, thread ? 4 : 9);
        }
    }
    pyro_joins joins = join(trace);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(layer_of(&joins, joined[0][i]), "First_0");
        assert_string_equal(layer_of(&joins, joined[1][i]), "Second_0");
    }
    pyro_joins_free(&joins);
    built_free(trace);
}

/* No graph leaves its process: the same ids in another one are other threads. */
static void processes_do_not_mix(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(4, 0);
    uint32_t backward[2];
    trace->tracks[2].pid = trace->tracks[3].pid = 200;
    for (int process = 0; process < 2; process++) {
        build_slice(trace, PYRO_EVENT_PYTHON, process * 2,
                    process ? "nn.Module: B_0" : "nn.Module: A_0", 0, 100);
        build_op(trace, process * 2, "aten::addmm", 10, 5, 1, 0);
        backward[process] = build_op(trace, process * 2 + 1, "AddmmBackward0", 200, 5, 1, 1);
    }
    pyro_joins joins = join(trace);
    assert_string_equal(layer_of(&joins, backward[0]), "A_0");
    assert_string_equal(layer_of(&joins, backward[1]), "B_0");
    pyro_joins_free(&joins);
    built_free(trace);
}

static void arrows_serve_where_numbers_do_not(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(2, 0);
    build_slice(trace, PYRO_EVENT_PYTHON, 0, "nn.Module: Linear_0", 0, 100);
    build_op(trace, 0, "aten::addmm", 10, 5, 0, 0);
    uint32_t backward = build_op(trace, 1, "autograd::engine::evaluate_function: AddmmBackward0",
                                 200, 5, 0, 0);
    uint32_t dangling = build_op(trace, 1, "MulBackward0", 300, 5, 0, 0);
    build_flow(trace, 3, 0, 10, false);
    build_flow(trace, 3, 1, 200, true);
    build_flow(trace, 4, 1, 300, true);
    pyro_joins joins = join(trace);
    assert_string_equal(layer_of(&joins, backward), "Linear_0");
    assert_string_equal(layer_of(&joins, dangling), "");
    pyro_joins_free(&joins);
    built_free(trace);
}

/* An arrow from the future or from itself is ignored. */
static void arrows_do_not_point_back(void **state)
{
    (void)state;
    pyro_trace *trace = build_trace(1, 0);
    uint32_t backward = build_op(trace, 0, "MulBackward0", 200, 5, 0, 0);
    uint32_t earlier = build_op(trace, 0, "AddBackward0", 100, 5, 0, 0);
    build_flow(trace, 1, 0, 200, false);
    build_flow(trace, 1, 0, 200, true);
    build_flow(trace, 2, 0, 200, false);
    build_flow(trace, 2, 0, 100, true);
    pyro_joins joins = join(trace);
    assert_int_equal(joins.call[backward], PYRO_NO_LAYER);
    assert_int_equal(joins.call[earlier], PYRO_NO_LAYER);
    pyro_joins_free(&joins);
    built_free(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_last_op_makes_the_node),
    cmocka_unit_test(numbers_repeat_from_step_to_step),
    cmocka_unit_test(threads_are_learned),
    cmocka_unit_test(processes_do_not_mix),
    cmocka_unit_test(arrows_serve_where_numbers_do_not),
    cmocka_unit_test(arrows_do_not_point_back),
};

UNIT_TESTS(tests, NULL, NULL)
