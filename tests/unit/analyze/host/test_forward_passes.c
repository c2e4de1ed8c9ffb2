/* Layers over several passes: medians, p95 only with enough passes, what changed and where. */
#include "unit.h"

#include <pyrometer/report.h>
#include <pyrometer/trace.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A pass as our writer writes it: a model and a layer with one op. */
static void add_pass(pyro_passes *passes, int number, int duration_us, const char *op, int rows)
{
    char text[1024], label[32];
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error;
    snprintf(label, sizeof label, "pass_%03d.json", number);
    int size = snprintf(
        text, sizeof text,
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"nn.Module: Net_1\",\"cat\":\"layer\",\"pid\":1,"
        "\"tid\":1,\"ts\":1.000,\"dur\":%d.000,\"args\":{\"Module path\":\"\"}},"
        "{\"ph\":\"X\",\"name\":\"nn.Module: Linear_2\",\"cat\":\"layer\",\"pid\":1,\"tid\":1,"
        "\"ts\":2.000,\"dur\":%d.000,\"args\":{\"Module path\":\"a.fc\"}},"
        "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":3.000,"
        "\"dur\":1.000,\"args\":{\"Input Dims\":[[%d, 4], [5, 4]],\"Output Dims\":[[%d, 5]]}}]}",
        duration_us + 5, duration_us, op, rows, rows);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, text, (size_t)size, label, NULL, &error),
                     PYRO_OK);
    assert_true(pyro_trace_has_paths(trace));
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), PYRO_OK);
    assert_int_equal(pyro_passes_add(passes, trace, analysis, NULL, &error), PYRO_OK);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
}

static const pyro_pass_row *row_of(pyro_passes *passes, const char *path)
{
    const pyro_pass_summary *summary;
    assert_int_equal(pyro_passes_summarize(passes, &summary, NULL), PYRO_OK);
    for (size_t i = 0; i < summary->row_count; i++)
        if (strcmp(summary->rows[i].path, path) == 0)
            return &summary->rows[i];
    fail_msg("no layer %s", path);
    return NULL;
}

static void test_few_passes(void **state)
{
    (void)state;
    pyro_passes *passes = pyro_passes_new();
    const int durations_us[] = {30, 10, 20, 40};
    for (int i = 0; i < 4; i++)
        add_pass(passes, i, durations_us[i], "aten::linear", 3);
    const pyro_pass_row *row = row_of(passes, "a.fc");
    assert_string_equal(row->class_name, "Linear");
    assert_int_equal(row->passes, 4);
    assert_int_equal(row->median_ns, 25000);
    assert_int_equal(row->min_ns, 10000);
    assert_int_equal(row->max_ns, 40000);
    assert_int_equal(row->total_ns, 100000);
    assert_int_equal(row->p95_ns, -1);
    assert_int_equal(row->shape_sets, 1);
    assert_string_equal(row->changed_in, "");
    assert_int_equal(row_of(passes, "")->median_ns, 30000);
    pyro_passes_free(passes);
}

static void test_p95(void **state)
{
    (void)state;
    pyro_passes *passes = pyro_passes_new();
    for (int i = 1; i <= 40; i++)
        add_pass(passes, i, i, "aten::linear", 3);
    assert_int_equal(row_of(passes, "a.fc")->p95_ns, 38000); /* the 38th of 40 */
    pyro_passes_free(passes);
}

static void test_changes(void **state)
{
    (void)state;
    char *text;
    size_t size;
    const pyro_pass_summary *summary;
    pyro_passes *passes = pyro_passes_new();
    add_pass(passes, 1, 10, "aten::linear", 3);
    add_pass(passes, 2, 10, "aten::linear", 8);
    add_pass(passes, 3, 10, "aten::addmm", 3);
    add_pass(passes, 4, 10, "aten::linear", 3);
    const pyro_pass_row *row = row_of(passes, "a.fc");
    assert_int_equal(row->op_sets, 2);
    assert_int_equal(row->shape_sets, 3);
    assert_string_equal(row->changed_in, "pass_002.json");
    pyro_passes_summarize(passes, &summary, NULL);
    assert_int_equal(pyro_report_passes(&text, &size, summary, NULL, NULL), PYRO_OK);
    assert_non_null(strstr(text, "a.fc: 2 different lists of ops, 3 different sets of shapes, "
                                 "first in"));
    assert_non_null(strstr(text, "p95 needs 20 passes; here are 4."));
    pyro_free(text);
    pyro_passes_free(passes);
}

/* A pass whose ops could not be recorded: its times count, and it shows no changes. */
static void test_a_pass_without_ops_has_not_changed(void **state)
{
    static const char text[] =
        "{\"pyrometer\":{\"ops\":\"missing\",\"missing\":\"ops (a test)\"},\"traceEvents\":["
        "{\"ph\":\"X\",\"name\":\"nn.Module: Net_1\",\"cat\":\"layer\",\"pid\":1,\"tid\":1,"
        "\"ts\":1.000,\"dur\":99.000,\"args\":{\"Module path\":\"\"}},"
        "{\"ph\":\"X\",\"name\":\"aten::odd\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,"
        "\"ts\":3.000,\"dur\":1.000,\"args\":{\"Input Dims\":[[9, 9]]}}]}";
    pyro_passes *passes = pyro_passes_new();
    const pyro_pass_summary *summary;
    pyro_trace *trace;
    pyro_analysis *analysis;
    pyro_error error;
    char *report;
    size_t size;

    (void)state;
    add_pass(passes, 1, 10, "aten::linear", 3);
    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_open_memory(&trace, text, strlen(text), "x", NULL, &error), 0);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), 0);
    assert_int_equal(pyro_passes_add(passes, trace, analysis, NULL, &error), 0);
    assert_int_equal(row_of(passes, "")->passes, 2);
    assert_true(row_of(passes, "")->op_sets <= 1 && row_of(passes, "")->shape_sets <= 1);
    assert_int_equal(pyro_passes_summarize(passes, &summary, NULL), PYRO_OK);
    assert_int_equal(summary->passes_without_ops, 1);
    assert_int_equal(pyro_report_passes(&report, &size, summary, NULL, &error), PYRO_OK);
    assert_non_null(strstr(report, "The ops of 1 pass could not be recorded"));
    assert_null(strstr(report, "Changed between passes"));
    pyro_free(report);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    pyro_passes_free(passes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_few_passes),
    cmocka_unit_test(test_p95),
    cmocka_unit_test(test_a_pass_without_ops_has_not_changed),
    cmocka_unit_test(test_changes),
};

UNIT_TESTS(tests, NULL, NULL)
