/* Tests of src/report/trace/pass_table.c: rows in order, shapes of inputs, sums. */
#include "unit.h"
#include <pyrometer/report.h>

#include <stddef.h>
#include <string.h>

#define LAYER_ON(thread, path, start, length, args) \
    "{\"ph\":\"X\",\"cat\":\"layer\",\"name\":\"nn.Module: L_1\",\"pid\":9,\"tid\":" thread \
    ",\"ts\":" start ",\"dur\":" length ",\"args\":{\"Module path\":\"" path "\"" args "}}"
#define GIVEN(path, start, length, dims) LAYER_ON("9", path, start, length, ",\"Input Dims\":" dims)
#define LAYER(path, start, length) LAYER_ON("9", path, start, length, "")
#define OP(name, start, length, dims) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":9,\"tid\":9,\"ts\":" start \
    ",\"dur\":" length ",\"args\":{\"Input Dims\":" dims ",\"Input type\":[\"float\",\"float\"]}}"
#define FILE_OF(events) "{\"traceEvents\":[" events "]}"

/* addmm is inside linear and not timed again. */
static const char pass[] = FILE_OF(
    LAYER("", "0", "10000") "," LAYER("fc", "100", "3000") "," OP("aten::linear", "200", "2500", "[[32,100],[50,100]]") "," OP(
        "aten::addmm", "300", "2000",
        "[[50],[32,100],[100,50]]") "," LAYER("act", "4000",
                                              "1000") "," OP("aten::relu", "4100", "500",
                                                             "[[32]]") "," LAYER("act", "6000",
                                                                                 "1000") "," OP("aten::relu",
                                                                                                "6100",
                                                                                                "700",
                                                                                                "[[64]]"));

/* A layer that sleeps, one whose op takes a table before the indices, and one that an op calls. */
static const char outside[] = FILE_OF(
    GIVEN("", "0", "90000", "[[2,7]]") "," GIVEN("sleep", "100", "50000", "[[2,7]]") "," GIVEN(
        "embed", "51000", "1000",
        "[[2,7]]") "," OP("aten::embedding", "51100", "800",
                          "[[1000,16],[2,7]]") "," OP("higher::order", "60000", "20000",
                                                      "[[2,7,16]]") "," GIVEN("inner", "61000",
                                                                              "15000", "[[]]"));

/* Without inputs of layers: indices of the embedding, and the model's first op. */
static const char by_ops[] = FILE_OF(
    LAYER("", "0", "9000") "," LAYER("embed", "1000", "1000") "," OP(
        "aten::embedding", "1100", "800", "[[1000,16],[2,7]]") "," OP("aten::flatten", "3000",
                                                                      "100", "[[2,7,16]]"));

static const char threads[] = FILE_OF(LAYER("", "0", "9000") "," LAYER_ON(
    "8", "a", "1000", "6000", "") "," LAYER_ON("7", "b", "1000", "6000", ""));

static char *write(const char *file, bool with_flops)
{
    pyro_trace *trace = NULL;
    pyro_error error;
    char *text = NULL;
    size_t size;

    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, file, strlen(file), "pass", NULL, &error), 0);
    assert_int_equal(pyro_report_layer_table(&text, &size, trace, "Net", with_flops, &error), 0);
    assert_int_equal(size, strlen(text));
    pyro_trace_close(trace);
    return text;
}

static void assert_line(const char *text, const char *line)
{
    if (!strstr(text, line))
        print_error("%s", text);
    assert_non_null(strstr(text, line));
}

static void test_rows(void **state)
{
    char *text = write(pass, false);

    (void)state;
    assert_line(text, "Layer Analysis for Net\n");
    assert_line(text, "Layer                     Calls   Total Time (ms)   Avg Time (ms)   "
                      "Shapes            In Ops (ms)\n");
    assert_line(text, "\nfc                        1       3.000             3.000           "
                      "(32, 100)         2.500\n");
    assert_line(text, "\nact                       2       2.000             1.000           "
                      "(32,), (64,)      1.200\n");
    assert_line(text, "\n(model)                   1       5.000             5.000           "
                      "(32, 100)         0.000\n");
    assert_line(text, "\nTOTAL                     4       10.000            2.500           "
                      "                  3.700\n");
    assert_true(strstr(text, "fc ") < strstr(text, "act "));
    assert_null(strstr(text, "Device Time"));
    assert_null(strstr(text, "other threads"));
    pyro_free(text);
}

static void test_time_outside_ops_has_a_row(void **state)
{
    char *text = write(outside, false);

    (void)state;
    assert_line(text, "\nsleep                     1       50.000            50.000          "
                      "(2, 7)            0.000\n");
    /* 90 ms minus 66 ms in layers; 15 of the op's 20 ms belong to a layer. */
    assert_line(text, "\n(model)                   1       24.000            24.000          "
                      "(2, 7)            5.000\n");
    assert_line(text, "\nTOTAL                     4       90.000            22.500          "
                      "                  5.800\n");
    pyro_free(text);
}

static void test_shapes_are_those_of_the_layers_input(void **state)
{
    char *text = write(outside, false);

    (void)state;
    assert_line(text, "\nembed                     1       1.000             1.000           "
                      "(2, 7)            0.800\n");
    assert_line(text, "\ninner                     1       15.000            15.000          "
                      "()                0.000\n");
    pyro_free(text);
    text = write(by_ops, false);
    assert_line(text, "\nembed                     1       1.000             1.000           "
                      "(2, 7)            0.800\n");
    assert_line(text, "\n(model)                   1       8.000             8.000           "
                      "(2, 7)            0.100\n");
    pyro_free(text);
}

static void test_total_is_the_forward_beside_threads(void **state)
{
    char *text = write(threads, false);

    (void)state;
    assert_line(text, "\nTOTAL                     3       9.000 ");
    assert_line(text, "\n12.000 ms of the rows overlap in time on several threads\n");
    pyro_free(text);
}

static void test_flops(void **state)
{
    char *text = write(pass, true);

    (void)state;
    assert_non_null(strstr(text, "  FLOPs\n"));
    assert_non_null(strstr(text, "320.0 k")); /* 2 x 32 x 100 x 50 */
    pyro_free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_time_outside_ops_has_a_row),
    cmocka_unit_test(test_shapes_are_those_of_the_layers_input),
    cmocka_unit_test(test_total_is_the_forward_beside_threads),
    cmocka_unit_test(test_flops),
};

UNIT_TESTS(tests, NULL, NULL)
