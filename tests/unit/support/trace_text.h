/* Prints a trace as text, one line per row with all fields, to compare results with. */
#ifndef PYRO_TESTS_TRACE_TEXT_H
#define PYRO_TESTS_TRACE_TEXT_H

#include "base/containers/buf.h"
#include "trace/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *text_or_dash(const pyro_trace *trace, uint32_t id)
{
    return id == PYRO_NO_ID ? "-" : pyro_trace_text(trace, id);
}

static inline void add_collective(pyro_buf *out, const pyro_trace *trace, uint32_t index)
{
    if (index == PYRO_NO_ID)
        return;
    const pyro_collective_detail *detail = &trace->collectives[index];
    pyro_buf_addf(out, " collective %s %s %s %s in %lld out %lld size %lld rank %lld",
                  text_or_dash(trace, detail->name), text_or_dash(trace, detail->dtype),
                  text_or_dash(trace, detail->group),
                  text_or_dash(trace, detail->group_description), (long long)detail->in_elements,
                  (long long)detail->out_elements, (long long)detail->group_size,
                  (long long)detail->rank);
    if (detail->number >= 0)
        pyro_buf_addf(out, " number %lld id %s", (long long)detail->number,
                      text_or_dash(trace, detail->comms_id));
}

static inline void add_queue(pyro_buf *out, const pyro_trace *trace,
                             const pyro_kernel_detail *kernel)
{
    if (kernel->priority != PYRO_NO_PRIORITY)
        pyro_buf_addf(out, " priority %d", kernel->priority);
    if (kernel->queue.channel >= 0)
        pyro_buf_addf(out, " channel %d.%d", kernel->queue.channel, kernel->queue.channel_type);
    if (kernel->queue.hsa_queue >= 0)
        pyro_buf_addf(out, " queue %lld", (long long)kernel->queue.hsa_queue);
    if (kernel->occupancy != PYRO_NO_ID)
        pyro_buf_addf(out, " occupancy %s", text_or_dash(trace, kernel->occupancy));
}

static inline void add_detail(pyro_buf *out, const pyro_trace *trace, size_t event)
{
    uint32_t index = trace->detail[event];
    if (index == PYRO_NO_ID)
        return;
    if (trace->category[event] == PYRO_EVENT_KERNEL) {
        const pyro_kernel_detail *kernel = &trace->kernels[index];
        pyro_buf_addf(
            out, " grid %u,%u,%u block %u,%u,%u registers %u shared %u sm %g %g %g graph %u.%llu",
            kernel->grid[0], kernel->grid[1], kernel->grid[2], kernel->block[0], kernel->block[1],
            kernel->block[2], kernel->registers, kernel->shared_memory_bytes,
            (double)kernel->blocks_per_sm, (double)kernel->warps_per_sm,
            (double)kernel->occupancy_percent, kernel->graph_id,
            (unsigned long long)kernel->graph_node);
        add_queue(out, trace, kernel);
        add_collective(out, trace, kernel->collective);
    } else if (trace->category[event] == PYRO_EVENT_MEMCPY ||
               trace->category[event] == PYRO_EVENT_MEMSET) {
        pyro_buf_addf(out, " bytes %lld", (long long)trace->transfer_bytes[index]);
    } else if (trace->category[event] == PYRO_EVENT_SYNC) {
        const pyro_sync_detail *sync = &trace->syncs[index];
        if (sync->kind != PYRO_NO_ID)
            pyro_buf_addf(out, " kind %s stream %lld", text_or_dash(trace, sync->kind),
                          (long long)sync->stream);
        if (sync->wait_record != PYRO_NO_STREAM)
            pyro_buf_addf(out, " after %lld", (long long)sync->wait_record);
    } else if (trace->category[event] == PYRO_EVENT_MEMORY) {
        const pyro_memory_detail *memory = &trace->memory[index];
        pyro_buf_addf(out, " at %lld bytes %lld of %lld %lld on %d:%d%s",
                      (long long)memory->address, (long long)memory->bytes,
                      (long long)memory->total_allocated, (long long)memory->total_reserved,
                      memory->device_type, memory->device_index,
                      memory->out_of_memory ? " failed" : "");
    } else {
        const pyro_op_detail *op = &trace->ops[index];
        pyro_buf_addf(out, " sequence %lld thread %u dims %s types %s concrete %s stack %s",
                      op->sequence == PYRO_NO_SEQUENCE ? -1LL : (long long)op->sequence,
                      op->forward_thread, text_or_dash(trace, op->dims),
                      text_or_dash(trace, op->types), text_or_dash(trace, op->concrete),
                      text_or_dash(trace, op->stack));
        add_collective(out, trace, op->collective);
    }
}

static inline void add_head(pyro_buf *out, const pyro_trace *trace)
{
    pyro_buf_addf(out, "events %lld base %lld rank %lld of %lld %s shapes %d stacks %d memory %d\n",
                  (long long)trace->file_events, (long long)trace->base_time_ns,
                  (long long)trace->rank, (long long)trace->world_size,
                  text_or_dash(trace, trace->backend), trace->has_shapes, trace->has_stacks,
                  trace->has_memory);
    for (size_t i = 0; i < trace->device_count; i++) {
        const pyro_device *device = &trace->devices[i];
        pyro_buf_addf(out, "device %lld %s %lld bytes %lld SMs %lld threads %d.%d\n",
                      (long long)device->id, text_or_dash(trace, device->name),
                      (long long)device->total_memory_bytes, (long long)device->multiprocessors,
                      (long long)device->max_threads_per_multiprocessor, device->compute_major,
                      device->compute_minor);
    }
    for (size_t i = 0; i < trace->flow_count; i++)
        pyro_buf_addf(out, "flow %u %c %lld track %u\n", trace->flows[i].id,
                      trace->flows[i].is_end ? 'f' : 's', (long long)trace->flows[i].time_ns,
                      trace->flows[i].track);
    for (size_t i = 0; i < trace->track_count; i++)
        pyro_buf_addf(out, "track %llx/%llx %s device %d stream %lld\n",
                      (unsigned long long)trace->tracks[i].pid,
                      (unsigned long long)trace->tracks[i].tid,
                      text_or_dash(trace, trace->tracks[i].name), trace->tracks[i].device,
                      (long long)trace->tracks[i].stream);
    if (trace->sync_count)
        pyro_buf_addf(out, "syncs %zu\n", trace->sync_count);
    if (trace->host != PYRO_NO_ID)
        pyro_buf_addf(out, "host %s\n", text_or_dash(trace, trace->host));
    for (size_t i = 0; i < trace->counter_count; i++)
        pyro_buf_addf(
            out, "counter %s %s %lld %g track %u\n", text_or_dash(trace, trace->counters[i].name),
            text_or_dash(trace, trace->counters[i].series), (long long)trace->counters[i].time_ns,
            trace->counters[i].value, trace->counters[i].track);
    for (size_t i = 0; i < trace->warning_count; i++)
        pyro_buf_addf(out, "warning %s\n", trace->warnings[i]);
}

/* To be freed by the caller. */
static inline char *trace_text(const pyro_trace *trace)
{
    static const char *const categories[] = {"op",     "annotation", "python", "runtime", "driver",
                                             "kernel", "memcpy",     "memset", "sync",    "device",
                                             "memory", "overhead",   "other"};
    pyro_buf out = PYRO_BUF_INIT;
    add_head(&out, trace);
    for (size_t i = 0; i < trace->count; i++) {
        pyro_buf_addf(&out, "%s %s %lld+%lld c%u x%u track %u", categories[trace->category[i]],
                      text_or_dash(trace, trace->name[i]), (long long)trace->start_ns[i],
                      (long long)trace->duration_ns[i], trace->correlation[i],
                      trace->external_id[i], trace->track[i]);
        add_detail(&out, trace, i);
        pyro_buf_addc(&out, '\n');
    }
    return pyro_buf_detach(&out, NULL);
}

#endif
