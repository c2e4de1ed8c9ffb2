/* Decides which events are kept, and stores them as rows with category, track and details. */
#include "trace/kineto/scanner.h"

#include <stdlib.h>
#include <string.h>

uint8_t pyro_kineto_category(const char *text, size_t length)
{
    static const struct {
        const char *name;
        uint8_t category;
    } categories[] = {
        {"cpu_op", PYRO_EVENT_OP},
        {"Operator", PYRO_EVENT_OP},
        {"user_annotation", PYRO_EVENT_ANNOTATION},
        {"python_function", PYRO_EVENT_PYTHON},
        {"cuda_runtime", PYRO_EVENT_RUNTIME},
        {"Runtime", PYRO_EVENT_RUNTIME},
        {"hip_runtime", PYRO_EVENT_RUNTIME},
        {"mtia_runtime", PYRO_EVENT_RUNTIME},
        {"xpu_runtime", PYRO_EVENT_RUNTIME},
        {"glow_runtime", PYRO_EVENT_RUNTIME},
        {"privateuse1_runtime", PYRO_EVENT_RUNTIME},
        {"hpu_op", PYRO_EVENT_RUNTIME},
        {"cuda_driver", PYRO_EVENT_DRIVER},
        {"xpu_driver", PYRO_EVENT_DRIVER},
        {"privateuse1_driver", PYRO_EVENT_DRIVER},
        {"kernel", PYRO_EVENT_KERNEL},
        {"Kernel", PYRO_EVENT_KERNEL},
        {"mtia_ccp_events", PYRO_KINETO_MTIA},
        {"gpu_memcpy", PYRO_EVENT_MEMCPY},
        {"Memcpy", PYRO_EVENT_MEMCPY},
        {"gpu_memset", PYRO_EVENT_MEMSET},
        {"Memset", PYRO_EVENT_MEMSET},
        {"cuda_sync", PYRO_EVENT_SYNC},
        {"xpu_sync", PYRO_EVENT_SYNC},
        {"gpu_user_annotation", PYRO_EVENT_DEVICE_ANNOTATION},
        {"overhead", PYRO_EVENT_OVERHEAD},
        {"cpu_instant_event", PYRO_KINETO_INSTANT},
        {"layer", PYRO_KINETO_LAYER},
        {"pyrometer", PYRO_KINETO_DERIVED},
        {"fwdbwd", PYRO_KINETO_FORWARD_BACKWARD},
        {"forward_backward", PYRO_KINETO_FORWARD_BACKWARD},
        {"ac2g", PYRO_KINETO_OTHER_FLOW},
        {"async_cpu_to_gpu", PYRO_KINETO_OTHER_FLOW},
        {"async_gpu", PYRO_KINETO_OTHER_FLOW},
        {"async", PYRO_KINETO_OTHER_FLOW},
    };
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strlen(categories[i].name) == length && memcmp(categories[i].name, text, length) == 0)
            return categories[i].category;
    return PYRO_EVENT_OTHER;
}

unsigned pyro_kineto_group(const pyro_kineto_event *event)
{
    if (event->phase == 'C')
        return PYRO_GROUP_COUNTER;
    static const uint8_t groups[] = {
        [PYRO_EVENT_OP] = PYRO_GROUP_HOST,
        [PYRO_EVENT_ANNOTATION] = PYRO_GROUP_HOST,
        [PYRO_EVENT_PYTHON] = PYRO_GROUP_NONE,
        [PYRO_EVENT_RUNTIME] = PYRO_GROUP_RUNTIME,
        [PYRO_EVENT_DRIVER] = PYRO_GROUP_RUNTIME,
        [PYRO_EVENT_KERNEL] = PYRO_GROUP_KERNEL,
        [PYRO_EVENT_MEMCPY] = PYRO_GROUP_TRANSFER,
        [PYRO_EVENT_MEMSET] = PYRO_GROUP_TRANSFER,
        [PYRO_EVENT_SYNC] = PYRO_GROUP_TRANSFER,
        [PYRO_EVENT_DEVICE_ANNOTATION] = PYRO_GROUP_TRANSFER,
        [PYRO_EVENT_MEMORY] = PYRO_GROUP_MEMORY,
        [PYRO_EVENT_OVERHEAD] = PYRO_GROUP_NONE,
        [PYRO_EVENT_OTHER] = PYRO_GROUP_HOST,
        [PYRO_KINETO_FORWARD_BACKWARD] = PYRO_GROUP_NONE,
        [PYRO_KINETO_OTHER_FLOW] = PYRO_GROUP_NONE,
        [PYRO_KINETO_INSTANT] = PYRO_GROUP_MEMORY,
        [PYRO_KINETO_LAYER] = PYRO_GROUP_HOST,
        [PYRO_KINETO_DERIVED] = PYRO_GROUP_NONE,
        [PYRO_KINETO_MTIA] = PYRO_GROUP_TRANSFER,
        [PYRO_KINETO_UNKNOWN] = PYRO_GROUP_METADATA,
    };
    return groups[event->category];
}

static bool has(const pyro_kineto_event *event, unsigned field)
{
    return event->present >> field & 1;
}

static int64_t number_or(const pyro_kineto_event *event, unsigned field, int64_t other)
{
    return has(event, field) ? event->number[field] : other;
}

static uint32_t text_or_none(const pyro_kineto_event *event, unsigned field)
{
    return has(event, field) ? (uint32_t)event->number[field] : PYRO_NO_ID;
}

/* A positive number that fits into 32 bits; any other value becomes 0. */
static uint32_t small_or_zero(const pyro_kineto_event *event, unsigned field)
{
    int64_t number = number_or(event, field, 0);
    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* The track in the map, or PYRO_NO_ID; sets `key` to the key that it has or would get. */
static uint32_t look_up_track(const pyro_trace *trace, const pyro_map *map, uint64_t process,
                              uint64_t thread, uint64_t *key)
{
    *key = process * UINT64_C(0x9e3779b97f4a7c15) ^ thread;
    for (;; *key += UINT64_C(0x632be59bd9b4e019)) {
        uint32_t index = pyro_map_get(map, *key);
        if (index == PYRO_MAP_NONE)
            return PYRO_NO_ID;
        if (trace->tracks[index].pid == process && trace->tracks[index].tid == thread)
            return index;
    }
}

uint32_t pyro_trace_find_track(const pyro_trace *trace, const pyro_map *map, uint64_t process,
                               uint64_t thread)
{
    uint64_t key;
    return look_up_track(trace, map, process, thread, &key);
}

uint32_t pyro_trace_track(pyro_trace *trace, pyro_map *map, uint64_t process, uint64_t thread)
{
    uint64_t key;
    uint32_t index = look_up_track(trace, map, process, thread, &key);
    if (index != PYRO_NO_ID)
        return index;
    if (trace->track_count > PYRO_LAST_TRACK)
        return PYRO_LAST_TRACK;
    /* The last track stands for all later ones, so it is not entered under its first thread. */
    if (!pyro_grow(&trace->tracks, &trace->track_capacity, trace->track_count + 1,
                   sizeof *trace->tracks) ||
        (trace->track_count < PYRO_LAST_TRACK &&
         !pyro_map_put(map, key, (uint32_t)trace->track_count)))
        return PYRO_NO_ID;
    trace->tracks[trace->track_count] = (pyro_track){
        .pid = process, .tid = thread, .name = PYRO_NO_ID, .device = -1, .stream = -1};
    return (uint32_t)trace->track_count++;
}

static bool find_track(pyro_kineto_scanner *scanner, uint16_t *track)
{
    const pyro_kineto_event *event = &scanner->event;
    if (scanner->last_track == PYRO_NO_ID || event->process != scanner->last_process ||
        event->thread != scanner->last_thread) {
        uint32_t found = pyro_trace_track(scanner->out, &scanner->tracks, event->process,
                                          event->thread);
        if (found == PYRO_NO_ID)
            return false;
        scanner->last_track = found;
        scanner->last_process = event->process;
        scanner->last_thread = event->thread;
    }
    *track = (uint16_t)scanner->last_track;
    return true;
}

static void mark_device(pyro_track *track, const pyro_kineto_event *event)
{
    int64_t process = event->process >> 63 ? -1 : (int64_t)event->process;
    int64_t thread = event->thread >> 63 ? event->thread_number : (int64_t)event->thread;
    /* The legacy exporter's threads are devices. */
    int64_t device = number_or(event, PYRO_FIELD_DEVICE, event->named == 'g' ? thread : process);
    track->is_device = true;
    track->device = device >= 0 && device <= INT32_MAX ? (int32_t)device : -1;
    track->stream = number_or(event, PYRO_FIELD_STREAM, thread);
}

static bool note_wide_id(pyro_kineto_scanner *scanner, int kind, size_t index, uint64_t id)
{
    if (!pyro_grow(&scanner->wide_ids, &scanner->wide_capacity, scanner->wide_count + 1,
                   sizeof *scanner->wide_ids))
        return false;
    scanner->wide_ids[scanner->wide_count++] = (pyro_wide_id){
        .kind = kind, .index = (uint32_t)index, .id = id};
    return true;
}

/* An id column's value; 0 for no id, and for wide ids, which are noted. */
static bool narrow_id(pyro_kineto_scanner *scanner, unsigned field, int kind, uint32_t *id)
{
    int64_t number = number_or(&scanner->event, field, 0);
    *id = number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
    return number < UINT32_MAX ||
           note_wide_id(scanner, kind, scanner->out->count, (uint64_t)number);
}

static bool narrow_ids(pyro_kineto_scanner *scanner, uint32_t *correlation, uint32_t *external_id)
{
    return narrow_id(scanner, PYRO_FIELD_CORRELATION, PYRO_WIDE_CORRELATION, correlation) &&
           narrow_id(scanner, PYRO_FIELD_EXTERNAL_ID, PYRO_WIDE_EXTERNAL, external_id);
}

static bool store_collective(pyro_trace *trace, const pyro_kineto_event *event, uint32_t *index)
{
    *index = PYRO_NO_ID;
    if (!has(event, PYRO_FIELD_COLLECTIVE))
        return true;
    if (!pyro_grow(&trace->collectives, &trace->collective_capacity, trace->collective_count + 1,
                   sizeof *trace->collectives))
        return false;
    *index = (uint32_t)trace->collective_count;
    trace->collectives[trace->collective_count++] = (pyro_collective_detail){
        .name = text_or_none(event, PYRO_FIELD_COLLECTIVE),
        .dtype = text_or_none(event, PYRO_FIELD_ELEMENT_TYPE),
        .group = text_or_none(event, PYRO_FIELD_GROUP_NAME),
        .group_description = text_or_none(event, PYRO_FIELD_GROUP_DESCRIPTION),
        .in_elements = number_or(event, PYRO_FIELD_IN_ELEMENTS, -1),
        .out_elements = number_or(event, PYRO_FIELD_OUT_ELEMENTS, -1),
        .group_size = number_or(event, PYRO_FIELD_GROUP_SIZE, -1),
        .rank = number_or(event, PYRO_FIELD_RANK, -1),
        .number = number_or(event, PYRO_FIELD_COLLECTIVE_NUMBER, -1),
        .comms_id = text_or_none(event, PYRO_FIELD_COMMS_ID),
    };
    return true;
}

#define FIELD(name) (UINT64_C(1) << PYRO_FIELD_##name)

/* Adds the detail of an op, if the event has any. Most calls of the runtime have none. */
static bool store_op(pyro_trace *trace, const pyro_kineto_event *event, uint32_t *detail)
{
    const uint64_t extra_fields = FIELD(OUTPUTS) | FIELD(PATH);
    const uint64_t fields = FIELD(SEQUENCE) | FIELD(DIMS) | FIELD(TYPES) | FIELD(CONCRETE) |
                            FIELD(STACK) | FIELD(FRAMES) | FIELD(COLLECTIVE) | extra_fields;
    if (!(event->present & fields))
        return true;
    int64_t sequence = number_or(event, PYRO_FIELD_SEQUENCE, -1);
    pyro_op_detail op = {.sequence = sequence < 0 ? PYRO_NO_SEQUENCE : sequence,
                         .forward_thread = small_or_zero(event, PYRO_FIELD_FORWARD_THREAD),
                         .dims = text_or_none(event, PYRO_FIELD_DIMS),
                         .types = text_or_none(event, PYRO_FIELD_TYPES),
                         .concrete = text_or_none(event, PYRO_FIELD_CONCRETE),
                         .strides = text_or_none(event, PYRO_FIELD_STRIDES),
                         .stack = text_or_none(event, PYRO_FIELD_STACK),
                         .extra = PYRO_NO_ID};
    pyro_op_extra extra = {.outputs = text_or_none(event, PYRO_FIELD_OUTPUTS),
                           .path = text_or_none(event, PYRO_FIELD_PATH)};
    if (has(event, PYRO_FIELD_FRAMES))
        op.stack = text_or_none(event, PYRO_FIELD_FRAMES);
    if (!store_collective(trace, event, &op.collective) ||
        (event->present & extra_fields && !pyro_trace_add_op_extra(trace, &extra, &op.extra)))
        return false;
    if (sequence < 0 &&
        (op.dims & op.types & op.concrete & op.stack & op.collective & op.extra) == PYRO_NO_ID)
        return true;
    if (!pyro_grow(&trace->ops, &trace->op_capacity, trace->op_count + 1, sizeof *trace->ops))
        return false;
    trace->has_shapes |= op.dims != PYRO_NO_ID && extra.path == PYRO_NO_ID; /* of ops */
    trace->has_paths |= extra.path != PYRO_NO_ID;
    trace->has_stacks |= op.stack != PYRO_NO_ID;
    trace->has_frame_lists |= op.stack != PYRO_NO_ID; /* possibly; the end of reading decides */
    *detail = (uint32_t)trace->op_count;
    trace->ops[trace->op_count++] = op;
    return true;
}

/* A number of at most 31 bits; any other value becomes `other`. */
static int32_t narrow_or(const pyro_kineto_event *event, unsigned field, int32_t other)
{
    int64_t number = number_or(event, field, other);
    return number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : other;
}

static pyro_queue queue_of(const pyro_kineto_event *event)
{
    return (pyro_queue){.hsa_queue = number_or(event, PYRO_FIELD_HSA_QUEUE, -1),
                        .channel = narrow_or(event, PYRO_FIELD_CHANNEL, -1),
                        .channel_type = narrow_or(event, PYRO_FIELD_CHANNEL_TYPE, -1)};
}

static bool store_kernel(pyro_trace *trace, const pyro_kineto_event *event, uint32_t *detail)
{
    const uint64_t launch_fields = FIELD(GRID) | FIELD(BLOCK) | FIELD(REGISTERS) |
                                   FIELD(OCCUPANCY) | FIELD(GRAPH_ID) | FIELD(GRAPH_NODE) |
                                   FIELD(PRIORITY) | FIELD(CHANNEL) | FIELD(HSA_QUEUE) |
                                   FIELD(OCCUPANCY_DETAIL) | FIELD(COLLECTIVE) |
                                   FIELD(KERNEL_STACK);
    if (!(event->present & launch_fields))
        return true;
    pyro_kernel_detail kernel = {
        .registers = small_or_zero(event, PYRO_FIELD_REGISTERS),
        .shared_memory_bytes = small_or_zero(event, PYRO_FIELD_SHARED_MEMORY),
        .blocks_per_sm = has(event, PYRO_FIELD_BLOCKS_PER_SM)
                             ? event->real[PYRO_FIELD_BLOCKS_PER_SM]
                             : -1,
        .warps_per_sm = has(event, PYRO_FIELD_WARPS_PER_SM) ? event->real[PYRO_FIELD_WARPS_PER_SM]
                                                            : -1,
        .occupancy_percent = has(event, PYRO_FIELD_OCCUPANCY) ? event->real[PYRO_FIELD_OCCUPANCY]
                                                              : -1,
        .graph_id = small_or_zero(event, PYRO_FIELD_GRAPH_ID),
        .graph_node = (uint64_t)number_or(event, PYRO_FIELD_GRAPH_NODE, 0),
        .occupancy = text_or_none(event, PYRO_FIELD_OCCUPANCY_DETAIL),
        .stack = text_or_none(event, PYRO_FIELD_KERNEL_STACK),
        .priority = narrow_or(event, PYRO_FIELD_PRIORITY, PYRO_NO_PRIORITY),
        .queue = queue_of(event)};
    if (has(event, PYRO_FIELD_GRID))
        memcpy(kernel.grid, event->grid, sizeof kernel.grid);
    if (has(event, PYRO_FIELD_BLOCK))
        memcpy(kernel.block, event->block, sizeof kernel.block);
    if (!store_collective(trace, event, &kernel.collective) ||
        !pyro_grow(&trace->kernels, &trace->kernel_capacity, trace->kernel_count + 1,
                   sizeof *trace->kernels))
        return false;
    *detail = (uint32_t)trace->kernel_count;
    trace->kernels[trace->kernel_count++] = kernel;
    return true;
}

static bool store_memory(pyro_trace *trace, const pyro_kineto_event *event, bool out_of_memory,
                         uint32_t *detail)
{
    if (!pyro_grow(&trace->memory, &trace->memory_capacity, trace->memory_count + 1,
                   sizeof *trace->memory))
        return false;
    *detail = (uint32_t)trace->memory_count;
    trace->memory[trace->memory_count++] = (pyro_memory_detail){
        .address = number_or(event, PYRO_FIELD_ADDRESS, 0),
        .bytes = number_or(event, PYRO_FIELD_MEMORY_BYTES, 0),
        .total_allocated = number_or(event, PYRO_FIELD_TOTAL_ALLOCATED, -1),
        .total_reserved = number_or(event, PYRO_FIELD_TOTAL_RESERVED, -1),
        .device_type = (int16_t)number_or(event, PYRO_FIELD_DEVICE_TYPE, 0),
        .device_index = (int16_t)number_or(event, PYRO_FIELD_DEVICE_INDEX, -1),
        .out_of_memory = out_of_memory,
    };
    trace->has_memory = true;
    return true;
}

static bool store_transfer(pyro_trace *trace, const pyro_kineto_event *event, uint32_t *detail)
{
    if (!pyro_grow(&trace->transfer_bytes, &trace->transfer_capacity, trace->transfer_count + 1,
                   sizeof *trace->transfer_bytes))
        return false;
    *detail = (uint32_t)trace->transfer_count;
    trace->transfer_bytes[trace->transfer_count++] = number_or(event, PYRO_FIELD_BYTES, -1);
    return true;
}

static bool store_sync(pyro_trace *trace, const pyro_kineto_event *event, uint32_t *detail)
{
    if (!pyro_grow(&trace->syncs, &trace->sync_capacity, trace->sync_count + 1,
                   sizeof *trace->syncs))
        return false;
    *detail = (uint32_t)trace->sync_count;
    trace->syncs[trace->sync_count++] = (pyro_sync_detail){
        .kind = text_or_none(event, PYRO_FIELD_SYNC_KIND),
        .stream = number_or(event, PYRO_FIELD_STREAM, PYRO_NO_STREAM),
        .wait_stream = number_or(event, PYRO_FIELD_WAIT_STREAM, PYRO_NO_STREAM),
        .wait_record = number_or(event, PYRO_FIELD_WAIT_RECORD, PYRO_NO_STREAM)};
    return true;
}

static bool store_detail(pyro_trace *trace, const pyro_kineto_event *event, uint8_t category,
                         uint32_t *detail)
{
    *detail = PYRO_NO_ID;
    switch (category) {
    case PYRO_EVENT_KERNEL:
        return store_kernel(trace, event, detail);
    case PYRO_EVENT_MEMCPY:
    case PYRO_EVENT_MEMSET:
        return store_transfer(trace, event, detail);
    case PYRO_EVENT_SYNC:
        return store_sync(trace, event, detail);
    case PYRO_EVENT_MEMORY:
        return store_memory(trace, event, false, detail);
    case PYRO_EVENT_PYTHON:
        trace->has_stacks |= event->category == PYRO_EVENT_PYTHON;
        return event->category == PYRO_EVENT_PYTHON || store_op(trace, event, detail);
    default:
        return event->present == 0 || store_op(trace, event, detail);
    }
}

/* Notes on the track what device events tell of it. */
static void note_device(pyro_trace *trace, const pyro_kineto_event *event, uint16_t track,
                        uint8_t category)
{
    bool is_work = pyro_event_is_device_work(category);
    if (track == PYRO_LAST_TRACK)
        return;
    if ((is_work || category == PYRO_EVENT_SYNC || category == PYRO_EVENT_DEVICE_ANNOTATION) &&
        !trace->tracks[track].is_device)
        mark_device(&trace->tracks[track], event);
    trace->tracks[track].has_work |= is_work;
}

static bool store_row(pyro_kineto_scanner *scanner, uint8_t category)
{
    pyro_kineto_event *event = &scanner->event;
    pyro_trace *trace = scanner->out;
    uint32_t correlation = 0, external_id = 0, detail;
    uint16_t track;
    if (!event->has_start) {
        scanner->defects.count[PYRO_DEFECT_NO_TIME]++;
        return true;
    }
    if (event->duration_ns < 0) {
        event->duration_ns = 0;
        scanner->defects.count[PYRO_DEFECT_NEGATIVE_DURATION]++;
    }
    if (!event->has_duration && category != PYRO_EVENT_MEMORY)
        scanner->defects.count[PYRO_DEFECT_NO_DURATION]++;
    if ((trace->count == trace->capacity && !pyro_trace_reserve(trace, trace->count + 1)) ||
        !find_track(scanner, &track) ||
        (event->present && !narrow_ids(scanner, &correlation, &external_id)) ||
        !store_detail(trace, event, category, &detail))
        return false;
    if (!pyro_event_is_host(category))
        note_device(trace, event, track, category);
    size_t row = trace->count++;
    trace->start_ns[row] = event->start_ns;
    trace->duration_ns[row] = event->duration_ns;
    trace->name[row] = event->name;
    trace->correlation[row] = correlation;
    trace->external_id[row] = external_id;
    trace->detail[row] = detail;
    trace->track[row] = track;
    trace->category[row] = category;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether a word stands in a text, not as a part of another one. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strcasestr(at, word)); at++)
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[length]))
            return true;
    return false;
}

/* MTIA records waits of its streams and requests of its DMA engine like kernels. */
static uint8_t category_of_mtia(const pyro_kineto_scanner *scanner)
{
    uint32_t id = scanner->event.name;
    const char *name = id == PYRO_NO_ID ? "" : pyro_intern_text(scanner->names, id);
    if (!strcmp(name, "event_wait") || !strcmp(name, "event_record"))
        return PYRO_EVENT_SYNC;
    return has_word(name, "dma") ? PYRO_EVENT_MEMCPY : PYRO_EVENT_KERNEL;
}

static bool store_complete(pyro_kineto_scanner *scanner)
{
    const pyro_kineto_event *event = &scanner->event;
    uint8_t category = event->category;
    if (category == PYRO_KINETO_UNKNOWN)
        category = event->named == 'c'   ? PYRO_EVENT_OP
                   : event->named == 'g' ? PYRO_EVENT_KERNEL
                                         : PYRO_EVENT_OTHER;
    else if (category == PYRO_KINETO_LAYER)
        category = PYRO_EVENT_PYTHON;
    else if (category == PYRO_KINETO_MTIA)
        category = category_of_mtia(scanner);
    else if (category >= PYRO_EVENT_CATEGORY_COUNT)
        category = PYRO_EVENT_OTHER;
    return store_row(scanner, category);
}

static bool has_name(const pyro_kineto_scanner *scanner, const char *name)
{
    uint32_t id = scanner->event.name;
    return id != PYRO_NO_ID && strcmp(pyro_intern_text(scanner->names, id), name) == 0;
}

static bool store_instant(pyro_kineto_scanner *scanner)
{
    if (has_name(scanner, "[memory]"))
        return store_row(scanner, PYRO_EVENT_MEMORY);
    if (!has_name(scanner, "[OutOfMemory]"))
        return true;
    size_t before = scanner->out->memory_count;
    if (!store_row(scanner, PYRO_EVENT_MEMORY))
        return false;
    if (scanner->out->memory_count > before)
        scanner->out->memory[before].out_of_memory = true;
    return true;
}

static bool store_flow(pyro_kineto_scanner *scanner)
{
    const pyro_kineto_event *event = &scanner->event;
    pyro_trace *trace = scanner->out;
    uint16_t track;
    if (event->category != PYRO_KINETO_FORWARD_BACKWARD || !event->has_id || !event->has_start)
        return true;
    if (!find_track(scanner, &track) || !pyro_grow(&trace->flows, &trace->flow_capacity,
                                                   trace->flow_count + 1, sizeof *trace->flows))
        return false;
    if (event->id >= UINT32_MAX &&
        !note_wide_id(scanner, PYRO_WIDE_FLOW, trace->flow_count, event->id))
        return false;
    trace->flows[trace->flow_count++] = (pyro_flow){.id = (uint32_t)event->id,
                                                    .track = track,
                                                    .is_end = event->phase == 'f',
                                                    .time_ns = event->start_ns};
    return true;
}

static bool store_counter(pyro_kineto_scanner *scanner)
{
    const pyro_kineto_event *event = &scanner->event;
    pyro_trace *trace = scanner->out;
    uint16_t track;
    if (!scanner->series_count || !event->has_start || event->name == PYRO_NO_ID ||
        event->category == PYRO_KINETO_DERIVED)
        return true;
    if (!find_track(scanner, &track) ||
        !pyro_grow(&trace->counters, &trace->counter_capacity,
                   trace->counter_count + scanner->series_count, sizeof *trace->counters))
        return false;
    for (size_t i = 0; i < scanner->series_count; i++)
        trace->counters[trace->counter_count++] = (pyro_counter_sample){
            .name = event->name,
            .series = scanner->series[i].series,
            .track = track,
            .time_ns = event->start_ns,
            .value = scanner->series[i].value};
    return true;
}

static bool store_thread_name(pyro_kineto_scanner *scanner)
{
    const pyro_kineto_event *event = &scanner->event;
    if (!has(event, PYRO_FIELD_LABEL) || !has_name(scanner, "thread_name"))
        return true;
    if (!pyro_grow(&scanner->thread_names, &scanner->thread_name_capacity,
                   scanner->thread_name_count + 1, sizeof *scanner->thread_names))
        return false;
    scanner->thread_names[scanner->thread_name_count++] = (pyro_thread_name){
        event->process, event->thread, (uint32_t)event->number[PYRO_FIELD_LABEL]};
    return true;
}

/* Not inline: what the rare kinds of events need would cost all events. */
__attribute__((noinline)) static bool store_any(pyro_kineto_scanner *scanner)
{
    pyro_kineto_event *event = &scanner->event;
    if (event->defects)
        pyro_kineto_defects_count(&scanner->defects, event->defects);
    if (event->phase == 0) {
        scanner->defects.count[PYRO_DEFECT_NOT_EVENT]++;
        return true;
    }
    scanner->out->file_events++;
    switch (event->phase) {
    case 'X':
        return store_complete(scanner);
    case 'i':
    case 'I':
    case 'R':
        return store_instant(scanner);
    case 's':
    case 'f':
        return store_flow(scanner);
    case 'M':
        return store_thread_name(scanner);
    case 'C':
        return store_counter(scanner);
    case 'B':
    case 'E':
        scanner->defects.count[PYRO_DEFECT_BEGIN_END]++;
        return true;
    default:
        return true;
    }
}

/* Most events are complete ones of a category that traces have too. */
bool pyro_kineto_store(pyro_kineto_scanner *scanner)
{
    const pyro_kineto_event *event = &scanner->event;
    if (event->phase != 'X' || event->defects || event->category >= PYRO_EVENT_CATEGORY_COUNT)
        return store_any(scanner);
    scanner->out->file_events++;
    return store_row(scanner, event->category);
}
