/* Tests of analyze/defects: a small trace with each defect, and near misses. */
#include "base/containers/buf.h"
#include "unit.h"
#include <pyrometer/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void event(pyro_buf *text, const char *category, const char *name, int pid, int tid,
                  int start_us, int length_us, const char *args)
{
    pyro_buf_addf(text,
                  "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
                  "\"dur\":%d,\"args\":{%s}},\n",
                  category, name, pid, tid, start_us, length_us, args);
}

static void launch(pyro_buf *text, int id, int start_us)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", id);
    event(text, "cuda_runtime", "cudaLaunchKernel", 100, 1, start_us, 5, args);
}

static void kernel(pyro_buf *text, int id, int start_us, int length_us)
{
    char args[80];
    snprintf(args, sizeof args, "\"device\":0,\"stream\":7,\"correlation\":%d", id);
    event(text, "kernel", "gemm", 0, 7, start_us, length_us, args);
}

/* `count` launches, 100 us apart; those from `first` up to `last` have kernels. */
static void launches(pyro_buf *text, int count, int first, int last)
{
    for (int i = 0; i < count; i++) {
        launch(text, i + 1, 1000 + i * 100);
        if (i >= first && i < last)
            kernel(text, i + 1, 1010 + i * 100, 50);
    }
}

/* "id:count " of all defects of the trace with these events; the caller frees it. */
static char *check(pyro_buf *events)
{
    pyro_buf text = PYRO_BUF_INIT, found = PYRO_BUF_INIT;
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    pyro_buf_adds(&text, "{\"traceEvents\":[\n");
    pyro_buf_add(&text, events->data, events->length - 2);
    pyro_buf_adds(&text, "\n]}\n");
    pyro_buf_free(events);
    *events = (pyro_buf)PYRO_BUF_INIT;
    assert_int_equal(pyro_trace_open_memory(&trace, text.data, text.length, "test", NULL, &error),
                     PYRO_OK);
    assert_int_equal(pyro_trace_analyze(&analysis, trace, NULL, &error), PYRO_OK);
    pyro_buf_adds(&found, "");
    for (size_t i = 0; i < analysis->defect_count; i++)
        pyro_buf_addf(&found, "%s:%lld ", analysis->defects[i].id,
                      (long long)analysis->defects[i].count);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    pyro_buf_free(&text);
    pyro_buf_addc(&found, '\0');
    return pyro_buf_detach(&found, NULL);
}

static void expect(pyro_buf *events, const char *defects)
{
    char *found = check(events);
    assert_string_equal(found, defects);
    free(found);
}

static void lost_kernels(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    launches(&text, 40, 0, 40);
    expect(&text, "");
    launches(&text, 40, 12, 40);
    expect(&text, "lost-kernel-prefix:12 ");
    launches(&text, 40, 0, 33);
    expect(&text, "lost-kernel-suffix:7 ");
    launches(&text, 40, 2, 38); /* near miss: a few at both ends */
    expect(&text, "");
    launches(&text, 40, 40, 40);
    expect(&text, "no-device-events:40 ");
    event(&text, "cpu_op", "aten::record_stream", 100, 1, 900, 5, "");
    expect(&text, "no-device-events:1 ");
    event(&text, "cpu_op", "aten::mm", 100, 1, 900, 5, ""); /* near miss: a run without a device */
    expect(&text, "");
    launches(&text, 20, 0, 20);
    for (int i = 0; i < 20; i++) {
        launch(&text, 100 + i, 4000 + i * 100);
        if (i % 2)
            kernel(&text, 100 + i, 4010 + i * 100, 50);
    }
    expect(&text, "lost-kernels:10 ");
}

/* Launches while a graph is captured run nothing. */
static void captured_launches_are_whole(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    event(&text, "cuda_runtime", "cudaStreamBeginCapture", 100, 1, 900, 5, "");
    launches(&text, 10, 10, 10);
    event(&text, "cuda_runtime", "cudaStreamEndCapture", 100, 1, 2500, 5, "");
    for (int i = 0; i < 10; i++) {
        launch(&text, 50 + i, 3000 + i * 100);
        kernel(&text, 50 + i, 3010 + i * 100, 50);
    }
    expect(&text, "");
}

static void missing_launches(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    kernel(&text, 200, 500, 50);
    launches(&text, 10, 0, 10);
    kernel(&text, 201, 5000, 50);
    kernel(&text, 202, 5100, 50);
    expect(&text, "missing-launches:2 launched-before:1 ");
}

static void clocks_disagree(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    launches(&text, 10, 0, 10);
    launch(&text, 50, 5000);
    kernel(&text, 50, 4990, 50);
    launch(&text, 51, 6000);
    kernel(&text, 51, 5999, 50); /* near miss: 1 us */
    expect(&text, "kernel-before-launch:1 ");
}

static void sync_ids(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    launches(&text, 10, 0, 10);
    event(&text, "cuda_runtime", "cudaEventRecord", 100, 1, 2100, 2, "\"correlation\":60");
    event(&text, "cuda_runtime", "cudaEventRecord", 100, 1, 9000, 2, "\"correlation\":61");
#define WAIT(id) \
    event(&text, "cuda_sync", "Stream Wait Event", 0, 1000007, 2200 + id, 1, \
          "\"cuda_sync_kind\":\"Stream Wait Event\",\"stream\":7,\"device\":0," \
          "\"wait_on_cuda_event_record_corr_id\":" #id)
    WAIT(60);
    expect(&text, "");
    launches(&text, 10, 0, 10);
    event(&text, "cuda_runtime", "cudaEventRecord", 100, 1, 2100, 2, "\"correlation\":60");
    event(&text, "cuda_runtime", "cudaEventRecord", 100, 1, 9000, 2, "\"correlation\":61");
    WAIT(60);
    WAIT(61);
    WAIT(62);
    WAIT(-1);
#undef WAIT
    expect(&text, "bad-sync-ids:3 ");
}

static void overlaps(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    launches(&text, 10, 0, 10);
    launch(&text, 50, 5000);
    launch(&text, 51, 5010);
    kernel(&text, 50, 5100, 100);
    kernel(&text, 51, 5150, 100);
    event(&text, "python_function", "outer", 100, 1, 6000, 100, "");
    event(&text, "python_function", "late", 100, 1, 6050, 100, "");
    expect(&text, "overlapping-slices:1 overlapping-kernels:1 ");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(lost_kernels),     cmocka_unit_test(captured_launches_are_whole),
    cmocka_unit_test(missing_launches), cmocka_unit_test(clocks_disagree),
    cmocka_unit_test(sync_ids),         cmocka_unit_test(overlaps),
};

UNIT_TESTS(tests, NULL, NULL)
