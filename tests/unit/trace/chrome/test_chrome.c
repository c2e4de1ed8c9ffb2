/* Tests of the Chrome writer: its output is read back as the same trace; failing sinks and
 * allocations are reported. Also of the parts of layers, on the same small trace. */
#include "fail_alloc.h"
#include "trace/trace.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "unit.h"

#include <pyrometer/report.h>
#include <string.h>

static const char text[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\","
    " \"numSms\": 132}], \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 1,"
    " \"world_size\": 2}, \"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": ["
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"pid\": 1,"
    " \"tid\": 1, \"ts\": 0.001, \"dur\": 100},"
    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"nn.Module: Linear_0\", \"pid\": 1,"
    " \"tid\": 1, \"ts\": 1, \"dur\": 50},"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"pid\": 1, \"tid\": 1,"
    " \"ts\": 2, \"dur\": 40, \"args\": {\"Input Dims\": [[2, 3]], \"Sequence number\": 4,"
    " \"Fwd thread id\": 0}},"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::\\u00e9\\n\\\"mm\", \"pid\": 1,"
    " \"tid\": 1, \"ts\": 3, \"dur\": 30, \"args\": {\"Call stack\": \"a.py(1): f\"}},"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1,"
    " \"tid\": 1, \"ts\": 4, \"dur\": 5, \"args\": {\"correlation\": 7}},"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": 10,"
    " \"dur\": 12.345, \"args\": {\"correlation\": 7, \"device\": 0, \"stream\": 7,"
    " \"grid\": [4, 1, 1], \"block\": [32, 1, 1], \"est. achieved occupancy %\": 25}},"
    "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pinned -> Device)\","
    " \"pid\": 0, \"tid\": 7, \"ts\": 60, \"dur\": 2, \"args\": {\"bytes\": 4000, \"device\": 0,"
    " \"stream\": 7, \"correlation\": 8}},"
    "{\"ph\": \"i\", \"s\": \"t\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\","
    " \"pid\": 1, \"tid\": 1, \"ts\": 5, \"args\": {\"Addr\": 1, \"Bytes\": 64, \"Device Type\": 1,"
    " \"Device Id\": 0, \"Total Allocated\": 64, \"Total Reserved\": 128}}"
    "]}";

static int keep(void *user, const char *bytes, size_t size, pyro_error *error)
{
    (void)error;
    pyro_buf_add(user, bytes, size);
    return PYRO_OK;
}

static int refuse(void *user, const char *bytes, size_t size, pyro_error *error)
{
    (void)user;
    (void)bytes;
    (void)size;
    return pyro_fail(error, PYRO_ERROR_IO, "cannot write: No space left on device");
}

static pyro_trace *open_text(const char *bytes, size_t size)
{
    pyro_trace_options options = {.threads = 1};
    pyro_trace *trace;

    assert_int_equal(pyro_trace_open_memory(&trace, bytes, size, "test", &options, NULL), PYRO_OK);
    return trace;
}

static char *report_of(pyro_trace *trace)
{
    pyro_trace_report_options options = {.report = {.format = PYRO_FORMAT_JSON}, .depth = -1};
    pyro_analysis *analysis;
    char *json;

    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, NULL), PYRO_OK);
    trace->file_events = 0; /* adds counters and arrows, and loses no event */
    assert_int_equal(pyro_report_trace(&json, NULL, trace, analysis, &options, NULL), PYRO_OK);
    pyro_analysis_free(analysis);
    return json;
}

static void test_round_trip(void **state)
{
    (void)state;
    pyro_trace *trace = open_text(text, sizeof text - 1), *again;
    pyro_buf written = PYRO_BUF_INIT;
    char *before, *after;

    assert_int_equal(pyro_trace_write_chrome(trace, NULL, keep, &written, NULL), PYRO_OK);
    assert_non_null(strstr(written.data, "\"name\":\"queue length of device 0\""));
    assert_non_null(strstr(written.data, "\"MB/s\":2000}"));
    assert_non_null(strstr(written.data, "\"allocated bytes\":64"));
    assert_non_null(strstr(written.data, "\"ts\":0.001,\"dur\":100.000"));
    assert_non_null(strstr(written.data, "\"dur\":12.345"));
    assert_non_null(strstr(written.data, "\"rank\":1"));
    again = open_text(written.data, written.length);
    assert_int_equal(again->count, trace->count);
    before = report_of(trace);
    after = report_of(again);
    assert_string_equal(before, after);
    pyro_free(before);
    pyro_free(after);
    pyro_trace_close(again);
    pyro_trace_close(trace);
    pyro_buf_free(&written);
}

static void test_chosen_events(void **state)
{
    (void)state;
    pyro_analysis_options options = {.step = -1, .filter = "^gemm$"};
    pyro_trace *trace = open_text(text, sizeof text - 1);
    pyro_buf written = PYRO_BUF_INIT;

    assert_int_equal(pyro_trace_write_chrome(trace, &options, keep, &written, NULL), PYRO_OK);
    assert_non_null(strstr(written.data, "\"name\":\"gemm\""));
    assert_non_null(strstr(written.data, "\"name\":\"cudaLaunchKernel\""));
    assert_non_null(strstr(written.data, "\"name\":\"ProfilerStep#1\""));
    assert_null(strstr(written.data, "\"name\":\"aten::linear\""));
    assert_null(strstr(written.data, "Memcpy"));
    options.filter = "(";
    assert_int_equal(pyro_trace_write_chrome(trace, &options, keep, &written, NULL),
                     PYRO_ERROR_ARGUMENT);
    pyro_trace_close(trace);
    pyro_buf_free(&written);
}

static void test_failing_sink(void **state)
{
    (void)state;
    pyro_trace *trace = open_text(text, sizeof text - 1);
    pyro_error error;

    pyro_error_clear(&error);
    assert_int_equal(pyro_trace_write_chrome(trace, NULL, refuse, NULL, &error), PYRO_ERROR_IO);
    assert_string_equal(error.message, "cannot write: No space left on device");
    pyro_trace_close(trace);
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    pyro_trace *trace = open_text(text, sizeof text - 1);
    int status = PYRO_ERROR_MEMORY;

    for (long allowed = 0; status != PYRO_OK; allowed++) {
        pyro_buf written = PYRO_BUF_INIT;

        assert_non_null(pyro_buf_reserve(&written, 1 << 16));
        fail_alloc_after(allowed);
        status = pyro_trace_write_chrome(trace, NULL, keep, &written, NULL);
        fail_alloc_after(-1);
        assert_true(status == PYRO_OK || status == PYRO_ERROR_MEMORY);
        pyro_buf_free(&written);
    }
    status = PYRO_ERROR_MEMORY;
    for (long allowed = 0; status != PYRO_OK; allowed++) {
        pyro_layer_ops *ops;

        fail_alloc_after(allowed);
        status = pyro_trace_layer_ops(&ops, trace, NULL, NULL);
        fail_alloc_after(-1);
        assert_true(status == PYRO_OK || (status == PYRO_ERROR_MEMORY && !ops));
        pyro_layer_ops_free(ops);
    }
    pyro_trace_close(trace);
}

static void test_layer_ops(void **state)
{
    (void)state;
    pyro_trace *trace = open_text(text, sizeof text - 1);
    pyro_layer_ops *ops;

    assert_int_equal(pyro_trace_layer_ops(&ops, trace, NULL, NULL), PYRO_OK);
    assert_int_equal(ops->count, 2);
    assert_string_equal(ops->rows[0].layer, "Linear_0");
    assert_string_equal(ops->rows[0].op, "aten::linear");
    assert_string_equal(ops->rows[0].shapes, "[[2, 3]]");
    assert_int_equal(ops->rows[0].host_ns, 40000);
    assert_false(ops->rows[0].nested);
    assert_int_equal(ops->rows[1].host_ns, 0);
    assert_true(ops->rows[1].nested);
    assert_string_equal(ops->rows[1].shapes, "");
    pyro_layer_ops_free(ops);
    pyro_trace_close(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_chosen_events),
    cmocka_unit_test(test_failing_sink), cmocka_unit_test(test_memory_runs_out),
    cmocka_unit_test(test_layer_ops),
};

UNIT_TESTS(tests, NULL, NULL)
