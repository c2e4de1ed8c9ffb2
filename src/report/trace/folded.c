/* Writes stacks for flame-graph tools: "outer;inner;kernel 12345", in nanoseconds. */
#include "report/trace/rows.h"
#include "report/writers.h"

#include "base/text/printable.h"

#include <string.h>

/* A line end inside a frame would start a new stack. */
static void add_frames(pyro_buf *buf, const char *frames)
{
    for (const char *end = frames + strlen(frames); frames < end;) {
        bool printable;
        size_t size = pyro_next_character(frames, end, &printable);

        if (printable)
            pyro_buf_add(buf, frames, size);
        else
            pyro_buf_addc(buf, *frames == '\n' || *frames == '\r' ? ' ' : '?');
        frames += size;
    }
}

void pyro_write_trace_folded(pyro_buf *buf, const pyro_analysis *analysis)
{
    bool on_host = pyro_trace_on_host(analysis);

    for (size_t i = 0; i < analysis->stack_count; i++) {
        const pyro_stack_row *row = &analysis->stacks[i];
        int64_t weight_ns = on_host ? row->host_self_ns : row->device_ns;

        if (weight_ns <= 0)
            continue;
        add_frames(buf, row->frames);
        pyro_buf_addf(buf, " %lld\n", (long long)weight_ns);
    }
}
