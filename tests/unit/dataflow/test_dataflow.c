/* Tests of graphs: edges through ops between nodes, amounts, names, failing allocations. */
#include "fail_alloc.h"
#include "flow_maker.h"
#include "unit.h"

/* x -> a -> (add with x, view) -> b; a is used again by b; the weight of both is one. */
static pyro_program *residual(void)
{
    pyro_program *program = make_program();
    uint32_t x = make_input(program, "x", 100), weight = make_weight(program, "w", 40);
    uint32_t a = make_step(program, make_call(program, 0, "a", "Linear"), "aten.linear.default", 80,
                           10, x, weight, NO_MORE);
    uint32_t sum = make_step(program, 0, "aten::add", 80, 1, a, x, NO_MORE);
    uint32_t view = make_step(program, 0, "aten::view", 80, 0, sum, NO_MORE);
    program->values[view].memory = program->values[sum].memory;
    make_step(program, make_call(program, 0, "b", "Linear"), "aten.linear.default", 60, 10, view, a,
              weight, NO_MORE);
    return program;
}

static void test_modules_look_through_operators(void **state)
{
    (void)state;
    pyro_program *program = residual();
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_MODULE);
    expect_graph(graph, "x a b", "x>a x>b a>b");
    /* a passes b its own result, and its part of the view. */
    assert_int_equal(graph->edges[2].tensor_count, 2);
    assert_int_equal(graph->edges[2].bytes, 160);
    assert_int_equal(graph->totals.flops, 21);
    assert_int_equal(graph->nodes[1].flops, 10);
    pyro_dataflow_free(graph);
    graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    expect_graph(graph, "x a add view b", "x>a x>add a>add add>view a>b view>b");
    assert_string_equal(graph->nodes[1].type, "Linear");
    assert_string_equal(graph->nodes[2].type, "aten.add");
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_shared_weights_count_once(void **state)
{
    (void)state;
    pyro_program *program = residual();
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    assert_int_equal(graph->nodes[1].parameters, 10);
    assert_int_equal(graph->nodes[1].parameter_bytes, 40);
    assert_int_equal(graph->nodes[4].parameters, 0);
    assert_int_equal(graph->totals.parameters, 10);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_outputs_share_memory(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    uint32_t x = make_input(program, "x", 100);
    uint32_t call = make_call(program, 0, "split", "Split");
    uint32_t whole = make_step(program, call, "aten::mul", 90, 1, x, NO_MORE), parts[3];
    for (int i = 0; i < 3; i++) {
        parts[i] = make_step(program, call, "aten::chunk", 30, 0, whole, NO_MORE);
        program->values[parts[i]].memory = program->values[whole].memory;
    }
    uint32_t last = make_call(program, 0, "join", "Join");
    make_step(program, last, "aten::cat", 90, 0, parts[0], parts[1], whole, NO_MORE);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    /* Two used parts, the unused one and the whole are all of the 90 bytes, and no more. */
    assert_int_equal(graph->nodes[1].output_bytes, 90);
    assert_int_equal(graph->nodes[2].output_bytes, 90);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_names_are_told_apart(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    uint32_t value = make_input(program, "", 4);
    for (int i = 0; i < 3; i++)
        value = make_step(program, make_call(program, 0, "act", "ReLU"), "aten::relu", 4, 1, value,
                          NO_MORE);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    expect_graph(graph, "input act act@1 act@2", "input>act act>act@1 act@1>act@2");
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_times(void **state)
{
    (void)state;
    pyro_program *program = residual();
    program->passes = 3;
    for (int64_t i = 1; i <= 3; i++) {
        assert_true(pyro_samples_add(&program->calls[0].time, 100 * i));
        assert_true(pyro_samples_add(&program->calls[1].time, 10 * i));
        assert_true(pyro_samples_add(&program->calls[2].time, 30 * i));
    }
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_MODULE);
    assert_int_equal(graph->nodes[1].passes, 3);
    assert_int_equal(graph->nodes[1].median_ns, 20);
    assert_int_equal(graph->totals.pass_median_ns, 200);
    assert_int_equal(graph->totals.node_total_ns, 80);
    assert_int_equal(graph->totals.slowest, 2);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    pyro_program *program = residual();
    pyro_program_finish(program);
    long until = 0;
    for (bool done = false; !done; until++) {
        pyro_dataflow_options options = {PYRO_GRANULARITY_MODULE, PYRO_LEVEL_HIGH};
        pyro_dataflow *graph = NULL;
        pyro_cuts cuts = {0};
        fail_alloc_after(until);
        int status = pyro_dataflow_build(&graph, program, &options, NULL);
        if (status == PYRO_OK)
            status = pyro_cuts_find(&cuts, graph, 2, 0, NULL);
        done = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_int_equal(status, done ? PYRO_OK : PYRO_ERROR_MEMORY);
        pyro_cuts_free(&cuts);
        pyro_dataflow_free(graph);
    }
    assert_true(until > 20);
    pyro_program_free(program);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_modules_look_through_operators),
    cmocka_unit_test(test_shared_weights_count_once),
    cmocka_unit_test(test_outputs_share_memory),
    cmocka_unit_test(test_names_are_told_apart),
    cmocka_unit_test(test_times),
    cmocka_unit_test(test_memory_runs_out),
};

UNIT_TESTS(tests, NULL, NULL)
