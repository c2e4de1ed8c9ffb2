/* Tests of trace/joins/graphs.c: layers of replayed CUDA graphs, by each source, and near misses. */
#include "trace/joins/joins.h"

#include "base/containers/buf.h"
#include "unit.h"
#include <pyrometer/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kernels[] = {"embed", "gemm", "softmax", "gemm", "norm", "gemm"};
#define KERNELS (sizeof kernels / sizeof *kernels)

static void event(pyro_buf *text, const char *category, const char *name, int pid, int tid,
                  int start_us, int length_us, const char *args)
{
    pyro_buf_addf(text,
                  "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
                  "\"dur\":%d,\"args\":{%s}},\n",
                  category, name, pid, tid, start_us, length_us, args);
}

static void work(pyro_buf *text, const char *name, int correlation, int node, int start_us)
{
    char args[160];
    snprintf(args, sizeof args,
             "\"device\":0,\"stream\":7,\"correlation\":%d,\"grid\":[1,1,1],\"block\":[32,1,1],"
             "\"graph node id\":%lld",
             correlation, node ? (7LL << 32) + node : 0LL);
    event(text, "kernel", name, 0, 7, start_us, 5, args);
}

/* A model of two layers that launches all kernels, from `start_us` on; with their work if eager. */
static void run_model(pyro_buf *text, int start_us, int correlation, bool is_eager)
{
    event(text, "python_function", "nn.Module: Net_0", 100, 1, start_us, 90, "");
    event(text, "python_function", "nn.Module: Linear_0", 100, 1, start_us + 10, 30, "");
    event(text, "python_function", "nn.Module: Linear_1", 100, 1, start_us + 50, 30, "");
    for (size_t i = 0; i < KERNELS; i++) {
        char args[64];
        int at = start_us + (i < 3 ? 11 : 51) + (int)(i % 3) * 5;
        snprintf(args, sizeof args, "\"correlation\":%d", correlation + (int)i);
        event(text, "cuda_runtime", "cudaLaunchKernel", 100, 1, at, 2, args);
        if (is_eager)
            work(text, kernels[i], correlation + (int)i, 0, at + 3);
    }
}

static void replay(pyro_buf *text, int start_us, int correlation, size_t count)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", correlation);
    event(text, "cuda_runtime", "cudaGraphLaunch", 100, 1, start_us, 5, args);
    for (size_t i = 0; i < count; i++)
        work(text, kernels[i], correlation, (int)i + 1, start_us + 10 + (int)i * 10);
}

/* The layers of the replayed kernels, as "Linear_0 Linear_0 - "; the caller frees it. */
static char *layers_of(pyro_buf *events, const char *annotations, pyro_graph_attribution *how)
{
    pyro_buf text = PYRO_BUF_INIT, found = PYRO_BUF_INIT;
    pyro_trace *trace = NULL;
    pyro_joins joins;
    pyro_error error;
    pyro_analysis_options options = {.step = -1, .annotations = annotations};
    pyro_error_clear(&error);
    pyro_buf_adds(&text, "{\"traceEvents\":[\n");
    pyro_buf_add(&text, events->data, events->length - 2);
    pyro_buf_adds(&text, "\n]}\n");
    pyro_buf_free(events);
    *events = (pyro_buf)PYRO_BUF_INIT;
    assert_int_equal(pyro_trace_open_memory(&trace, text.data, text.length, "x", NULL, &error),
                     PYRO_OK);
    assert_int_equal(pyro_joins_make(&joins, trace, &options, &error), PYRO_OK);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins.by_time[i], launch = joins.launch[event];
        if (trace->category[event] != PYRO_EVENT_KERNEL || launch == PYRO_NO_EVENT ||
            strcmp(pyro_event_name(trace, launch), "cudaGraphLaunch") != 0)
            continue;
        uint32_t call = joins.call[event];
        const char *path = call == PYRO_NO_LAYER ? "-" : joins.layers[joins.calls[call].layer].path;
        const char *dot = strncmp(path, "Net_0.", 6) ? path : path + 6;
        pyro_buf_addf(&found, "%s ", dot);
    }
    *how = joins.graphs;
    pyro_joins_free(&joins);
    pyro_trace_close(trace);
    pyro_buf_free(&text);
    return pyro_buf_detach(&found, NULL);
}

static void expect(pyro_buf *events, const char *annotations, const char *layers,
                   pyro_graph_source source, int64_t count)
{
    pyro_graph_attribution how;
    char *found = layers_of(events, annotations, &how);
    assert_string_equal(found, layers);
    for (int i = 0; i < PYRO_GRAPH_SOURCE_COUNT; i++)
        assert_int_equal(how.kernels[i], i == (int)source ? count : 0);
    free(found);
}

#define BOTH_LAYERS "Linear_0 Linear_0 Linear_0 Linear_1 Linear_1 Linear_1 "

static void capture_gives_layers(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    event(&text, "cuda_runtime", "cudaStreamBeginCapture", 100, 1, 90, 5, "");
    run_model(&text, 100, 1, false);
    event(&text, "cuda_runtime", "cudaStreamEndCapture", 100, 1, 300, 5, "");
    replay(&text, 400, 50, KERNELS);
    replay(&text, 600, 51, KERNELS);
    expect(&text, NULL, BOTH_LAYERS BOTH_LAYERS, PYRO_GRAPH_BY_CAPTURE, 2 * KERNELS);
}

static void eager_run_gives_layers(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    replay(&text, 100, 50, KERNELS);
    run_model(&text, 400, 1, true);
    expect(&text, NULL, BOTH_LAYERS, PYRO_GRAPH_BY_EAGER, KERNELS);
}

/* Near misses: nothing was captured or run eagerly; other launches; too few of the kernels. */
static void graphs_without_a_source_have_none(void **state)
{
    (void)state;
    pyro_buf text = PYRO_BUF_INIT;
    replay(&text, 100, 50, KERNELS);
    expect(&text, NULL, "- - - - - - ", PYRO_GRAPH_UNKNOWN, KERNELS);
    event(&text, "cuda_runtime", "cudaStreamBeginCapture", 100, 1, 90, 5, "");
    run_model(&text, 100, 1, false);
    event(&text, "cuda_runtime", "cudaStreamEndCapture", 100, 1, 300, 5, "");
    replay(&text, 400, 50, KERNELS - 1);
    expect(&text, NULL, "- - - - - ", PYRO_GRAPH_UNKNOWN, KERNELS - 1);
    event(&text, "python_function", "nn.Module: Net_0", 100, 1, 100, 90, "");
    event(&text, "cuda_runtime", "cudaLaunchKernel", 100, 1, 110, 2, "\"correlation\":9");
    work(&text, "gemm", 9, 0, 120);
    replay(&text, 400, 50, KERNELS);
    expect(&text, NULL, "- - - - - - ", PYRO_GRAPH_UNKNOWN, KERNELS);
}

static void annotations_give_layers(void **state)
{
    (void)state;
    char path[] = "/tmp/pyro-annotations-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    fprintf(out, "{\"%lld\": [{\"name\": \"x\", \"layer\": \"_orig_mod.tok\", \"stream\": 7}],\n",
            (7LL << 32) + 1);
    for (long long i = 2; i <= 6; i++)
        fprintf(out,
                "\"%lld\": [{\"layer\": \"layers.0\"}, {\"name\": \"attention::layers.0.attn\","
                " \"layer\": \"layers.0.attn\", \"phase\": \"%s\"}],\n",
                (7LL << 32) + i, i < 5 ? "fwd" : "bwd");
    fprintf(out, "\"12\": [\"phase_A\"]}\n");
    fclose(out);
    pyro_buf text = PYRO_BUF_INIT;
    replay(&text, 400, 50, KERNELS);
    expect(&text, path,
           "tok layers.0.attn layers.0.attn layers.0.attn layers.0.attn layers.0.attn ",
           PYRO_GRAPH_BY_ANNOTATION, KERNELS);
    unlink(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(capture_gives_layers),
    cmocka_unit_test(eager_run_gives_layers),
    cmocka_unit_test(graphs_without_a_source_have_none),
    cmocka_unit_test(annotations_give_layers),
};

UNIT_TESTS(tests, NULL, NULL)
