/* Tests of trace/recording/devices.c: kernels of a trace on another clock join our layers. */
#include "unit.h"
#include <pyrometer/trace.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two layers of one op each, as in our passes; the base is the wall clock. */
static const char ours[] =
    "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"layer\",\"name\":\"nn.Module: A_1\",\"pid\":9,\"tid\":9,\"ts\":100,"
    "\"dur\":100,\"args\":{\"Module path\":\"a\"}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":110,"
    "\"dur\":80,\"args\":{}},"
    "{\"ph\":\"X\",\"cat\":\"layer\",\"name\":\"nn.Module: B_2\",\"pid\":9,\"tid\":9,\"ts\":300,"
    "\"dur\":100,\"args\":{\"Module path\":\"b\"}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::relu\",\"pid\":9,\"tid\":9,\"ts\":310,"
    "\"dur\":80,\"args\":{}}]}";

/* The same ops on a clock that is 5 ms ahead, with their launches. */
static const char theirs[] =
    "{\"baseTimeNanoseconds\":1000000000,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H200\"}],"
    "\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":5110,"
    "\"dur\":80,\"args\":{\"External id\":1}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,"
    "\"ts\":5120,\"dur\":5,\"args\":{\"correlation\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":5130,\"dur\":40,"
    "\"args\":{\"correlation\":7,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::relu\",\"pid\":9,\"tid\":9,\"ts\":5310,"
    "\"dur\":80,\"args\":{\"External id\":2}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,"
    "\"ts\":5320,\"dur\":5,\"args\":{\"correlation\":8}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"clamp\",\"pid\":0,\"tid\":7,\"ts\":5330,\"dur\":20,"
    "\"args\":{\"correlation\":8,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":9,"
    "\"tid\":9,\"ts\":5325,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":64,\"Bytes\":512,"
    "\"Total Allocated\":512,\"Total Reserved\":1024}}]}";

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* Reads both texts, joins them and returns the trace; `path` is a name for mkstemp. */
static pyro_trace *join(const char *layers, const char *other, char *path)
{
    pyro_trace *trace = NULL;
    pyro_error error;

    assert_true(close(mkstemp(path)) == 0);
    write_file(path, other);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, layers, strlen(layers), "o", NULL, &error), 0);
    assert_int_equal(pyro_trace_join_devices(trace, path, &error), 0);
    unlink(path);
    return trace;
}

static void test_kernels_land_in_our_layers(void **state)
{
    char path[] = "/tmp/pyro-devices-XXXXXX";
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    pyro_error error;
    size_t warnings;

    (void)state;
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, theirs);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, ours, strlen(ours), "ours", NULL, &error), 0);
    assert_int_equal(pyro_trace_join_devices(trace, path, &error), 0);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), 0);
    assert_string_equal(analysis->device_name, "NVIDIA H200");
    assert_int_equal(analysis->kernel_count, 2);
    assert_int_equal(analysis->layer_count, 2);
    assert_string_equal(analysis->layers[0].path, "a");
    assert_int_equal(analysis->layers[0].forward_device_ns, 40000);
    assert_string_equal(analysis->layers[1].path, "b");
    assert_int_equal(analysis->layers[1].forward_device_ns, 20000);
    assert_int_equal(analysis->layers[1].allocated_bytes, 512);
    pyro_trace_warnings(trace, &warnings);
    assert_int_equal(warnings, 0);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    unlink(path);
}

/* Both may have recorded the same allocation: it counts once. */
static void test_memory_of_devices_counts_once(void **state)
{
    static const char memory[] =
        ",{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":9,"
        "\"tid\":9,\"ts\":324,\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":64,\"Bytes\":512,"
        "\"Total Allocated\":512,\"Total Reserved\":1024}}]}";
    char path[] = "/tmp/pyro-devices-XXXXXX", text[sizeof ours + sizeof memory];
    pyro_analysis *analysis = NULL;
    pyro_error error;

    (void)state;
    snprintf(text, sizeof text, "%.*s%s", (int)(sizeof ours - 3), ours, memory);
    pyro_trace *trace = join(text, theirs, path);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), 0);
    assert_int_equal(analysis->layer_count, 2);
    assert_int_equal(analysis->layers[1].allocated_bytes, 512);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

/* Only layers, and marks for the clock: then the ops of the other trace are added too. */
static void test_ops_come_too_where_there_are_none(void **state)
{
    static const char layers[] =
        "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"pyrometer: clock 1\",\"pid\":9,\"tid\":9,"
        "\"ts\":50,\"dur\":10,\"args\":{}},"
        "{\"ph\":\"X\",\"cat\":\"layer\",\"name\":\"nn.Module: A_1\",\"pid\":9,\"tid\":9,"
        "\"ts\":100,\"dur\":100,\"args\":{\"Module path\":\"a\"}}]}";
    static const char other[] =
        "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"pyrometer: clock 1\",\"pid\":9,\"tid\":9,"
        "\"ts\":7050,\"dur\":9,\"args\":{}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":7110,"
        "\"dur\":80,\"args\":{\"Input Dims\":[[2,3],[3,4]],\"Input type\":[\"float\",\"float\"]}},"
        "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":9,"
        "\"tid\":9,\"ts\":7120,\"args\":{\"Device Type\":0,\"Device Id\":-1,\"Addr\":64,"
        "\"Bytes\":32,\"Total Allocated\":32,\"Total Reserved\":0}}]}";
    char path[] = "/tmp/pyro-devices-XXXXXX";
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    pyro_error error;

    (void)state;
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, other);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, layers, strlen(layers), "o", NULL, &error), 0);
    assert_int_equal(pyro_trace_join_devices(trace, path, &error), 0);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), 0);
    assert_int_equal(analysis->op_count, 1);
    assert_string_equal(analysis->ops[0].name, "aten::mm");
    assert_int_equal(analysis->layer_count, 1);
    assert_int_equal(analysis->layers[0].allocated_bytes, 32);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    unlink(path);
}

#define LAYER(number, name, start, duration) \
    "{\"ph\":\"X\",\"cat\":\"layer\",\"name\":\"nn.Module: " name "_1\",\"pid\":9,\"tid\":9," \
    "\"ts\":" start ",\"dur\":" duration ",\"args\":{\"External id\":" number \
    ",\"Module path\":\"" name "\"}}"
#define OP(order, name, start, duration) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":9,\"tid\":9,\"ts\":" start \
    ",\"dur\":" duration ",\"args\":{\"External id\":" order "}}"

/*
 * Layers a and b with two ops each, and one op between them. The thread lost the processor for 1 ms
 * between the record of a and its mark, and the other clock runs in whole microseconds, so that ops
 * begin and end at the very times of marks.
 */
static const char interrupted[] = "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":[" LAYER(
    "1", "a", "100.3", "1020.2") "," LAYER("2", "b", "1130.1", "30.4") "]}";
static const char marked[] =
    "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":[" OP("11", "pyrometer: begin 1", "6100", "1") "," OP(
        "12", "aten::mm", "6102",
        "8") "," OP("13", "aten::add", "6110",
                    "8") "," OP("14", "pyrometer: end 1", "6118",
                                "1") "," OP("15", "aten::cat", "6120",
                                            "9") "," OP("16", "pyrometer: begin 2", "6130",
                                                        "0") "," OP("17", "aten::relu", "6130",
                                                                    "5") "," OP("18", "aten::tanh",
                                                                                "6158",
                                                                                "1") "," OP("19",
                                                                                            "pyrometer: end 2",
                                                                                            "6159",
                                                                                            "0") "," OP("20",
                                                                                                        "aten::sum",
                                                                                                        "6159",
                                                                                                        "3") "]}";

static const char *layer_of(const pyro_layer_ops *ops, const char *name)
{
    for (size_t i = 0; i < ops->count; i++)
        if (strcmp(ops->rows[i].op, name) == 0)
            return ops->rows[i].layer;
    return NULL;
}

static void test_ops_lie_between_the_marks_of_their_layer(void **state)
{
    char path[] = "/tmp/pyro-devices-XXXXXX";
    pyro_trace *trace = join(interrupted, marked, path);
    pyro_layer_ops *ops = NULL;
    pyro_error error;

    (void)state;
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_layer_ops(&ops, trace, NULL, &error), 0);
    assert_int_equal(ops->count, 4);
    assert_string_equal(layer_of(ops, "aten::mm"), "a");
    assert_string_equal(layer_of(ops, "aten::add"), "a");
    assert_string_equal(layer_of(ops, "aten::relu"), "b");
    assert_string_equal(layer_of(ops, "aten::tanh"), "b");
    for (size_t i = 0; i < ops->count; i++) /* none was squeezed */
        assert_true(ops->rows[i].host_ns >= 1000);
    pyro_layer_ops_free(ops);
    pyro_trace_close(trace);
}

static void test_layers_that_the_profiler_did_not_see_are_reported(void **state)
{
    static const char half[] = "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":[" OP(
        "11", "pyrometer: begin 1", "6100",
        "1") "," OP("12", "aten::mm", "6102", "8") "," OP("14", "pyrometer: end 1", "6118",
                                                          "1") "]}";
    char path[] = "/tmp/pyro-devices-XXXXXX";
    pyro_trace *trace = join(interrupted, half, path);
    pyro_analysis *analysis = NULL;
    pyro_error error;

    (void)state;
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), 0);
    assert_int_equal(analysis->note_count, 1);
    assert_non_null(strstr(analysis->notes[0], "not recorded: ops of 1 of 2 layer calls"));
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static void test_without_a_common_op_it_says_so(void **state)
{
    static const char other[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
        "\"ts\":1,\"dur\":2,\"args\":{\"correlation\":7,\"device\":0,\"stream\":7}}]}";
    char path[] = "/tmp/pyro-devices-XXXXXX";
    pyro_trace *trace = NULL;
    pyro_error error;
    size_t count;
    const char *const *warnings;

    (void)state;
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, other);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, ours, strlen(ours), "ours", NULL, &error), 0);
    assert_int_equal(pyro_trace_join_devices(trace, path, &error), 0);
    warnings = pyro_trace_warnings(trace, &count);
    assert_int_equal(count, 1);
    assert_non_null(strstr(warnings[0], "clock"));
    pyro_trace_close(trace);
    unlink(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kernels_land_in_our_layers),
    cmocka_unit_test(test_memory_of_devices_counts_once),
    cmocka_unit_test(test_ops_come_too_where_there_are_none),
    cmocka_unit_test(test_ops_lie_between_the_marks_of_their_layer),
    cmocka_unit_test(test_layers_that_the_profiler_did_not_see_are_reported),
    cmocka_unit_test(test_without_a_common_op_it_says_so),
};

UNIT_TESTS(tests, NULL, NULL)
