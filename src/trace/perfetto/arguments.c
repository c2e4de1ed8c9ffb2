/* Writes the details of events as annotations: layer, phase, shapes, launch geometry, bytes. */
#include "trace/perfetto/perfetto.h"

static void put_id(pyro_perfetto *perfetto, const char *name, uint64_t id)
{
    size_t entry = pyro_message_begin(&perfetto->buf, EVENT_ANNOTATIONS);

    pyro_message_text(&perfetto->buf, ANNOTATION_NAME, name);
    pyro_message_number(&perfetto->buf, ANNOTATION_TEXT_ID, id);
    pyro_message_end(&perfetto->buf, entry);
}

static void put_text(pyro_perfetto *perfetto, const char *name, uint32_t text)
{
    if (text != PYRO_NO_ID)
        put_id(perfetto, name, pyro_perfetto_value(perfetto, text));
}

static void put_plain(pyro_perfetto *perfetto, const char *name, const char *text)
{
    size_t entry = pyro_message_begin(&perfetto->buf, EVENT_ANNOTATIONS);

    pyro_message_text(&perfetto->buf, ANNOTATION_NAME, name);
    pyro_message_text(&perfetto->buf, ANNOTATION_TEXT, text);
    pyro_message_end(&perfetto->buf, entry);
}

void pyro_perfetto_argument(pyro_perfetto *perfetto, const char *name, int64_t value)
{
    size_t entry = pyro_message_begin(&perfetto->buf, EVENT_ANNOTATIONS);

    pyro_message_text(&perfetto->buf, ANNOTATION_NAME, name);
    pyro_message_number(&perfetto->buf, ANNOTATION_INTEGER, (uint64_t)value);
    pyro_message_end(&perfetto->buf, entry);
}

static void put_known(pyro_perfetto *perfetto, const char *name, int64_t value)
{
    if (value >= 0)
        pyro_perfetto_argument(perfetto, name, value);
}

static void put_op(pyro_perfetto *perfetto, const pyro_op_detail *op)
{
    put_text(perfetto, "input shapes", op->dims);
    put_text(perfetto, "input types", op->types);
    put_text(perfetto, "output shapes", pyro_trace_op_extra(perfetto->trace, op).outputs);
    put_text(perfetto, "stack", op->stack);
    if (op->sequence != PYRO_NO_SEQUENCE)
        put_known(perfetto, "sequence", op->sequence);
}

static void put_kernel(pyro_perfetto *perfetto, const pyro_kernel_detail *kernel)
{
    static const char *const grid[] = {"grid x", "grid y", "grid z"};
    static const char *const block[] = {"block x", "block y", "block z"};

    for (int i = 0; i < 3; i++)
        pyro_perfetto_argument(perfetto, grid[i], kernel->grid[i]);
    for (int i = 0; i < 3; i++)
        pyro_perfetto_argument(perfetto, block[i], kernel->block[i]);
    pyro_perfetto_argument(perfetto, "registers per thread", kernel->registers);
    pyro_perfetto_argument(perfetto, "shared memory bytes", kernel->shared_memory_bytes);
}

static void put_detail(pyro_perfetto *perfetto, uint32_t event)
{
    const pyro_trace *trace = perfetto->trace;
    uint32_t detail = trace->detail[event];

    if (detail == PYRO_NO_ID)
        return;
    switch (trace->category[event]) {
    case PYRO_EVENT_KERNEL:
        put_kernel(perfetto, &trace->kernels[detail]);
        break;
    case PYRO_EVENT_MEMCPY:
    case PYRO_EVENT_MEMSET:
        put_known(perfetto, "bytes", trace->transfer_bytes[detail]);
        break;
    case PYRO_EVENT_SYNC:
        put_text(perfetto, "kind", trace->syncs[detail].kind);
        break;
    case PYRO_EVENT_MEMORY:
        pyro_perfetto_argument(perfetto, "bytes", trace->memory[detail].bytes);
        break;
    default:
        if (pyro_event_is_host(trace->category[event]))
            put_op(perfetto, &trace->ops[detail]);
    }
}

void pyro_perfetto_arguments(pyro_perfetto *perfetto, uint32_t event)
{
    const pyro_joins *joins = perfetto->joins;
    uint32_t call = joins->call[event];

    if (call != PYRO_NO_LAYER)
        put_id(perfetto, "layer", pyro_perfetto_layer(perfetto, joins->calls[call].layer));
    if (joins->phase[event] != PYRO_PHASE_OTHER)
        put_plain(perfetto, "phase", pyro_phase_name((pyro_phase)joins->phase[event]));
    if (perfetto->trace->correlation[event] != 0)
        pyro_perfetto_argument(perfetto, "correlation", perfetto->trace->correlation[event]);
    put_detail(perfetto, event);
}
