/* Writes one event as Chrome JSON, with Kineto's keys and the layer that the event belongs to. */
#include "trace/chrome/put.h"

#include "trace/export/categories.h"

#include "base/json/json.h"

#include <string.h>

void pyro_chrome_begin_event(pyro_chrome *chrome, const char *kind, const char *name)
{
    pyro_json_begin_object(&chrome->json);
    pyro_json_member_string(&chrome->json, "ph", kind);
    pyro_json_member_string(&chrome->json, "name", name);
}

void pyro_chrome_time(pyro_chrome *chrome, const char *key, int64_t time_ns)
{
    pyro_json_key(&chrome->json, key);
    pyro_json_raw(&chrome->json, "");
    pyro_chrome_put_time(chrome, time_ns);
}

void pyro_chrome_place(pyro_chrome *chrome, const pyro_track *track)
{
    pyro_json_member_integer(&chrome->json, "pid", pyro_chrome_id(track->pid));
    pyro_json_member_integer(&chrome->json, "tid", pyro_chrome_id(track->tid));
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
    if (json)
        pyro_json_close(json);
    if (source)
        pyro_source_close(source);
    return kind == PYRO_JSON_END;
}

/* A copy of the text; empty when memory is out, and then the output buffer is marked as failed. */
static pyro_chrome_text keep_made(pyro_chrome *chrome, pyro_buf *made)
{
    const char *copy = made->failed ? NULL
                                    : pyro_arena_text(&chrome->arena, made->data, made->length);
    pyro_chrome_text text = {copy ? copy : "", copy ? (uint32_t)made->length : 0};
    pyro_buf_free(made);
    chrome->buf.failed |= !copy;
    return text;
}

static pyro_chrome_text quote(pyro_chrome *chrome, const char *text)
{
    pyro_buf made = PYRO_BUF_INIT;
    pyro_json_quote(&made, text, strlen(text));
    return keep_made(chrome, &made);
}

static pyro_chrome_text quoted(pyro_chrome *chrome, uint32_t text)
{
    if (text == PYRO_NO_ID)
        return (pyro_chrome_text){"\"\"", 2};
    if (!chrome->quoted[text].text)
        chrome->quoted[text] = quote(chrome, pyro_trace_text(chrome->trace, text));
    return chrome->quoted[text];
}

/* Converts frames, innermost first with ';' between them, to a JSON list, outermost first. */
static pyro_chrome_text make_frames(pyro_chrome *chrome, const char *stack)
{
    pyro_buf made = PYRO_BUF_INIT;
    const char *end = stack + strlen(stack);
    pyro_buf_addc(&made, '[');
    while (end > stack) {
        const char *begin = end;
        while (begin > stack && begin[-1] != ';' && begin[-1] != '\n')
            begin--;
        if (made.length > 1)
            pyro_buf_addc(&made, ',');
        pyro_json_quote(&made, begin, (size_t)(end - begin));
        end = begin > stack ? begin - 1 : stack;
    }
    pyro_buf_addc(&made, ']');
    return keep_made(chrome, &made);
}

static inline void put_text(pyro_chrome *chrome, pyro_chrome_text text)
{
    pyro_chrome_put(chrome, text.text, text.length);
}

/* Members of args: each ends in a comma; write_args removes the last one. Keys are literals. */
static inline void member_number(pyro_chrome *chrome, const char *key, int64_t value)
{
    pyro_chrome_put(chrome, key, strlen(key));
    pyro_chrome_put_integer(chrome, value);
    PUT(chrome, ",");
}

static inline void member_known(pyro_chrome *chrome, const char *key, int64_t value)
{
    if (value >= 0)
        member_number(chrome, key, value);
}

static inline void member_text(pyro_chrome *chrome, const char *key, uint32_t text)
{
    if (text == PYRO_NO_ID)
        return;
    pyro_chrome_put(chrome, key, strlen(key));
    put_text(chrome, quoted(chrome, text));
    PUT(chrome, ",");
}

/* Lists are kept as the file has them, so they may be damaged and are checked here. */
static inline void member_list(pyro_chrome *chrome, const char *key, uint32_t text)
{
    if (text == PYRO_NO_ID)
        return;
    if (!chrome->lists[text].text) {
        const char *list = pyro_trace_text(chrome->trace, text);
        bool is_sound = chrome->trace->is_recording || is_json(list);
        chrome->lists[text] = is_sound ? (pyro_chrome_text){list, (uint32_t)strlen(list)}
                                       : quoted(chrome, text);
    }
    pyro_chrome_put(chrome, key, strlen(key));
    put_text(chrome, chrome->lists[text]);
    PUT(chrome, ",");
}

static void member_stack(pyro_chrome *chrome, uint32_t text)
{
    if (text == PYRO_NO_ID)
        return;
    if (!chrome->trace->is_recording && !chrome->trace->has_frame_lists) {
        member_text(chrome, "\"Call stack\":", text);
        return;
    }
    if (!chrome->lists[text].text)
        chrome->lists[text] = make_frames(chrome, pyro_trace_text(chrome->trace, text));
    PUT(chrome, "\"Stack\":");
    put_text(chrome, chrome->lists[text]);
    PUT(chrome, ",");
}

static void member_real(pyro_chrome *chrome, const char *key, double value)
{
    pyro_json_writer json;
    if (value < 0)
        return;
    pyro_chrome_put(chrome, key, strlen(key));
    pyro_json_writer_init(&json, &chrome->buf, 0);
    pyro_json_number(&json, value);
    PUT(chrome, ",");
}

static void write_collective(pyro_chrome *chrome, uint32_t index)
{
    if (index == PYRO_NO_ID)
        return;
    const pyro_collective_detail *detail = &chrome->trace->collectives[index];
    member_text(chrome, "\"Collective name\":", detail->name);
    member_text(chrome, "\"dtype\":", detail->dtype);
    member_text(chrome, "\"Process Group Name\":", detail->group);
    member_text(chrome, "\"Process Group Description\":", detail->group_description);
    member_known(chrome, "\"In msg nelems\":", detail->in_elements);
    member_known(chrome, "\"Out msg nelems\":", detail->out_elements);
    member_known(chrome, "\"Group size\":", detail->group_size);
    member_known(chrome, "\"Rank\":", detail->rank);
    member_known(chrome, "\"Seq\":", detail->number);
    member_text(chrome, "\"Comms Id\":", detail->comms_id);
}

static void write_op(pyro_chrome *chrome, const pyro_op_detail *op)
{
    pyro_op_extra extra = pyro_trace_op_extra(chrome->trace, op);
    if (op->sequence != PYRO_NO_SEQUENCE)
        member_number(chrome, "\"Sequence number\":", op->sequence);
    if (op->sequence != PYRO_NO_SEQUENCE || op->forward_thread != 0)
        member_number(chrome, "\"Fwd thread id\":", op->forward_thread);
    member_list(chrome, "\"Input Dims\":", op->dims);
    member_list(chrome, "\"Input type\":", op->types);
    member_list(chrome, "\"Concrete Inputs\":", op->concrete);
    member_list(chrome, "\"Output Dims\":", extra.outputs);
    member_stack(chrome, op->stack);
    member_text(chrome, "\"Module path\":", extra.path);
    write_collective(chrome, op->collective);
}

static void member_triple(pyro_chrome *chrome, const char *key, const uint32_t sizes[3])
{
    pyro_chrome_put(chrome, key, strlen(key));
    for (int i = 0; i < 3; i++) {
        pyro_chrome_put(chrome, i ? "," : "[", 1);
        pyro_chrome_put_integer(chrome, sizes[i]);
    }
    PUT(chrome, "],");
}

static void write_kernel(pyro_chrome *chrome, const pyro_kernel_detail *kernel)
{
    member_triple(chrome, "\"grid\":", kernel->grid);
    member_triple(chrome, "\"block\":", kernel->block);
    member_number(chrome, "\"registers per thread\":", kernel->registers);
    member_number(chrome, "\"shared memory\":", kernel->shared_memory_bytes);
    member_real(chrome, "\"blocks per SM\":", kernel->blocks_per_sm);
    member_real(chrome, "\"warps per SM\":", kernel->warps_per_sm);
    member_real(chrome, "\"est. achieved occupancy %\":", kernel->occupancy_percent);
    if (kernel->graph_id != 0 || kernel->graph_node != 0) {
        member_number(chrome, "\"graph id\":", kernel->graph_id);
        member_number(chrome, "\"graph node id\":", (int64_t)kernel->graph_node);
    }
    member_list(chrome, "\"occupancy\":", kernel->occupancy);
    if (kernel->priority != PYRO_NO_PRIORITY)
        member_number(chrome, "\"priority\":", kernel->priority);
    member_known(chrome, "\"channel\":", kernel->queue.channel);
    member_known(chrome, "\"channel_type\":", kernel->queue.channel_type);
    member_known(chrome, "\"hsa_queue\":", kernel->queue.hsa_queue);
    write_collective(chrome, kernel->collective);
}

static void write_memory(pyro_chrome *chrome, const pyro_memory_detail *memory)
{
    member_number(chrome, "\"Addr\":", memory->address);
    member_number(chrome, "\"Bytes\":", memory->bytes);
    member_number(chrome, "\"Device Type\":", memory->device_type);
    member_number(chrome, "\"Device Id\":", memory->device_index);
    member_known(chrome, "\"Total Allocated\":", memory->total_allocated);
    member_known(chrome, "\"Total Reserved\":", memory->total_reserved);
}

static void write_sync(pyro_chrome *chrome, const pyro_sync_detail *sync)
{
    member_text(chrome, "\"cuda_sync_kind\":", sync->kind);
    if (sync->stream != PYRO_NO_STREAM)
        member_number(chrome, "\"stream\":", sync->stream);
    if (sync->wait_stream != PYRO_NO_STREAM)
        member_number(chrome, "\"wait_on_stream\":", sync->wait_stream);
    if (sync->wait_record != PYRO_NO_STREAM)
        member_number(chrome, "\"wait_on_cuda_event_record_corr_id\":", sync->wait_record);
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
        member_known(chrome, "\"bytes\":", trace->transfer_bytes[detail]);
        break;
    case PYRO_EVENT_SYNC:
        write_sync(chrome, &trace->syncs[detail]);
        break;
    case PYRO_EVENT_MEMORY:
        write_memory(chrome, &trace->memory[detail]);
        break;
    default:
        if (pyro_event_is_host(trace->category[event]))
            write_op(chrome, &trace->ops[detail]);
    }
}

static pyro_chrome_text path_of_layer(pyro_chrome *chrome, uint32_t call)
{
    const pyro_joins *joins = chrome->joins;
    uint32_t layer = joins->calls[call].layer;
    if (!chrome->layers[layer].text)
        chrome->layers[layer] = quote(chrome, joins->layers[layer].path);
    return chrome->layers[layer];
}

static void write_args(pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    const pyro_track *track = &trace->tracks[trace->track[event]];
    uint32_t call = chrome->joins->call[event];

    PUT(chrome, ",\"args\":{");
    if (trace->external_id[event] != 0)
        member_number(chrome, "\"External id\":", trace->external_id[event]);
    if (trace->correlation[event] != 0)
        member_number(chrome, "\"correlation\":", trace->correlation[event]);
    if (pyro_event_is_device_work(trace->category[event])) {
        member_number(chrome, "\"device\":", track->device);
        member_number(chrome, "\"stream\":", track->stream);
    }
    write_detail(chrome, event);
    if (trace->is_recording)
        member_number(chrome, "\"Ev Idx\":", chrome->written);
    if (call != PYRO_NO_LAYER) {
        PUT(chrome, "\"layer\":");
        put_text(chrome, path_of_layer(chrome, call));
        PUT(chrome, ",");
    }
    if (chrome->joins->phase[event] != PYRO_PHASE_OTHER) {
        PUT(chrome, "\"phase\":\"");
        const char *phase = pyro_phase_name((pyro_phase)chrome->joins->phase[event]);
        pyro_chrome_put(chrome, phase, strlen(phase));
        PUT(chrome, "\",");
    }
    if (!chrome->buf.failed && chrome->buf.data[chrome->buf.length - 1] == ',')
        chrome->buf.length--;
    PUT(chrome, "}");
}

/* Writes one end of the arrow from a launch to its work. */
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
    const pyro_track *track = &trace->tracks[trace->track[event]];
    uint8_t category = trace->category[event];
    bool instant = category == PYRO_EVENT_MEMORY;
    uint32_t launch = pyro_event_is_device_work(category) ? chrome->joins->launch[event]
                                                          : PYRO_NO_EVENT;

    pyro_json_raw(&chrome->json, ""); /* the comma */
    if (instant)
        PUT(chrome, "{\"ph\":\"i\",\"name\":");
    else
        PUT(chrome, "{\"ph\":\"X\",\"name\":");
    put_text(chrome, quoted(chrome, trace->name[event]));
    PUT(chrome, ",\"cat\":\"");
    const char *name = pyro_event_category_name(trace, event);
    pyro_chrome_put(chrome, name, strlen(name));
    PUT(chrome, "\",\"pid\":");
    pyro_chrome_put_integer(chrome, pyro_chrome_id(track->pid));
    PUT(chrome, ",\"tid\":");
    pyro_chrome_put_integer(chrome, pyro_chrome_id(track->tid));
    PUT(chrome, ",\"ts\":");
    pyro_chrome_put_time(chrome, trace->start_ns[event]);
    if (instant) {
        PUT(chrome, ",\"s\":\"t\"");
    } else {
        PUT(chrome, ",\"dur\":");
        pyro_chrome_put_time(chrome, trace->duration_ns[event]);
    }
    write_args(chrome, event);
    PUT(chrome, "}");
    chrome->written++;
    if (launch != PYRO_NO_EVENT && chrome->selection->keep[launch]) {
        write_arrow_end(chrome, launch, event, false);
        write_arrow_end(chrome, event, event, true);
    }
}
