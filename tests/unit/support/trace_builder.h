/* Builds small traces for the tests of the joins and of the analyses. */
#ifndef PYRO_TESTS_TRACE_BUILDER_H
#define PYRO_TESTS_TRACE_BUILDER_H

#include "base/containers/buf.h"
#include "trace/joins/joins.h"
#include <stdlib.h>
#include <string.h>

/* The fields that most events need; the others have defaults. */
typedef struct built_event {
    int category;
    int track;
    const char *name;
    int64_t start, duration;
    uint32_t correlation;
    int64_t sequence;        /* of ops; 0: none */
    uint32_t forward_thread; /* of ops */
} built_event;

/* Aborts the process rather than the test: memory does not run out while a trace is built. */
static inline void builder_check(bool ok)
{
    if (!ok)
        abort();
}

static inline pyro_trace *build_trace(size_t host_tracks, size_t device_tracks)
{
    pyro_trace *trace = calloc(1, sizeof *trace);
    builder_check(trace != NULL);
    pyro_arena_init(&trace->arena);
    pyro_intern_init(&trace->names, &trace->arena);
    trace->backend = trace->host = PYRO_NO_ID;
    size_t count = host_tracks + device_tracks;
    builder_check(
        pyro_grow(&trace->tracks, &trace->track_capacity, count + 1, sizeof *trace->tracks));
    for (size_t i = 0; i < count; i++)
        trace->tracks[i] = (pyro_track){.pid = i < host_tracks ? 100 : 0,
                                        .tid = i,
                                        .name = PYRO_NO_ID,
                                        .is_device = i >= host_tracks,
                                        .has_work = i >= host_tracks,
                                        .device = i < host_tracks ? -1 : 0};
    trace->track_count = count;
    return trace;
}

static inline void builder_grow(pyro_trace *trace)
{
    size_t capacity = 0, needed = trace->count + 1;
    void *columns[] = {&trace->start_ns,    &trace->duration_ns, &trace->name,  &trace->correlation,
                       &trace->external_id, &trace->detail,      &trace->track, &trace->category};
    size_t sizes[] = {8, 8, 4, 4, 4, 4, 2, 1};
    if (needed <= trace->capacity)
        return;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        capacity = trace->capacity;
        builder_check(pyro_grow(columns[i], &capacity, needed * 2, sizes[i]));
    }
    trace->capacity = needed * 2;
}

static inline uint32_t build_event(pyro_trace *trace, built_event event)
{
    size_t at = trace->count;
    builder_grow(trace);
    trace->start_ns[at] = event.start;
    trace->duration_ns[at] = event.duration;
    trace->name[at] = pyro_intern_add(&trace->names, event.name, strlen(event.name));
    trace->correlation[at] = event.correlation;
    trace->external_id[at] = 0;
    trace->detail[at] = PYRO_NO_ID;
    trace->track[at] = (uint16_t)event.track;
    trace->category[at] = (uint8_t)event.category;
    if (event.sequence || event.forward_thread) {
        builder_check(
            pyro_grow(&trace->ops, &trace->op_capacity, trace->op_count + 1, sizeof *trace->ops));
        trace->detail[at] = (uint32_t)trace->op_count;
        trace->ops[trace->op_count++] = (pyro_op_detail){
            .sequence = event.sequence ? event.sequence : PYRO_NO_SEQUENCE,
            .forward_thread = event.forward_thread,
            .dims = PYRO_NO_ID,
            .types = PYRO_NO_ID,
            .concrete = PYRO_NO_ID,
            .strides = PYRO_NO_ID,
            .stack = PYRO_NO_ID,
            .collective = PYRO_NO_ID,
            .extra = PYRO_NO_ID};
    }
    trace->count++;
    return (uint32_t)at;
}

static inline uint32_t build_slice(pyro_trace *trace, int category, int track, const char *name,
                                   int64_t start, int64_t duration)
{
    return build_event(trace, (built_event){category, track, name, start, duration, 0, 0, 0});
}

static inline uint32_t build_op(pyro_trace *trace, int track, const char *name, int64_t start,
                                int64_t duration, int64_t sequence, uint32_t forward_thread)
{
    return build_event(trace, (built_event){PYRO_EVENT_OP, track, name, start, duration, 0,
                                            sequence, forward_thread});
}

/* A launch on a host track and its kernel on a device track. Returns the kernel. */
static inline uint32_t build_kernel(pyro_trace *trace, int host, int device, const char *name,
                                    int64_t launched, int64_t start, int64_t duration)
{
    uint32_t correlation = (uint32_t)trace->count + 1;
    build_event(trace, (built_event){PYRO_EVENT_RUNTIME, host, "cudaLaunchKernel", launched, 1,
                                     correlation, 0, 0});
    return build_event(
        trace, (built_event){PYRO_EVENT_KERNEL, device, name, start, duration, correlation, 0, 0});
}

static inline void build_flow(pyro_trace *trace, uint32_t id, int track, int64_t time, bool is_end)
{
    builder_check(pyro_grow(&trace->flows, &trace->flow_capacity, trace->flow_count + 1,
                            sizeof *trace->flows));
    trace->flows[trace->flow_count++] = (pyro_flow){id, (uint16_t)track, is_end, time};
}

static inline void built_free(pyro_trace *trace)
{
    void *columns[] = {trace->start_ns,    trace->duration_ns, trace->name,  trace->correlation,
                       trace->external_id, trace->detail,      trace->track, trace->category,
                       trace->ops,         trace->flows,       trace->tracks};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
    pyro_intern_free(&trace->names);
    pyro_arena_free(&trace->arena);
    free(trace);
}

#endif
