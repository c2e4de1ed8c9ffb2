/* Tests of pictures: equal blocks are drawn once, groups are modules, large ones are rejected. */
#include "dataflow/picture.h"
#include "fail_alloc.h"
#include "flow_maker.h"
#include "unit.h"
#include <pyrometer/report.h>
#include <stdio.h>

static const char *text_of(pyro_program *program, const char *format, int number, const char *rest)
{
    char text[100];
    snprintf(text, sizeof text, format, number, rest);
    return pyro_program_text(program, text);
}

/* An embedding, equal blocks of two layers and a sum, with some that differ, and a head. */
static pyro_program *blocks(const char *format, int count, int odd)
{
    pyro_program *program = make_program();
    uint32_t x = make_input(program, "x", 16), weight = make_weight(program, "w", 64);
    x = make_step(program, make_call(program, 0, "embed", "Embedding"), "aten::embedding", 16, 1, x,
                  NO_MORE);
    for (int i = 0; i < count; i++) {
        uint32_t block = make_call(program, 0, text_of(program, format, i, ""), "Block"), y;
        int64_t flops = i == odd ? 7 : 100;
        y = make_step(program,
                      make_call(program, block, text_of(program, format, i, ".up"), "Linear"),
                      "aten::linear", 32, flops, x, weight, NO_MORE);
        y = make_step(program,
                      make_call(program, block, text_of(program, format, i, ".down"), "Linear"),
                      "aten::linear", 16, flops, y, NO_MORE);
        x = make_step(program, block, "aten::add", 16, 1, x, y, NO_MORE);
    }
    make_step(program, make_call(program, 0, "head", "Linear"), "aten::linear", 8, 10, x, NO_MORE);
    return program;
}

static pyro_picture picture_of(pyro_program *program, pyro_dataflow **graph, int64_t depth)
{
    pyro_picture picture;
    *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    assert_true(pyro_picture_make(&picture, *graph, depth));
    return picture;
}

static void test_equal_blocks_are_drawn_once(void **state)
{
    (void)state;
    static const char *const formats[] = {"layers.%d%s", "encoder.layer_%d%s"};
    for (size_t f = 0; f < 2; f++) {
        pyro_program *program = blocks(formats[f], 32, -1);
        pyro_dataflow *graph;
        pyro_picture picture = picture_of(program, &graph, 0);
        assert_int_equal(graph->node_count, 3 + 32 * 3);
        /* The first block uses the weight first, and is drawn separately. */
        assert_int_equal(picture.node_count, 3 + 2 * 3);
        assert_int_equal(picture.group_count, 2);
        assert_int_equal(picture.groups[1].times, 31);
        assert_string_equal(picture.groups[1].last_path, graph->nodes[97].path);
        assert_int_equal(picture.groups[1].cost, 31 * 201);
        assert_int_equal(picture.total, 1 + 32 * 201 + 10);
        size_t again = 0;
        for (size_t i = 0; i < picture.edge_count; i++)
            again += picture.edges[i].is_again;
        assert_int_equal(again, 1); /* to the layer of the next block; the sum is the same node */
        pyro_picture_free(&picture);
        pyro_dataflow_free(graph);
        pyro_program_free(program);
    }
}

static void test_what_differs_is_drawn(void **state)
{
    (void)state;
    pyro_program *program = blocks("layers.%d%s", 10, 5);
    pyro_dataflow *graph;
    pyro_picture picture = picture_of(program, &graph, 0);
    assert_int_equal(picture.group_count, 4); /* the first, 1 to 4, 5, and 6 to 9 */
    assert_int_equal(picture.groups[1].times, 4);
    assert_int_equal(picture.groups[2].times, 1);
    assert_int_equal(picture.groups[3].times, 4);
    pyro_picture_free(&picture);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_depth_opens_blocks(void **state)
{
    (void)state;
    pyro_program *program = blocks("layers.%d%s", 32, -1);
    pyro_dataflow *graph;
    for (int64_t depth = 0; depth < 4; depth++) {
        pyro_picture picture = picture_of(program, &graph, depth);
        assert_int_equal(picture.node_count, depth < 2 ? 9 : graph->node_count);
        assert_int_equal(picture.group_count, depth < 2 ? 2 : 32);
        assert_int_equal(picture.edge_count, depth < 2 ? picture.edge_count : graph->edge_count);
        pyro_picture_free(&picture);
        pyro_dataflow_free(graph);
    }
    pyro_program_free(program);
}

/* Two alternating kinds of blocks are one run; attributes with numbers are no repetition. */
static void test_blocks_that_take_turns(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    pyro_dataflow *graph;
    uint32_t x = make_input(program, "x", 16);
    for (int i = 0; i < 12; i++) {
        const char *class_name = i % 2 ? "Sparse" : "Dense";
        x = make_step(program,
                      make_call(program, 0, text_of(program, "layers.%d%s", i, ""), class_name),
                      "aten::linear", 16, 10 + i % 2, x, NO_MORE);
    }
    for (int i = 1; i < 3; i++)
        x = make_step(program, make_call(program, 0, text_of(program, "conv%d%s", i, ""), "Conv2d"),
                      "aten::conv2d", 16, 10, x, NO_MORE);
    pyro_picture picture = picture_of(program, &graph, 0);
    assert_int_equal(picture.node_count, 1 + 2 + 2);
    assert_int_equal(picture.group_count, 1);
    assert_int_equal(picture.groups[0].times, 6);
    assert_string_equal(picture.groups[0].path, "layers.0");
    assert_string_equal(picture.groups[0].last_path, "layers.11");
    pyro_picture_free(&picture);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_a_module_that_is_called_again(void **state)
{
    (void)state;
    pyro_program *program = make_program();
    pyro_dataflow *graph;
    uint32_t x = make_input(program, "x", 16), weight = make_weight(program, "w", 64);
    for (int i = 0; i < 12; i++)
        x = make_step(program, make_call(program, 0, "shared", "Block"), "aten::linear", 16, 10, x,
                      weight, NO_MORE);
    pyro_picture picture = picture_of(program, &graph, 0);
    assert_int_equal(picture.node_count, 2);
    assert_int_equal(picture.nodes[1].times, 12);
    pyro_picture_free(&picture);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_the_text(void **state)
{
    (void)state;
    pyro_program *program = blocks("layers.%d%s", 400, -1);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    pyro_graph_report report = {.format = PYRO_GRAPH_DOT, .for_picture = true};
    pyro_error error;
    char *text;
    assert_int_equal(pyro_report_graph(&text, NULL, graph, &report, NULL), PYRO_OK);
    assert_non_null(strstr(text, "label=\"layers.1 ... layers.399 (x399)\\nBlock"));
    assert_non_null(strstr(text, "fillcolor=\"#ee7b30\"")); /* half of the FLOPs, nearly */
    assert_non_null(strstr(text, "constraint=false"));
    pyro_free(text);
    report.depth = 2;
    pyro_error_clear(&error);
    assert_int_equal(pyro_report_graph(&text, NULL, graph, &report, &error), PYRO_ERROR_LIMIT);
    assert_non_null(strstr(error.message, "1203 nodes"));
    assert_non_null(strstr(error.message, "coarser granularity"));
    report.for_picture = false; /* for other programs */
    assert_int_equal(pyro_report_graph(&text, NULL, graph, &report, NULL), PYRO_OK);
    pyro_free(text);
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    pyro_program *program = blocks("layers.%d%s", 4, -1);
    pyro_dataflow *graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    bool done = false;
    for (long until = 0; !done; until++) {
        pyro_picture picture;
        fail_alloc_after(until);
        bool good = pyro_picture_make(&picture, graph, 0);
        done = fail_alloc_failures() == 0;
        fail_alloc_after(-1);
        assert_true(good == done);
        pyro_picture_free(&picture);
    }
    pyro_dataflow_free(graph);
    pyro_program_free(program);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_equal_blocks_are_drawn_once),
    cmocka_unit_test(test_what_differs_is_drawn),
    cmocka_unit_test(test_depth_opens_blocks),
    cmocka_unit_test(test_blocks_that_take_turns),
    cmocka_unit_test(test_a_module_that_is_called_again),
    cmocka_unit_test(test_the_text),
    cmocka_unit_test(test_memory_runs_out),
};

UNIT_TESTS(tests, NULL, NULL)
