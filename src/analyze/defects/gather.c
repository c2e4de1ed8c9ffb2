/* Gathers what the rules about defects need, in one pass over the events in order of time. */
#include "analyze/defects/rules.h"

#include <stdlib.h>
#include <string.h>

enum { UNSEEN, OTHER, LAUNCH, BEGIN_CAPTURE, END_CAPTURE, RECORD, COLLECTIVE, DEVICE_OP };

/* Clocks of host and device agree to about this. */
#define JITTER_NS 1000

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static uint8_t kind_of_name(const char *name)
{
    if (has(name, "BeginCapture"))
        return BEGIN_CAPTURE;
    if (has(name, "EndCapture"))
        return END_CAPTURE;
    if (has(name, "EventRecord"))
        return RECORD;
    if (!strcmp(name, "record_param_comms"))
        return COLLECTIVE;
    if (!strcmp(name, "aten::record_stream") || !strncmp(name, "aten::cudnn_", 12) ||
        !strncmp(name, "aten::miopen_", 13))
        return DEVICE_OP;
    if (has(name, "LaunchKernel") || has(name, "LaunchCooperativeKernel") ||
        has(name, "GraphLaunch"))
        return LAUNCH;
    return OTHER;
}

static uint8_t find_kind(pyro_defect_facts *facts, const pyro_trace *trace, uint32_t name)
{
    return facts->name_kinds[name] = kind_of_name(pyro_trace_text(trace, name));
}

static inline uint8_t kind_of(pyro_defect_facts *facts, const pyro_trace *trace, uint32_t event)
{
    uint32_t name = trace->name[event];
    uint8_t known = name == PYRO_NO_ID ? (uint8_t)OTHER : facts->name_kinds[name];
    return known == UNSEEN ? find_kind(facts, trace, name) : known;
}

bool pyro_defects_begin(pyro_defect_facts *facts, const pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    facts->name_kinds = calloc(trace->names.count + 1, 1);
    facts->has_work = calloc(trace->count / 8 + 1, 1);
    facts->busy_until_ns = calloc(trace->track_count + 1, sizeof *facts->busy_until_ns);
    facts->has_launches = calloc(trace->track_count + 1, 1);
    if (!facts->name_kinds || !facts->has_work || !facts->busy_until_ns || !facts->has_launches)
        return false;
    for (size_t i = 0; i < trace->track_count; i++)
        facts->busy_until_ns[i] = INT64_MIN;
    return true;
}

void pyro_defects_free(pyro_defect_facts *facts)
{
    free(facts->name_kinds);
    free(facts->has_work);
    free(facts->busy_until_ns);
    free(facts->has_launches);
    free(facts->launches);
    free(facts->waits);
    pyro_map_free(&facts->records);
}

static bool add_event(uint32_t **list, size_t *count, size_t *capacity, uint32_t event)
{
    if (!pyro_grow(list, capacity, *count + 1, sizeof **list))
        return false;
    (*list)[(*count)++] = event;
    return true;
}

/* A driver call inside a runtime call is the same launch. */
static bool is_inside_launch(pyro_defect_facts *facts, const pyro_analysis_context *context,
                             uint32_t event)
{
    uint32_t parent = context->joins->parent[event];
    if (parent == PYRO_NO_EVENT)
        return false;
    uint8_t category = context->trace->category[parent];
    return (category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER) &&
           kind_of(facts, context->trace, parent) == LAUNCH;
}

static bool add_call(pyro_defect_facts *facts, const pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t correlation = trace->correlation[event];
    switch (kind_of(facts, trace, event)) {
    case BEGIN_CAPTURE:
        facts->open_captures++;
        return true;
    case END_CAPTURE:
        facts->open_captures -= facts->open_captures > 0;
        return true;
    case RECORD:
        return !correlation || pyro_map_get(&facts->records, correlation) != PYRO_MAP_NONE ||
               pyro_map_put(&facts->records, correlation, event);
    case LAUNCH:
        if (facts->open_captures || !correlation || is_inside_launch(facts, context, event))
            return true;
        return add_event(&facts->launches, &facts->launch_count, &facts->launch_capacity, event);
    default:
        return true;
    }
}

static void add_orphan(pyro_defect_facts *facts, const pyro_trace *trace, uint32_t event)
{
    facts->orphans++;
    facts->orphan_ns += trace->duration_ns[event];
    /* Streams keep the order of launches: before the first known launch come earlier ones. */
    if (facts->has_launches[trace->track[event]])
        return;
    facts->launched_before++;
    facts->before_ns += trace->duration_ns[event];
}

static void note_work(pyro_defect_facts *facts, uint32_t launch)
{
    facts->has_work[launch >> 3] |= (uint8_t)(1u << (launch & 7));
}

static void add_work(pyro_defect_facts *facts, const pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t launch = context->joins->launch[event];
    int64_t *until = &facts->busy_until_ns[trace->track[event]];
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    facts->work++;
    facts->kernels += trace->category[event] == PYRO_EVENT_KERNEL;
    facts->stream_overlaps += start < *until - (*until > INT64_MIN ? JITTER_NS : 0);
    *until = end > *until ? end : *until;
    if (launch == PYRO_NO_EVENT) {
        add_orphan(facts, trace, event);
        return;
    }
    facts->has_launches[trace->track[event]] = 1;
    note_work(facts, launch);
    uint32_t parent = context->joins->parent[launch];
    if (parent != PYRO_NO_EVENT)
        note_work(facts, parent); /* where the inner of two launch calls has the id */
    int64_t early = trace->start_ns[launch] - start;
    facts->early_kernels += early > JITTER_NS;
    facts->earliest_ns = early > facts->earliest_ns ? early : facts->earliest_ns;
}

static bool add_sync(pyro_defect_facts *facts, const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    const char *kind = detail == PYRO_NO_ID ? ""
                                            : pyro_trace_text(trace, trace->syncs[detail].kind);
    if (strcmp(kind, "Stream Wait Event") != 0 && strcmp(kind, "Event Sync") != 0)
        return true;
    return add_event(&facts->waits, &facts->wait_count, &facts->wait_capacity, event);
}

static void add_op(pyro_defect_facts *facts, const pyro_trace *trace, uint32_t event)
{
    uint8_t kind = kind_of(facts, trace, event);
    if (kind == COLLECTIVE) {
        facts->collectives++;
        facts->bare_collectives += trace->detail[event] == PYRO_NO_ID ||
                                   trace->ops[trace->detail[event]].collective == PYRO_NO_ID;
    } else if (kind == DEVICE_OP) {
        facts->device_op = event;
        facts->device_ops++;
    }
}

bool pyro_defects_add(pyro_defect_facts *facts, const pyro_analysis_context *context,
                      uint32_t event)
{
    const pyro_trace *trace = context->trace;
    switch (trace->category[event]) {
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
        return add_call(facts, context, event);
    case PYRO_EVENT_SYNC:
        return add_sync(facts, trace, event);
    case PYRO_EVENT_OP:
        add_op(facts, trace, event);
        return true;
    default:
        add_work(facts, context, event);
        return true;
    }
}
