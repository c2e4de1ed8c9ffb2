/* Appends rows that another thread read to the trace, and renumbers their ids and indices. */
#include "trace/kineto/window.h"

#include <stdlib.h>

typedef struct appender {
    pyro_trace *trace;
    pyro_text_map map;
    bool no_memory;
} appender;

/* The trace's id of a batch's text; a text is added to the trace on first use. */
static uint32_t text_of(appender *appender, uint32_t id)
{
    if (id == PYRO_NO_ID || !appender->map.numbers)
        return id;
    uint32_t *number = &appender->map.numbers[id];
    if (*number == PYRO_NO_ID) {
        const pyro_intern_entry *entry = &appender->map.texts[id];
        *number = pyro_intern_add(&appender->trace->names, entry->text, entry->length);
        appender->no_memory |= *number == PYRO_INTERN_NONE;
    }
    return *number;
}

static bool append_tracks(pyro_kineto_scanner *scanner, const pyro_trace *batch, uint16_t *tracks)
{
    pyro_trace *trace = scanner->out;
    for (size_t i = 0; i < batch->track_count; i++) {
        const pyro_track *from = &batch->tracks[i];
        uint32_t index = pyro_trace_track(trace, &scanner->tracks, from->pid, from->tid);
        if (index == PYRO_NO_ID)
            return false;
        tracks[i] = (uint16_t)index;
        pyro_track *to = &trace->tracks[index];
        if (from->is_device && !to->is_device && index != PYRO_LAST_TRACK) {
            to->is_device = true;
            to->device = from->device;
            to->stream = from->stream;
        }
        to->has_work |= from->has_work && index != PYRO_LAST_TRACK;
    }
    return true;
}

static bool append_ops(appender *appender, const pyro_trace *batch)
{
    pyro_trace *trace = appender->trace;
    uint32_t first = (uint32_t)trace->collective_count;
    if (!pyro_grow(&trace->ops, &trace->op_capacity, trace->op_count + batch->op_count,
                   sizeof *trace->ops))
        return false;
    for (size_t i = 0; i < batch->op_count; i++) {
        pyro_op_detail op = batch->ops[i];
        op.dims = text_of(appender, op.dims);
        op.types = text_of(appender, op.types);
        op.concrete = text_of(appender, op.concrete);
        op.strides = text_of(appender, op.strides);
        op.stack = text_of(appender, op.stack);
        op.collective += op.collective != PYRO_NO_ID ? first : 0;
        pyro_op_extra extra = pyro_trace_op_extra(batch, &op);
        extra.outputs = text_of(appender, extra.outputs);
        extra.path = text_of(appender, extra.path);
        if (!pyro_trace_add_op_extra(trace, &extra, &op.extra))
            return false;
        trace->ops[trace->op_count++] = op;
    }
    return true;
}

static bool append_kernels(appender *appender, const pyro_trace *batch)
{
    pyro_trace *trace = appender->trace;
    uint32_t first = (uint32_t)trace->collective_count;
    if (!pyro_grow(&trace->kernels, &trace->kernel_capacity,
                   trace->kernel_count + batch->kernel_count, sizeof *trace->kernels))
        return false;
    for (size_t i = 0; i < batch->kernel_count; i++) {
        pyro_kernel_detail kernel = batch->kernels[i];
        kernel.collective += kernel.collective != PYRO_NO_ID ? first : 0;
        kernel.occupancy = text_of(appender, kernel.occupancy);
        kernel.stack = text_of(appender, kernel.stack);
        trace->kernels[trace->kernel_count++] = kernel;
    }
    return true;
}

static bool append_collectives(appender *appender, const pyro_trace *batch)
{
    pyro_trace *trace = appender->trace;
    if (!pyro_grow(&trace->collectives, &trace->collective_capacity,
                   trace->collective_count + batch->collective_count, sizeof *trace->collectives))
        return false;
    for (size_t i = 0; i < batch->collective_count; i++) {
        pyro_collective_detail collective = batch->collectives[i];
        collective.name = text_of(appender, collective.name);
        collective.dtype = text_of(appender, collective.dtype);
        collective.group = text_of(appender, collective.group);
        collective.group_description = text_of(appender, collective.group_description);
        collective.comms_id = text_of(appender, collective.comms_id);
        trace->collectives[trace->collective_count++] = collective;
    }
    return true;
}

static bool append_syncs(appender *appender, const pyro_trace *batch)
{
    pyro_trace *trace = appender->trace;
    if (!pyro_grow(&trace->syncs, &trace->sync_capacity, trace->sync_count + batch->sync_count,
                   sizeof *trace->syncs))
        return false;
    for (size_t i = 0; i < batch->sync_count; i++) {
        pyro_sync_detail sync = batch->syncs[i];
        sync.kind = text_of(appender, sync.kind);
        trace->syncs[trace->sync_count++] = sync;
    }
    return true;
}

static bool append_counters(appender *appender, const pyro_trace *batch, const uint16_t *tracks)
{
    pyro_trace *trace = appender->trace;
    if (!pyro_grow(&trace->counters, &trace->counter_capacity,
                   trace->counter_count + batch->counter_count, sizeof *trace->counters))
        return false;
    for (size_t i = 0; i < batch->counter_count; i++) {
        pyro_counter_sample sample = batch->counters[i];
        sample.name = text_of(appender, sample.name);
        sample.series = text_of(appender, sample.series);
        sample.track = tracks[sample.track];
        trace->counters[trace->counter_count++] = sample;
    }
    return true;
}

static bool append_flows(pyro_trace *trace, const pyro_trace *batch, const uint16_t *tracks)
{
    if (!pyro_grow(&trace->flows, &trace->flow_capacity, trace->flow_count + batch->flow_count,
                   sizeof *trace->flows))
        return false;
    for (size_t i = 0; i < batch->flow_count; i++) {
        pyro_flow flow = batch->flows[i];
        flow.track = tracks[flow.track];
        trace->flows[trace->flow_count++] = flow;
    }
    return true;
}

static bool append_memory(pyro_trace *trace, const pyro_trace *batch)
{
    if (!pyro_grow(&trace->memory, &trace->memory_capacity,
                   trace->memory_count + batch->memory_count, sizeof *trace->memory) ||
        !pyro_grow(&trace->transfer_bytes, &trace->transfer_capacity,
                   trace->transfer_count + batch->transfer_count, sizeof *trace->transfer_bytes))
        return false;
    if (batch->memory_count)
        memcpy(trace->memory + trace->memory_count, batch->memory,
               batch->memory_count * sizeof *batch->memory);
    if (batch->transfer_count)
        memcpy(trace->transfer_bytes + trace->transfer_count, batch->transfer_bytes,
               batch->transfer_count * sizeof *batch->transfer_bytes);
    trace->memory_count += batch->memory_count;
    trace->transfer_count += batch->transfer_count;
    return true;
}

/* The first index in the trace of a batch's details, by category. */
static void first_details(const pyro_trace *trace, uint32_t first[PYRO_EVENT_CATEGORY_COUNT])
{
    for (int category = 0; category < PYRO_EVENT_CATEGORY_COUNT; category++)
        first[category] = (uint32_t)trace->op_count;
    first[PYRO_EVENT_KERNEL] = (uint32_t)trace->kernel_count;
    first[PYRO_EVENT_SYNC] = (uint32_t)trace->sync_count;
    first[PYRO_EVENT_MEMORY] = (uint32_t)trace->memory_count;
    first[PYRO_EVENT_MEMCPY] = first[PYRO_EVENT_MEMSET] = (uint32_t)trace->transfer_count;
}

static bool append_rows(appender *appender, const pyro_trace *batch, const uint16_t *tracks,
                        const uint32_t *first_detail)
{
    pyro_trace *trace = appender->trace;
    size_t row = trace->count, count = batch->count;
    if (!pyro_trace_reserve(trace, row + count))
        return false;
    if (count == 0)
        return true;
    memcpy(trace->start_ns + row, batch->start_ns, count * sizeof *batch->start_ns);
    memcpy(trace->duration_ns + row, batch->duration_ns, count * sizeof *batch->duration_ns);
    memcpy(trace->correlation + row, batch->correlation, count * sizeof *batch->correlation);
    memcpy(trace->external_id + row, batch->external_id, count * sizeof *batch->external_id);
    memcpy(trace->category + row, batch->category, count * sizeof *batch->category);
    for (size_t i = 0; i < count; i++) {
        uint32_t detail = batch->detail[i];
        trace->name[row + i] = text_of(appender, batch->name[i]);
        trace->detail[row + i] = detail == PYRO_NO_ID ? detail
                                                      : detail + first_detail[batch->category[i]];
        trace->track[row + i] = tracks[batch->track[i]];
    }
    trace->count += count;
    return true;
}

bool pyro_kineto_append(pyro_kineto_scanner *scanner, const pyro_trace *batch, pyro_text_map map)
{
    pyro_trace *trace = scanner->out;
    appender appender = {.trace = trace, .map = map};
    uint32_t first_detail[PYRO_EVENT_CATEGORY_COUNT];
    uint16_t *tracks = malloc((batch->track_count + 1) * sizeof *tracks);
    first_details(trace, first_detail);
    bool ok = tracks && append_tracks(scanner, batch, tracks) &&
              append_rows(&appender, batch, tracks, first_detail) && append_ops(&appender, batch) &&
              append_kernels(&appender, batch) && append_collectives(&appender, batch) &&
              append_syncs(&appender, batch) && append_counters(&appender, batch, tracks) &&
              append_memory(trace, batch) && append_flows(trace, batch, tracks) &&
              !appender.no_memory;
    free(tracks);
    trace->file_events += batch->file_events;
    trace->has_shapes |= batch->has_shapes;
    trace->has_stacks |= batch->has_stacks;
    trace->has_frame_lists |= batch->has_frame_lists;
    trace->has_paths |= batch->has_paths;
    trace->has_memory |= batch->has_memory;
    return ok;
}
