/*
 * Fuzzes the Kineto reader: small windows, and pieces by threads must give what one reading in
 * order gives.
 */
#include "trace/kineto_reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static pyro_trace *read_with(const uint8_t *data, size_t size, int threads, pyro_kineto_sizes sizes)
{
    pyro_trace_options options = {.threads = threads};
    pyro_source *source;
    pyro_trace *trace = pyro_trace_new("fuzz");
    pyro_error error;
    pyro_error_clear(&error);
    if (!trace || pyro_source_open_memory(&source, data, size, &error) != PYRO_OK)
        abort();
    trace->file_bytes = (int64_t)size;
    int status = pyro_kineto_read_sized(trace, source, &options, sizes, &error);
    pyro_source_close(source);
    if (status != PYRO_OK) {
        pyro_trace_close(trace);
        return NULL;
    }
    return trace;
}

/* Touches all that a row refers to. */
static uint64_t sum_up(const pyro_trace *trace)
{
    uint64_t sum = trace->count * 31 + (uint64_t)trace->file_events + trace->warning_count;
    for (size_t i = 0; i < trace->count; i++) {
        sum = sum * 31 + (uint64_t)trace->start_ns[i] + (uint64_t)trace->duration_ns[i];
        sum = sum * 31 + strlen(pyro_event_name(trace, i)) + trace->correlation[i];
        sum = sum * 31 + trace->tracks[trace->track[i]].tid + trace->category[i];
        if (trace->duration_ns[i] < 0)
            abort();
        if (trace->category[i] == PYRO_EVENT_OP && trace->detail[i] != PYRO_NO_ID)
            sum += strlen(pyro_trace_text(trace, trace->ops[trace->detail[i]].dims));
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_trace *usual = read_with(data, size, 1, (pyro_kineto_sizes)PYRO_KINETO_SIZES);
    pyro_trace *small = read_with(data, size, 1, (pyro_kineto_sizes){64, 1000, INT64_MAX});
    if (!usual != !small || (usual && sum_up(usual) != sum_up(small)))
        abort();
    pyro_trace_close(small);
    if (size % 8 == 0) {
        pyro_trace *pieces = read_with(data, size, 2, (pyro_kineto_sizes){100, 150, 0});
        if (!usual != !pieces || (usual && sum_up(usual) != sum_up(pieces)))
            abort();
        pyro_trace_close(pieces);
    }
    pyro_trace_close(usual);
    return 0;
}
