/* Programs of models: writes through views, calls of one module, tied weights. */
#include "flow_maker.h"
#include "priced.h"
#include "unit.h"

static void expect(pyro_model *model, pyro_granularity granularity, const char *nodes,
                   const char *edges)
{
    pyro_cost *cost = price_full(model);
    pyro_program *program;
    assert_int_equal(pyro_program_of_model(&program, cost, NULL), PYRO_OK);
    pyro_cost_free(cost);
    pyro_model_close(model); /* the program does not need it any more */
    pyro_dataflow *graph = make_graph(program, granularity);
    expect_graph(graph, nodes, edges);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_a_write_through_a_view(void **state)
{
    (void)state;
    program p = {0};
    program_input(&p, "x", "4 8");
    program_tensor(&p, "mul", "4 8");
    program_tensor(&p, "view", "32");
    program_tensor(&p, "add_", "32");
    program_tensor(&p, "exp", "4 8");
    program_node(&p, "aten.mul.Tensor", "", "self=%x other=2", "%mul");
    program_node(&p, "aten.view.default", "", "self=%mul size=[32]", "%view");
    program_node(&p, "aten.add_.Tensor", "", "self=%view other=1", "%add_");
    program_node(&p, "aten.exp.default", "", "self=%mul", "%exp");
    expect(open_program(&p), PYRO_GRANULARITY_OP, "x mul view add_ exp",
           "x>mul mul>view view>add_ add_>exp");
}

static void test_numbers_are_no_nodes(void **state)
{
    (void)state;
    program p = {0};
    program_input(&p, "x", "s0@4 8");
    program_range(&p, "s0", 1, 100);
    program_number(&p, "sym", "s0@4");
    program_tensor(&p, "y", "s0@4 8");
    program_node(&p, "aten.sym_size.int", "", "self=%x dim=0", "@sym");
    program_node(&p, "aten.view.default", "", "self=%x size=[1,2]", "%y");
    expect(open_program(&p), PYRO_GRANULARITY_OP, "x view", "x>view");
}

static void test_calls_of_one_module(void **state)
{
    (void)state;
    program p = {0};
    program_input(&p, "x", "4");
    program_tensor(&p, "a", "4");
    program_tensor(&p, "b", "4");
    program_node(&p, "aten.relu.default", "act", "self=%x", "%a");
    program_node(&p, "aten.relu.default", "act@1", "self=%a", "%b");
    expect(open_program(&p), PYRO_GRANULARITY_LAYER, "x act act@1", "x>act act>act@1");
}

static void test_resnet18(void **state)
{
    (void)state;
    pyro_model *model;
    assert_int_equal(pyro_model_open(&model, "resnet18", NULL), PYRO_OK);
    pyro_cost *cost = price_full(model);
    pyro_program *program;
    assert_int_equal(pyro_program_of_model(&program, cost, NULL), PYRO_OK);
    for (int granularity = 0; granularity < PYRO_GRANULARITY_COUNT; granularity++) {
        pyro_dataflow *graph = make_graph(program, (pyro_granularity)granularity);
        const pyro_graph_totals *totals = pyro_dataflow_totals(graph);
        int64_t parameters = 0;
        assert_int_equal(totals->flops, pyro_cost_total(cost)->work.flops);
        assert_int_equal(totals->moved_bytes, pyro_cost_total(cost)->memory_bytes);
        assert_int_equal(totals->parameters, 11689512);
        for (size_t i = 0; i < graph->node_count; i++)
            parameters += graph->nodes[i].parameters;
        assert_int_equal(parameters, 11689512);
        for (size_t i = 0; i < graph->edge_count; i++)
            assert_true(graph->edges[i].from < graph->edges[i].to);
        pyro_dataflow_free(graph);
    }
    pyro_program_free(program);
    pyro_cost_free(cost);
    pyro_model_close(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_write_through_a_view),
    cmocka_unit_test(test_numbers_are_no_nodes),
    cmocka_unit_test(test_calls_of_one_module),
    cmocka_unit_test(test_resnet18),
};

UNIT_TESTS(tests, NULL, NULL)
