/* Fuzzes the reader of recordings and the users of its rows: analysis, Chrome JSON, graphs. */
#include "trace/trace.h"

#include <pyrometer/graph.h>
#include <pyrometer/recording.h>
#include <pyrometer/report.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int discard_bytes(void *user, const char *bytes, size_t size, pyro_error *error)
{
    (void)user;
    (void)bytes;
    (void)size;
    (void)error;
    return PYRO_OK;
}

static void check_rows(const pyro_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->duration_ns[i] < 0 || trace->track[i] >= trace->track_count)
            abort();
        if (trace->name[i] != PYRO_NO_ID && trace->name[i] >= trace->names.count)
            abort();
        if (trace->category[i] == PYRO_EVENT_MEMORY && trace->detail[i] >= trace->memory_count)
            abort();
    }
}

static void build_graphs(pyro_trace *trace)
{
    pyro_program *program;
    if (pyro_program_of_trace(&program, trace, NULL) != PYRO_OK)
        return;
    for (int granularity = 0; granularity < PYRO_GRANULARITY_COUNT; granularity++) {
        pyro_dataflow_options options = {(pyro_granularity)granularity, PYRO_LEVEL_HIGH};
        pyro_dataflow *graph;
        pyro_cuts cuts;
        char *text;
        if (pyro_dataflow_build(&graph, program, &options, NULL) != PYRO_OK)
            continue;
        if (pyro_cuts_find(&cuts, graph, 2, 1000, NULL) == PYRO_OK)
            pyro_cuts_free(&cuts);
        if (pyro_report_graph(&text, NULL, graph, NULL, NULL) == PYRO_OK)
            pyro_free(text);
        pyro_dataflow_free(graph);
    }
    pyro_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_analysis_options options = {.step = -1, .threads = 1};
    pyro_analysis *analysis;
    pyro_trace *trace;
    pyro_error error;
    uint8_t *copy = malloc(size + 8);
    if (!copy)
        return 0;
    /* Input without the magic would go to another reader. */
    memcpy(copy, data, size);
    memcpy(copy, PYRO_RECORDING_MAGIC, size < 8 ? size : 8);
    pyro_error_clear(&error);
    if (pyro_trace_open_memory(&trace, copy, size, "fuzz", NULL, &error) == PYRO_OK) {
        check_rows(trace);
        if (pyro_trace_analyze(&analysis, trace, &options, &error) == PYRO_OK)
            pyro_analysis_free(analysis);
        pyro_trace_write_chrome(trace, &options, discard_bytes, NULL, &error);
        build_graphs(trace);
        pyro_trace_close(trace);
    }
    free(copy);
    return 0;
}
