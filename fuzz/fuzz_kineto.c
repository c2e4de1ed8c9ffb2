/* Fuzzes the Kineto reader: small windows and several threads must give the same trace as a plain
 * sequential reading. */
#include "trace/kineto/window.h"

#include "../tests/unit/support/trace_text.h"
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

/* The whole trace as text, which reads every row. The caller frees it. */
static char *text_of(const pyro_trace *trace)
{
    char *text = trace ? trace_text(trace) : NULL;
    if (!text != !trace)
        abort();
    for (size_t i = 0; trace && i < trace->count; i++)
        if (trace->duration_ns[i] < 0)
            abort();
    return text;
}

static void expect_same(const uint8_t *data, size_t size, int threads, pyro_kineto_sizes sizes,
                        const char *expected)
{
    pyro_trace *trace = read_with(data, size, threads, sizes);
    char *text = text_of(trace);
    if (!text != !expected || (text && strcmp(text, expected) != 0))
        abort();
    free(text);
    pyro_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_trace *usual = read_with(data, size, 1, (pyro_kineto_sizes)PYRO_KINETO_SIZES);
    char *text = text_of(usual);
    expect_same(data, size, 1, (pyro_kineto_sizes){64, 1000, INT64_MAX}, text);
    if (size % 8 == 0)
        expect_same(data, size, 2, (pyro_kineto_sizes){100, 150, 0}, text);
    free(text);
    pyro_trace_close(usual);
    return 0;
}
