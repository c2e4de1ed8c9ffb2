/* Tests of the writers of graphs: names that need escaping, unknown values, memory. */
#include "base/json/json.h"
#include "fail_alloc.h"
#include "flow_maker.h"
#include "unit.h"
#include <pyrometer/report.h>

static pyro_program *program;
static pyro_dataflow *graph;

static int make(void **state)
{
    (void)state;
    program = make_program();
    program->name = "a \"model\" <&>";
    uint32_t x = make_input(program, "in\"put\\<&>", 16);
    uint32_t call = make_call(program, 0, "layer", "Li<ne>ar");
    uint32_t y = make_step(program, call, "aten::linear", 8, -1, x, make_weight(program, "w", 40),
                           NO_MORE);
    ((int64_t *)program->values[y].tensor.dims)[0] = -1;
    program->values[y].tensor.bytes = -1;
    make_step(program, 0, "aten::relu", 8, 1, y, NO_MORE);
    program->passes = 1;
    pyro_samples_add(&program->calls[call].time, 1234567);
    pyro_program_note(program, "%s", "a note");
    graph = make_graph(program, PYRO_GRANULARITY_LAYER);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    pyro_dataflow_free(graph);
    pyro_program_free(program);
    return 0;
}

static char *written(pyro_graph_report report)
{
    char *text;
    size_t size;
    assert_int_equal(pyro_report_graph(&text, &size, graph, &report, NULL), PYRO_OK);
    assert_int_equal(strlen(text), size);
    assert_int_equal(text[size - 1], '\n');
    return text;
}

static void expect_text(pyro_graph_report report, const char *wanted)
{
    char *text = written(report);
    if (!strstr(text, wanted))
        fail_msg("'%s' is not in:\n%s", wanted, text);
    pyro_free(text);
}

static void test_names_are_escaped(void **state)
{
    (void)state;
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_TEXT}, "in\"put\\<&> -> layer");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_DOT}, "label=\"in\\\"put\\\\<&>\"");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_DOT}, "digraph \"a \\\"model\\\" <&>\"");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_GRAPHML}, "in&quot;put\\&lt;&amp;&gt;");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_GRAPHML}, "Li&lt;ne&gt;ar");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_JSON}, "\"in\\\"put\\\\<&>\"");
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_TEXT}, "uint8:?");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_JSON}, "\"shape\": [null]");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_JSON}, "\"flops\": null");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_TEXT}, "Note: a note");
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_TEXT}, "1.235 ms (layer)");
}

static void test_parts_are_left_out(void **state)
{
    (void)state;
    char *text = written((pyro_graph_report){.no_edges = true, .no_stats = true});
    assert_null(strstr(text, "Edges"));
    assert_null(strstr(text, "Stats"));
    pyro_free(text);
}

static void test_stats_and_cuts(void **state)
{
    (void)state;
    pyro_cuts cuts;
    char *text;
    assert_int_equal(pyro_report_graph_stats(&text, NULL, graph, NULL), PYRO_OK);
    assert_int_equal(strncmp(text, "Stats:\n", 7), 0);
    pyro_free(text);
    assert_int_equal(pyro_cuts_find(&cuts, graph, 2, 0, NULL), PYRO_OK);
    assert_true(cuts.timed);
    assert_int_equal(pyro_report_cuts(&text, NULL, graph, &cuts, NULL), PYRO_OK);
    assert_non_null(strstr(text, "Split into 2 parts, balanced by time:"));
    pyro_free(text);
    expect_text((pyro_graph_report){.format = PYRO_GRAPH_JSON, .cuts = &cuts},
                "\"amount\": \"ns\"");
    pyro_cuts_free(&cuts);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    for (int format = PYRO_GRAPH_TEXT; format <= PYRO_GRAPH_GRAPHML; format++) {
        bool done = false;
        for (long until = 0; !done; until++) {
            pyro_graph_report report = {.format = (pyro_graph_format)format};
            char *text = NULL;
            fail_alloc_after(until);
            int status = pyro_report_graph(&text, NULL, graph, &report, NULL);
            done = fail_alloc_failures() == 0;
            fail_alloc_after(-1);
            assert_int_equal(status, done ? PYRO_OK : PYRO_ERROR_MEMORY);
            pyro_free(text);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_are_escaped),  cmocka_unit_test(test_what_is_not_known),
    cmocka_unit_test(test_parts_are_left_out), cmocka_unit_test(test_stats_and_cuts),
    cmocka_unit_test(test_memory_runs_out),
};

UNIT_TESTS(tests, make, unmake)
