/*
 * Turns recorded device work into rows. Work belongs to the part of a recording that its call is
 * in: kernels of a pass end after it. Kernels of a graph get the event that was open when their
 * node was created; nodes are cloned when a graph is instantiated, so that is looked up by steps.
 */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "trace/kineto/scanner.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CLONES 16
#define MOST_DEVICES 1024

bool pyro_recorded_work_add(pyro_recorded_work *work, const pyro_record *record)
{
    if (!pyro_grow(&work->items, &work->capacity, work->count + 1, sizeof *work->items))
        return false;
    memcpy(&work->items[work->count++], record, sizeof *record);
    return true;
}

bool pyro_recorded_work_call(pyro_recorded_work *work, const pyro_record *record, uint32_t row)
{
    bool starts = record->scope & PYRO_CALL_STARTS_KERNELS && row != PYRO_CALL_OUTSIDE &&
                  !(record->notes & (PYRO_NOTE_RAISED | PYRO_NOTE_CAPTURED));
    if (starts) {
        if (!pyro_grow(&work->launches, &work->launch_capacity, work->launch_count + 1,
                       sizeof *work->launches))
            return false;
        work->launches[work->launch_count++] = (uint32_t)record->sequence;
    }
    return pyro_map_put(&work->calls, (uint32_t)record->sequence, row);
}

bool pyro_recorded_work_node(pyro_recorded_work *work, const pyro_record *record, uint32_t row)
{
    pyro_graph_node_record node;
    memcpy(&node, record, sizeof node);
    if (!pyro_grow(&work->nodes, &work->node_capacity, work->node_count + 1, sizeof *work->nodes))
        return false;
    work->nodes[work->node_count++] = (pyro_recorded_node){node.node, node.original, row};
    return true;
}

void pyro_recorded_work_free(pyro_recorded_work *work)
{
    free(work->items);
    free(work->nodes);
    free(work->launches);
    pyro_map_free(&work->calls);
    pyro_map_free(&work->origins);
    *work = (pyro_recorded_work){0};
}

/* Everything about work that rows are made of. */
typedef struct placing {
    pyro_recording *recording;
    pyro_map node_index; /* node -> index into nodes; the latest one counts */
    pyro_map seen;       /* correlation of a launch with kernels */
} placing;

static bool index_nodes(placing *state)
{
    const pyro_recorded_work *work = &state->recording->work;
    for (size_t i = 0; i < work->node_count; i++)
        if (!pyro_map_put(&state->node_index, work->nodes[i].node, (uint32_t)i))
            return false;
    return true;
}

/* The row that was open when a node was created; PYRO_NO_EVENT. */
static uint32_t origin_of(const placing *state, uint64_t node)
{
    const pyro_recorded_node *nodes = state->recording->work.nodes;
    for (int step = 0; node && step < MOST_CLONES; step++) {
        uint32_t index = pyro_map_get(&state->node_index, node);
        if (index == PYRO_MAP_NONE)
            break;
        if (!nodes[index].original)
            return nodes[index].row;
        node = nodes[index].original;
    }
    return PYRO_NO_EVENT;
}

static uint32_t track_of(pyro_recording *recording, const pyro_device_record *work)
{
    pyro_trace *trace = recording->trace;
    bool is_overhead = work->work == PYRO_DEVICE_OVERHEAD;
    int64_t stream = work->stream == PYRO_DEVICE_NO_STREAM ? -1 : (int64_t)work->stream;
    uint64_t process = is_overhead ? (uint64_t)recording->header.process & INT64_MAX : work->device;
    uint64_t thread = is_overhead || stream < 0 ? 0 : (uint64_t)stream;
    uint32_t track = pyro_trace_track(trace, &recording->tracks, process, thread);
    if (track == PYRO_NO_ID || track >= trace->track_count || is_overhead ||
        track == PYRO_LAST_TRACK || trace->tracks[track].is_device)
        return track;
    trace->tracks[track].is_device = true;
    trace->tracks[track].device = work->device;
    trace->tracks[track].stream = stream;
    return track;
}

/* A kernel's configuration; zeros if it is missing. */
static pyro_launch_data launch_of(const pyro_recording *recording, uint32_t id)
{
    pyro_launch_data launch = {0};
    const pyro_recorded_data *data = pyro_recorded_get(recording->tables, PYRO_DATA_LAUNCH, id);
    if (data->bytes && data->length == sizeof launch)
        memcpy(&launch, data->bytes, sizeof launch);
    return launch;
}

static bool add_kernel(pyro_recording *recording, size_t row, const pyro_device_record *work)
{
    pyro_trace *trace = recording->trace;
    pyro_launch_data launch = launch_of(recording, work->launch);
    if (!pyro_grow(&trace->kernels, &trace->kernel_capacity, trace->kernel_count + 1,
                   sizeof *trace->kernels))
        return false;
    pyro_kernel_detail *detail = &trace->kernels[trace->kernel_count];
    *detail = (pyro_kernel_detail){.registers = launch.registers,
                                   .shared_memory_bytes = launch.static_shared_bytes +
                                                          launch.dynamic_shared_bytes,
                                   .blocks_per_sm = -1,
                                   .warps_per_sm = -1,
                                   .occupancy_percent = -1,
                                   .graph_id = work->graph,
                                   .graph_node = work->graph_node,
                                   .collective = PYRO_NO_ID,
                                   .occupancy = PYRO_NO_ID,
                                   .stack = PYRO_NO_ID,
                                   .priority = PYRO_NO_PRIORITY,
                                   .queue = {-1, -1, -1}};
    memcpy(detail->grid, launch.grid, sizeof detail->grid);
    memcpy(detail->block, launch.block, sizeof detail->block);
    trace->detail[row] = (uint32_t)trace->kernel_count++;
    return true;
}

static bool add_transfer(pyro_trace *trace, size_t row, int64_t bytes)
{
    if (!pyro_grow(&trace->transfer_bytes, &trace->transfer_capacity, trace->transfer_count + 1,
                   sizeof *trace->transfer_bytes))
        return false;
    trace->detail[row] = (uint32_t)trace->transfer_count;
    trace->transfer_bytes[trace->transfer_count++] = bytes >= 0 ? bytes : -1;
    return true;
}

static const uint8_t categories[] = {[PYRO_DEVICE_KERNEL] = PYRO_EVENT_KERNEL,
                                     [PYRO_DEVICE_COPY] = PYRO_EVENT_MEMCPY,
                                     [PYRO_DEVICE_SET] = PYRO_EVENT_MEMSET,
                                     [PYRO_DEVICE_SYNC] = PYRO_EVENT_SYNC,
                                     [PYRO_DEVICE_OVERHEAD] = PYRO_EVENT_OVERHEAD};

static bool add_row(placing *state, const pyro_device_record *work)
{
    pyro_recording *recording = state->recording;
    pyro_trace *trace = recording->trace;
    bool failed = false;
    uint32_t name = pyro_recording_name(recording, work->name, &failed);
    uint32_t track = track_of(recording, work), origin = origin_of(state, work->graph_node);
    if (failed || track == PYRO_NO_ID || !pyro_trace_reserve(trace, trace->count + 1))
        return false;
    size_t row = trace->count++;
    uint64_t end_raw = work->end_raw < work->start_raw ? work->start_raw : work->end_raw;
    recording->damaged_records += work->end_raw < work->start_raw;
    trace->start_ns[row] = pyro_recording_time_ns(recording, work->start_raw);
    trace->duration_ns[row] = work->duration_ns ? work->duration_ns
                                                : pyro_recording_time_ns(recording, end_raw) -
                                                      trace->start_ns[row];
    trace->name[row] = name;
    trace->correlation[row] = work->correlation;
    trace->external_id[row] = 0;
    trace->detail[row] = PYRO_NO_ID;
    trace->track[row] = (uint16_t)track;
    trace->category[row] = categories[work->work];
    trace->file_events++;
    if (origin != PYRO_NO_EVENT && !pyro_map_put(&trace->origins, row, origin))
        return false;
    if (work->work == PYRO_DEVICE_KERNEL)
        return add_kernel(recording, row, work);
    if (work->work == PYRO_DEVICE_COPY || work->work == PYRO_DEVICE_SET)
        return add_transfer(trace, row, work->bytes);
    return true;
}

/* Work of a call that was recorded; without its call, work in the time that is read. */
static bool is_inside(const pyro_recording *recording, const pyro_device_record *work)
{
    uint32_t call = work->correlation ? pyro_map_get(&recording->work.calls, work->correlation)
                                      : PYRO_MAP_NONE;
    if (call != PYRO_MAP_NONE)
        return call != PYRO_CALL_OUTSIDE;
    return recording->pass_thread == 0 && work->start_raw >= recording->from_raw &&
           work->start_raw <= recording->to_raw;
}

static bool place(placing *state)
{
    pyro_recorded_work *all = &state->recording->work;
    for (size_t i = 0; i < all->count; i++) {
        const pyro_device_record *work = &all->items[i];
        if (work->work < PYRO_DEVICE_KERNEL || work->work > PYRO_DEVICE_OVERHEAD ||
            work->device >= MOST_DEVICES || !is_inside(state->recording, work))
            continue;
        if (!add_row(state, work))
            return false;
        if (work->work == PYRO_DEVICE_SYNC || work->work == PYRO_DEVICE_OVERHEAD ||
            (work->work != PYRO_DEVICE_KERNEL && !work->graph) ||
            pyro_map_get(&state->seen, work->correlation) != PYRO_MAP_NONE)
            continue;
        if (!pyro_map_put(&state->seen, work->correlation, 1))
            return false;
    }
    return true;
}

/* Chunks that were dropped may hold the work of launches that began before the last of them was full. */
static int64_t all_work_from_ns(const pyro_recording *recording)
{
    const pyro_recording_header *header = &recording->header;
    if (!header->dropped_chunks)
        return INT64_MIN;
    return header->dropped_until_raw ? pyro_recording_time_ns(recording, header->dropped_until_raw)
                                     : INT64_MAX; /* an older version wrote the recording */
}

static void count_missing(const placing *state)
{
    pyro_recorded_work *all = &state->recording->work;
    const pyro_trace *trace = state->recording->trace;
    int64_t from_ns = all_work_from_ns(state->recording);
    for (size_t i = 0; i < all->launch_count; i++) {
        uint32_t row = pyro_map_get(&all->calls, all->launches[i]);
        all->missing += row < trace->count && trace->start_ns[row] >= from_ns &&
                        pyro_map_get(&state->seen, all->launches[i]) == PYRO_MAP_NONE;
    }
}

static bool add_devices(pyro_recording *recording)
{
    pyro_trace *trace = recording->trace;
    const pyro_recorded_tables *tables = recording->tables;
    for (uint32_t id = 1; id < tables->counts[PYRO_DATA_DEVICE] && id < MOST_DEVICES; id++) {
        const pyro_recorded_data *data = pyro_recorded_get(tables, PYRO_DATA_DEVICE, id);
        pyro_device_data device;
        if (!data->bytes || data->length <= sizeof device)
            continue;
        memcpy(&device, data->bytes, sizeof device);
        const char *name = data->bytes + sizeof device;
        uint32_t text = pyro_intern_add(&trace->names, name,
                                        strnlen(name, data->length - sizeof device));
        if (text == PYRO_INTERN_NONE || !pyro_grow(&trace->devices, &trace->device_capacity,
                                                   trace->device_count + 1, sizeof *trace->devices))
            return false;
        trace->devices[trace->device_count++] = (pyro_device){
            .id = device.device,
            .name = text,
            .total_memory_bytes = device.total_memory_bytes,
            .multiprocessors = device.multiprocessors,
            .max_threads_per_multiprocessor = device.max_threads_per_multiprocessor,
            .compute_major = (int)device.compute_major,
            .compute_minor = (int)device.compute_minor};
    }
    return true;
}

int pyro_recording_place_work(pyro_recording *recording)
{
    placing state = {.recording = recording};
    bool fine = add_devices(recording) && index_nodes(&state) && place(&state);
    if (fine)
        count_missing(&state);
    pyro_map_free(&state.node_index);
    pyro_map_free(&state.seen);
    return fine ? PYRO_OK : pyro_fail_memory(recording->error);
}
