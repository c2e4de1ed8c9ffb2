/* One event as Chrome JSON, with the keys that Kineto gives it and the layer that it belongs to. */
#include "trace/chrome.h"

#include "base/json.h"

#include <stdio.h>

static const char *const category_names[PYRO_EVENT_CATEGORY_COUNT] = {
    [PYRO_EVENT_OP] = "cpu_op",
    [PYRO_EVENT_ANNOTATION] = "user_annotation",
    [PYRO_EVENT_PYTHON] = "python_function",
    [PYRO_EVENT_RUNTIME] = "cuda_runtime",
    [PYRO_EVENT_DRIVER] = "cuda_driver",
    [PYRO_EVENT_KERNEL] = "kernel",
    [PYRO_EVENT_MEMCPY] = "gpu_memcpy",
    [PYRO_EVENT_MEMSET] = "gpu_memset",
    [PYRO_EVENT_SYNC] = "cuda_sync",
    [PYRO_EVENT_DEVICE_ANNOTATION] = "gpu_user_annotation",
    [PYRO_EVENT_MEMORY] = "cpu_instant_event",
    [PYRO_EVENT_OVERHEAD] = "overhead",
    [PYRO_EVENT_OTHER] = "other",
};

void pyro_chrome_begin_event(pyro_chrome *chrome, const char *kind, const char *name)
{
    pyro_json_begin_object(&chrome->json);
    pyro_json_member_string(&chrome->json, "ph", kind);
    pyro_json_member_string(&chrome->json, "name", name);
}

/* Microseconds with three decimals, exactly. */
void pyro_chrome_time(pyro_chrome *chrome, const char *key, int64_t time_ns)
{
    uint64_t size = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
    char text[40];

    snprintf(text, sizeof text, "%s%llu.%03u", time_ns < 0 ? "-" : "",
             (unsigned long long)(size / 1000), (unsigned)(size % 1000));
    pyro_json_key(&chrome->json, key);
    pyro_json_raw(&chrome->json, text);
}

/* A process or thread whose id is text is known by a hash; viewers want 31 bits. */
static int64_t shown_id(uint64_t id)
{
    return id >> 63 ? (int64_t)(id & 0x7fffffff) : (int64_t)id;
}

void pyro_chrome_place(pyro_chrome *chrome, const pyro_track *track)
{
    pyro_json_member_integer(&chrome->json, "pid", shown_id(track->pid));
    pyro_json_member_integer(&chrome->json, "tid", shown_id(track->tid));
}

static bool is_json(const char *text)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    pyro_json_kind kind = PYRO_JSON_ERROR;

    if (pyro_source_open_memory(&source, text, strlen(text), NULL) == PYRO_OK &&
        pyro_json_open(&json, source, NULL, NULL) == PYRO_OK) {
        do
            kind = pyro_json_next(json);
        while (kind != PYRO_JSON_END && kind != PYRO_JSON_ERROR);
    }
    if (json != NULL)
        pyro_json_close(json);
    if (source != NULL)
        pyro_source_close(source);
    return kind == PYRO_JSON_END;
}

/* Lists that were kept as they stood in the file: the file may have been damaged there. */
static void member_list(pyro_chrome *chrome, const char *key, uint32_t text)
{
    if (text == PYRO_NO_ID)
        return;
    if (chrome->text_is_json[text] == 0)
        chrome->text_is_json[text] = is_json(pyro_trace_text(chrome->trace, text)) ? 1 : 2;
    pyro_json_key(&chrome->json, key);
    if (chrome->text_is_json[text] == 1)
        pyro_json_raw(&chrome->json, pyro_trace_text(chrome->trace, text));
    else
        pyro_json_string(&chrome->json, pyro_trace_text(chrome->trace, text));
}

static void member_text(pyro_chrome *chrome, const char *key, uint32_t text)
{
    if (text != PYRO_NO_ID)
        pyro_json_member_string(&chrome->json, key, pyro_trace_text(chrome->trace, text));
}

static void member_known(pyro_chrome *chrome, const char *key, int64_t value)
{
    if (value >= 0)
        pyro_json_member_integer(&chrome->json, key, value);
}

static void write_collective(pyro_chrome *chrome, uint32_t index)
{
    if (index == PYRO_NO_ID)
        return;
    const pyro_collective_detail *detail = &chrome->trace->collectives[index];
    member_text(chrome, "Collective name", detail->name);
    member_text(chrome, "dtype", detail->dtype);
    member_text(chrome, "Process Group Name", detail->group);
    member_text(chrome, "Process Group Description", detail->group_description);
    member_known(chrome, "In msg nelems", detail->in_elements);
    member_known(chrome, "Out msg nelems", detail->out_elements);
    member_known(chrome, "Group size", detail->group_size);
    member_known(chrome, "Rank", detail->rank);
}

static void write_op(pyro_chrome *chrome, const pyro_op_detail *op)
{
    if (op->sequence != PYRO_NO_SEQUENCE)
        pyro_json_member_integer(&chrome->json, "Sequence number", op->sequence);
    if (op->sequence != PYRO_NO_SEQUENCE || op->forward_thread != 0)
        pyro_json_member_integer(&chrome->json, "Fwd thread id", op->forward_thread);
    member_list(chrome, "Input Dims", op->dims);
    member_list(chrome, "Input type", op->types);
    member_list(chrome, "Concrete Inputs", op->concrete);
    member_text(chrome, "Call stack", op->stack);
    write_collective(chrome, op->collective);
}

static void write_triple(pyro_chrome *chrome, const char *key, const uint32_t sizes[3])
{
    pyro_json_key(&chrome->json, key);
    pyro_json_begin_array(&chrome->json);
    for (int i = 0; i < 3; i++)
        pyro_json_integer(&chrome->json, sizes[i]);
    pyro_json_end_array(&chrome->json);
}

static void write_kernel(pyro_chrome *chrome, const pyro_kernel_detail *kernel)
{
    write_triple(chrome, "grid", kernel->grid);
    write_triple(chrome, "block", kernel->block);
    pyro_json_member_integer(&chrome->json, "registers per thread", kernel->registers);
    pyro_json_member_integer(&chrome->json, "shared memory", kernel->shared_memory_bytes);
    if (kernel->blocks_per_sm >= 0)
        pyro_json_member_number(&chrome->json, "blocks per SM", kernel->blocks_per_sm);
    if (kernel->warps_per_sm >= 0)
        pyro_json_member_number(&chrome->json, "warps per SM", kernel->warps_per_sm);
    if (kernel->occupancy_percent >= 0)
        pyro_json_member_number(&chrome->json, "est. achieved occupancy %",
                                kernel->occupancy_percent);
    if (kernel->graph_id != 0 || kernel->graph_node != 0) {
        pyro_json_member_integer(&chrome->json, "graph id", kernel->graph_id);
        pyro_json_member_integer(&chrome->json, "graph node id", kernel->graph_node);
    }
    write_collective(chrome, kernel->collective);
}

static void write_memory(pyro_chrome *chrome, const pyro_memory_detail *memory)
{
    pyro_json_member_integer(&chrome->json, "Addr", memory->address);
    pyro_json_member_integer(&chrome->json, "Bytes", memory->bytes);
    pyro_json_member_integer(&chrome->json, "Device Type", memory->device_type);
    pyro_json_member_integer(&chrome->json, "Device Id", memory->device_index);
    member_known(chrome, "Total Allocated", memory->total_allocated);
    member_known(chrome, "Total Reserved", memory->total_reserved);
}

static void write_detail(pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    uint32_t detail = trace->detail[event];

    if (detail == PYRO_NO_ID)
        return;
    switch (trace->category[event]) {
    case PYRO_EVENT_KERNEL:
        write_kernel(chrome, &trace->kernels[detail]);
        break;
    case PYRO_EVENT_MEMCPY:
    case PYRO_EVENT_MEMSET:
        member_known(chrome, "bytes", trace->transfer_bytes[detail]);
        break;
    case PYRO_EVENT_MEMORY:
        write_memory(chrome, &trace->memory[detail]);
        break;
    default:
        if (pyro_event_is_host(trace->category[event]))
            write_op(chrome, &trace->ops[detail]);
    }
}

static void write_args(pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    const pyro_track *track = &trace->tracks[trace->track[event]];
    uint32_t call = chrome->joins->call[event];

    pyro_json_key(&chrome->json, "args");
    pyro_json_begin_object(&chrome->json);
    if (trace->external_id[event] != 0)
        pyro_json_member_integer(&chrome->json, "External id", trace->external_id[event]);
    if (trace->correlation[event] != 0)
        pyro_json_member_integer(&chrome->json, "correlation", trace->correlation[event]);
    if (pyro_event_is_device_work(trace->category[event])) {
        pyro_json_member_integer(&chrome->json, "device", track->device);
        pyro_json_member_integer(&chrome->json, "stream", track->stream);
    }
    write_detail(chrome, event);
    if (call != PYRO_NO_LAYER) {
        const pyro_joins *joins = chrome->joins;
        pyro_json_member_string(&chrome->json, "layer",
                                joins->layers[joins->calls[call].layer].path);
    }
    if (chrome->joins->phase[event] != PYRO_PHASE_OTHER)
        pyro_json_member_string(&chrome->json, "phase",
                                pyro_phase_name((pyro_phase)chrome->joins->phase[event]));
    pyro_json_end_object(&chrome->json);
}

/* One end of the arrow from a launch to its work. */
static void write_arrow_end(pyro_chrome *chrome, uint32_t event, uint32_t id, bool is_end)
{
    const pyro_trace *trace = chrome->trace;

    pyro_chrome_begin_event(chrome, is_end ? "f" : "s", "ac2g");
    pyro_json_member_string(&chrome->json, "cat", "ac2g");
    pyro_json_member_integer(&chrome->json, "id", id);
    pyro_chrome_place(chrome, &trace->tracks[trace->track[event]]);
    pyro_chrome_time(chrome, "ts", trace->start_ns[event]);
    if (is_end)
        pyro_json_member_string(&chrome->json, "bp", "e");
    pyro_json_end_object(&chrome->json);
}

void pyro_chrome_event(pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    uint8_t category = trace->category[event];
    bool instant = category == PYRO_EVENT_MEMORY;
    uint32_t launch = pyro_event_is_device_work(category) ? chrome->joins->launch[event]
                                                          : PYRO_NO_EVENT;

    pyro_chrome_begin_event(chrome, instant ? "i" : "X", pyro_event_name(trace, event));
    pyro_json_member_string(&chrome->json, "cat", category_names[category]);
    pyro_chrome_place(chrome, &trace->tracks[trace->track[event]]);
    pyro_chrome_time(chrome, "ts", trace->start_ns[event]);
    if (instant)
        pyro_json_member_string(&chrome->json, "s", "t");
    else
        pyro_chrome_time(chrome, "dur", trace->duration_ns[event]);
    write_args(chrome, event);
    pyro_json_end_object(&chrome->json);
    if (launch != PYRO_NO_EVENT && chrome->keep[launch]) {
        write_arrow_end(chrome, launch, event, false);
        write_arrow_end(chrome, event, event, true);
    }
}
