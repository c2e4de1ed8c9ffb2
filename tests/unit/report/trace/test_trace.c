/* Tests of the writers of traces on a hand-written analysis: what they show, and its sums. */
#include "base/json/json.h"
#include "fail_alloc.h"
#include "report/trace/view.h"
#include "trace/trace.h"
#include "unit.h"

#include <pyrometer/report.h>
#include <stdlib.h>

#define MS INT64_C(1000000)

static const pyro_step_row steps[] = {
    {.name = "ProfilerStep#3",
     .number = 3,
     .span_ns = 100 * MS,
     .compute_ns = 60 * MS,
     .communication_ns = 20 * MS,
     .communication_exposed_ns = 10 * MS,
     .copy_ns = 5 * MS,
     .copy_exposed_ns = 5 * MS,
     .idle_ns = 25 * MS,
     .host_only_ns = 20 * MS,
     .forward_ns = 30 * MS,
     .backward_ns = 40 * MS,
     .optimizer_ns = 10 * MS,
     .other_ns = 10 * MS,
     .device_total_ns = 90 * MS,
     .kernels = 12},
};

static const pyro_layer_row layers[] = {
    {.path = "",
     .class_name = "Net",
     .parent = PYRO_NO_EVENT,
     .calls = 1,
     .forward_device_ns = 30 * MS,
     .backward_device_ns = 30 * MS,
     .flops = -1,
     .bytes = -1,
     .shapes = ""},
    {.path = "block",
     .class_name = "Sequential",
     .parent = 0,
     .depth = 1,
     .calls = 1,
     .forward_device_ns = 30 * MS,
     .backward_device_ns = 30 * MS,
     .forward_device_self_ns = 1 * MS,
     .flops = -1,
     .bytes = -1,
     .shapes = ""},
    {.path = "block.conv1",
     .class_name = "Conv2d",
     .parent = 1,
     .depth = 2,
     .calls = 1,
     .backward_calls = 1,
     .forward_device_ns = 20 * MS,
     .forward_device_self_ns = 20 * MS,
     .backward_device_ns = 30 * MS,
     .backward_device_self_ns = 30 * MS,
     .kernels = 3,
     .flops = INT64_C(500000000000),
     .flops_per_s = 1e13,
     .bytes = 1000,
     .shapes = "[[1, 3]]"},
    {.path = "block.\033[31mnorm",
     .class_name = "LayerNorm",
     .parent = 1,
     .depth = 2,
     .calls = 1,
     .forward_device_ns = 9 * MS,
     .forward_device_self_ns = 9 * MS,
     .kernels = 1,
     .flops = -1,
     .bytes = -1,
     .shapes = ""},
};

static const pyro_op_row ops[] = {
    {.name = "aten::convolution",
     .shapes = "",
     .dtype = "float32, bfloat16",
     .flops_per_s = 140,
     .calls = 2,
     .host_total_ns = 4 * MS,
     .host_self_ns = 3 * MS,
     .device_total_ns = 50 * MS,
     .device_self_ns = 50 * MS,
     .flops = 7,
     .bytes = -1,
     .phase = PYRO_PHASE_FORWARD},
};

static const pyro_kernel_row kernels[] = {
    {.name = "void gemm<float, 1>(float*)",
     .short_name = "gemm<float>",
     .op = "aten::mm",
     .category = "gemm",
     .calls = 2,
     .total_ns = 50 * MS,
     .min_ns = 20 * MS,
     .max_ns = 30 * MS,
     .median_ns = 25 * MS,
     .tensor_core = true,
     .occupancy_percent = 37.5,
     .waves = -1,
     .source = ""},
};

static const pyro_gap_row gaps[] = {
    {.start_ns = 5 * MS,
     .duration_ns = 2 * MS,
     .kind = PYRO_GAP_KERNEL_WAIT,
     .op = "aten::item",
     .layer = "block.conv1",
     .line = "train.py(3): loop",
     .sync = "cudaStreamSynchronize",
     .step = -1},
};

static const pyro_copy_row copies[] = {
    {.kind = "HtoD pageable", .calls = 2, .bytes = 4096, .total_ns = 5 * MS, .gb_per_s = 0.5}};
static const pyro_sync_row syncs[] = {{.call = "cudaStreamSynchronize",
                                       .op = "aten::item",
                                       .layer = "",
                                       .line = "",
                                       .calls = 1,
                                       .total_ns = MS}};
static const pyro_collective_row collectives[] = {{.kind = "allreduce",
                                                   .group = "0",
                                                   .dtype = "Float",
                                                   .group_size = 8,
                                                   .calls = 4,
                                                   .total_ns = 20 * MS,
                                                   .exposed_ns = 10 * MS,
                                                   .bytes = -1,
                                                   .bus_gb_per_s = -1,
                                                   .message_bytes = -1}};
static const pyro_memory_point curve[] = {{0, 10, 20}, {MS, 512, -1}};
static const pyro_memory_holder holders[] = {
    {.layer = "block", .op = "", .bytes = 512, .blocks = 1}};
static const pyro_memory_device memory[] = {
    {.device = "cpu", .peak_bytes = 4096, .peak_reserved_bytes = -1},
    {.device = "cuda:0",
     .peak_bytes = 512,
     .peak_reserved_bytes = 1024,
     .allocations = 2,
     .growth_bytes_per_step = 16,
     .growth_confidence = 1,
     .curve = curve,
     .curve_count = 2,
     .holders = holders,
     .holder_count = 1},
};
static const pyro_stack_row stacks[] = {
    {.frames = "run;for\nward;gemm", .device_ns = 50 * MS, .host_self_ns = MS},
    {.frames = "run;idle", .device_ns = 0, .host_self_ns = 2 * MS}};
static const pyro_finding findings[] = {
    {.id = "device-idle",
     .severity = PYRO_SEVERITY_SEVERE,
     .title = "the device idles",
     .evidence = "25% of the step",
     .advice = "launch earlier",
     .place = "block.conv1",
     .gain_ns = 25 * MS},
    {.id = "x",
     .severity = PYRO_SEVERITY_WARNING,
     .title = "second",
     .evidence = "",
     .advice = "do it",
     .place = "",
     .gain_ns = -1},
};
static const pyro_cause_row causes[] = {
    {.step = 3, .cause = PYRO_CAUSE_COMPUTE, .time_ns = 75 * MS},
    {.step = 3, .cause = PYRO_CAUSE_PYTHON, .time_ns = 25 * MS},
};
static const pyro_cause_place cause_places[] = {
    {.cause = PYRO_CAUSE_COMPUTE,
     .op = "",
     .layer = "",
     .line = "",
     .sync = "",
     .time_ns = 75 * MS},
    {.cause = PYRO_CAUSE_PYTHON,
     .op = "",
     .layer = "block",
     .line = "train.py(7): step",
     .sync = "",
     .time_ns = 25 * MS,
     .stretches = 4},
};
static const char *const warnings[] = {"12 events with negative duration"};
static const char *const notes[] = {"the chip is unknown"};

static const pyro_analysis analysis = {
    .device_name = "NVIDIA H200",
    .device_known = true,
    .start_ns = 0,
    .span_ns = 100 * MS,
    .device_total_ns = 90 * MS,
    .device_busy_ns = 75 * MS,
    .kernel_count = 12,
    .has_layers = true,
    .steps = steps,
    .step_count = 1,
    .layers = layers,
    .layer_count = 4,
    .ops = ops,
    .op_count = 1,
    .ops_by_shape = ops,
    .op_by_shape_count = 1,
    .kernels = kernels,
    .kernel_row_count = 1,
    .gaps = gaps,
    .gap_count = 1,
    .gap_total_ns = {MS, 2 * MS, 0},
    .causes = causes,
    .cause_count = 2,
    .cause_places = cause_places,
    .cause_place_count = 2,
    .collectives = collectives,
    .collective_count = 1,
    .copies = copies,
    .copy_count = 1,
    .syncs = syncs,
    .sync_count = 1,
    .memory = memory,
    .memory_count = 2,
    .stacks = stacks,
    .stack_count = 2,
    .unattributed = {.no_launch_ns = 2 * MS,
                     .outside_layer_ns = 3 * MS,
                     .optimizer_ns = 5 * MS,
                     .collective_ns = 20 * MS},
    .findings = findings,
    .finding_count = 2,
    .notes = notes,
    .note_count = 1,
};

static const pyro_analysis empty = {.device_name = ""};

static pyro_trace trace = {
    .file = "runs/a.json",
    .file_events = 1234,
    .rank = -1,
    .world_size = -1,
    .warnings = (const char **)warnings,
    .warning_count = 1,
};

static char *report(const pyro_analysis *of, pyro_format format, pyro_trace_view view, int depth)
{
    pyro_trace_report_options options = {
        .report = {.format = format, .width = 80}, .view = view, .depth = depth};
    char *text;
    size_t size;

    assert_int_equal(pyro_report_trace(&text, &size, &trace, of, &options, NULL), PYRO_OK);
    assert_int_equal(strlen(text), size);
    return text;
}

static void expect(char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\nlacks: %s", text, part);
}

static void test_overview(void **state)
{
    (void)state;
    char *text = report(&analysis, PYRO_FORMAT_TEXT, PYRO_TRACE_OVERVIEW, -1);

    expect(text, "TRACE PROFILE: a.json\n");
    expect(text, "1,234, over 100.0 ms\n");
    expect(text, "Where the time went (1 step of 100.0 ms):\n");
    expect(text, "  Compute                 60.0 ms   60.0%  ####");
    expect(text, "Communication alone     10.0 ms   10.0%");
    expect(text, "    host in Python        25.0 ms   25.0%  ####");
    expect(text, "512 B on cuda:0");
    expect(text, "  1. the device idles, at block.conv1 (up to 25.0 ms to gain)\n"
                 "     25% of the step\n     -> launch earlier\n");
    expect(text, "  2. second\n     -> do it\n");
    expect(text, "- 12 events with negative duration\n");
    pyro_free(text);
}

/* Self times, hidden layers and time outside layers add up to the total. */
static void test_layers_add_up(void **state)
{
    (void)state;
    char *text = report(&analysis, PYRO_FORMAT_TEXT, PYRO_TRACE_LAYERS, -1);

    expect(text, "block.conv1");
    expect(text, "(outside any layer)");
    expect(text, "(collectives)");
    expect(text, "Device total                                   90.0 ms  100.0%\n");
    expect(text, "10.00 T");
    assert_null(strchr(text, '\033'));
    pyro_free(text);
}

static void test_roll_up(void **state)
{
    (void)state;
    for (int depth = 0; depth < 4; depth++) {
        pyro_shallow_analysis shallow;
        int64_t own_ns = pyro_unattributed_ns(&analysis.unattributed);

        assert_int_equal(pyro_analysis_roll_up(&shallow, &analysis, depth, NULL), PYRO_OK);
        assert_int_equal(shallow.analysis.layer_count, depth < 2 ? depth + 1 : 4);
        for (size_t i = 0; i < shallow.analysis.layer_count; i++)
            own_ns += pyro_layer_self_ns(&shallow.analysis.layers[i], false);
        assert_int_equal(own_ns, analysis.device_total_ns);
        pyro_shallow_analysis_free(&shallow);
    }
}

static void test_json(void **state)
{
    (void)state;
    const pyro_analysis *of[] = {&analysis, &empty};

    for (size_t i = 0; i < 2; i++) {
        char *text = report(of[i], PYRO_FORMAT_JSON, PYRO_TRACE_OVERVIEW, -1);
        pyro_source *source;
        pyro_json *json;
        pyro_json_kind kind;

        assert_int_equal(pyro_source_open_memory(&source, text, strlen(text), NULL), PYRO_OK);
        assert_int_equal(pyro_json_open(&json, source, NULL, NULL), PYRO_OK);
        do
            kind = pyro_json_next(json);
        while (kind != PYRO_JSON_END && kind != PYRO_JSON_ERROR);
        assert_int_equal(kind, PYRO_JSON_END);
        pyro_json_close(json);
        pyro_source_close(source);
        if (i == 0) {
            expect(text, "\"schema\": \"pyrometer.trace/1\"");
            expect(text, "\"class\": \"Conv2d\"");
            expect(text, "\"parent\": null");
            expect(text, "\"flops\": null");
            expect(text, "\"waves\": null");
            expect(text, "\"kind\": \"kernel_wait\"");
            expect(text, "\"severity\": \"severe\"");
            expect(text, "\"peak_bytes\": 512,");
            expect(text, "\"rank\": null");
            assert_null(strstr(text, "\"stacks\""));
        }
        pyro_free(text);
    }
}

static void test_csv(void **state)
{
    (void)state;
    pyro_trace_report_options options = {.report = {.format = PYRO_FORMAT_CSV}, .depth = -1};
    char *text = report(&analysis, PYRO_FORMAT_CSV, PYRO_TRACE_COLLECTIVES, -1);

    assert_string_equal(text, "kind,group,dtype,group_size,calls,total_ns,exposed_ns,bytes,"
                              "bus_gb_per_s,message_bytes\n"
                              "allreduce,0,Float,8,4,20000000,10000000,,,\n");
    pyro_free(text);
    options.view = PYRO_TRACE_COPIES;
    options.part = 2;
    assert_int_equal(pyro_report_trace(&text, NULL, &trace, &analysis, &options, NULL), PYRO_OK);
    assert_string_equal(text, "runs/a.json,HtoD pageable,2,4096,5000000,0.5\n");
    pyro_free(text);
}

static void test_folded(void **state)
{
    (void)state;
    pyro_analysis on_host = analysis;
    char *text;

    assert_int_equal(pyro_report_trace_folded(&text, NULL, &analysis, NULL), PYRO_OK);
    assert_string_equal(text, "run;for ward;gemm 50000000\n");
    pyro_free(text);
    on_host.device_total_ns = 0;
    assert_int_equal(pyro_report_trace_folded(&text, NULL, &on_host, NULL), PYRO_OK);
    assert_string_equal(text, "run;for ward;gemm 1000000\nrun;idle 2000000\n");
    pyro_free(text);
    assert_int_equal(pyro_report_trace_folded(&text, NULL, &empty, NULL), PYRO_OK);
    assert_string_equal(text, "");
    pyro_free(text);
}

/* A table without its own writer is printed from its columns, with the units in their names. */
static void test_plain_table(void **state)
{
    (void)state;
    pyro_report_options options = {.width = 120};
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_trace_writer w = {.buf = &buf, .analysis = &analysis, .options = &options};

    pyro_write_trace_columns(&w, pyro_trace_table_find("copies"));
    pyro_write_trace_columns(&w, pyro_trace_table_find("collectives"));
    expect(buf.data, "\nCopies:\n  Kind           Calls     Bytes    Total  GB/s\n");
    expect(buf.data, "  HtoD pageable      2  4.00 KiB  5.00 ms   0.5\n");
    expect(buf.data, "\nCollectives:\n");
    expect(buf.data, "Group size  Calls    Total  Exposed  Bytes  Bus GB/s  Message bytes\n");
    pyro_buf_free(&buf);
}

static void test_unknown_format(void **state)
{
    (void)state;
    pyro_trace_report_options options = {.report = {.format = (pyro_format)99}};
    pyro_error error;
    char *text;

    pyro_error_clear(&error);
    assert_int_equal(pyro_report_trace(&text, NULL, &trace, &analysis, &options, &error),
                     PYRO_ERROR_ARGUMENT);
    assert_null(text);
    expect(error.message, "formats: text, json, csv");
}

static void expect_narrow(const char *text, size_t columns)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), width = 0;

        for (size_t i = 0; i < length; i++)
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (width > columns)
            fail_msg("%zu columns: %.*s", width, (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void test_every_view(void **state)
{
    (void)state;
    for (int view = PYRO_TRACE_OVERVIEW; view <= PYRO_TRACE_FINDINGS; view++) {
        char *text = report(&analysis, PYRO_FORMAT_TEXT, (pyro_trace_view)view, -1);

        expect_narrow(text, 80);
        assert_null(strstr(text, "\n  no "));
        pyro_free(text);
        text = report(&empty, PYRO_FORMAT_TEXT, (pyro_trace_view)view, 1);
        assert_true(view == PYRO_TRACE_OVERVIEW || strstr(text, "\n  no "));
        expect_narrow(text, 80);
        pyro_free(text);
        text = report(&analysis, PYRO_FORMAT_CSV, (pyro_trace_view)view, -1);
        assert_int_equal(text[strlen(text) - 1], '\n');
        pyro_free(text);
    }
}

/* Narrower than any row: every view must only terminate. */
static void test_narrow_terminals(void **state)
{
    (void)state;
    for (int view = PYRO_TRACE_OVERVIEW; view <= PYRO_TRACE_FINDINGS; view++)
        for (int width = 1; width < 80; width += 13) {
            pyro_trace_report_options options = {
                .report = {.width = width}, .view = (pyro_trace_view)view, .depth = -1};
            char *text;

            assert_int_equal(pyro_report_trace(&text, NULL, &trace, &analysis, &options, NULL),
                             PYRO_OK);
            assert_true(strlen(text) < 20000);
            pyro_free(text);
        }
}

/* Each allocation fails in turn: the result is an error, never an incomplete report. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    for (int view = PYRO_TRACE_OVERVIEW; view <= PYRO_TRACE_FINDINGS; view++)
        for (int format = PYRO_FORMAT_TEXT; format <= PYRO_FORMAT_CSV; format++) {
            pyro_trace_report_options options = {.report = {.format = (pyro_format)format},
                                                 .view = (pyro_trace_view)view,
                                                 .depth = 1};
            int status = PYRO_ERROR_MEMORY;

            for (long allowed = 0; status != PYRO_OK; allowed++) {
                char *text;

                fail_alloc_after(allowed);
                status = pyro_report_trace(&text, NULL, &trace, &analysis, &options, NULL);
                long failures = fail_alloc_failures();
                fail_alloc_after(-1);
                assert_int_equal(status, failures > 0 ? PYRO_ERROR_MEMORY : PYRO_OK);
                pyro_free(text);
            }
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_overview),
    cmocka_unit_test(test_layers_add_up),
    cmocka_unit_test(test_roll_up),
    cmocka_unit_test(test_json),
    cmocka_unit_test(test_csv),
    cmocka_unit_test(test_folded),
    cmocka_unit_test(test_plain_table),
    cmocka_unit_test(test_unknown_format),
    cmocka_unit_test(test_every_view),
    cmocka_unit_test(test_narrow_terminals),
    cmocka_unit_test(test_memory_runs_out),
};

UNIT_TESTS(tests, NULL, NULL)
