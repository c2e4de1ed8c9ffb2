/*
 * Lists the collectives of a rank: kernels of a device, or host work of gloo and others, joined
 * with the op that requested it; and finds the compute that overlaps with it.
 */
#include "analyze/device/collective.h"
#include "analyze/device/collective_event.h"
#include "analyze/enclosing.h"
#include "analyze/ranks/summarize.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Called outside all analysed steps. */
#define NO_STEP INT64_MIN

/* A host op that requested a collective. */
typedef struct request {
    pyro_rank_collective collective;
    const char *kind;
    bool is_taken;
} request;

typedef struct gathering {
    pyro_rank_maker *maker;
    pyro_collective_finder finder;
    pyro_map by_event; /* requests */
    request *requests;
    size_t count, capacity, first_open;
    bool has_device_collectives;
    pyro_coverage device_compute, host_compute;
    pyro_enclosing enclosing;
} gathering;

/* "gloo:all_reduce": the name of a backend's work on host threads. */
static const char *kind_of_work(const char *name)
{
    static const char *const backends[] = {"gloo:", "nccl:", "ucc:", "mpi:", "xccl:", "hccl:"};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        size_t length = strlen(backends[i]);
        if (strncmp(name, backends[i], length) == 0 && isalpha((unsigned char)name[length]))
            return pyro_collective_kind(name + length);
    }
    return NULL;
}

static int keep(gathering *gathering, const pyro_rank_collective *collective)
{
    pyro_rank_part *part = &gathering->maker->part;
    if (part->collective_count >= PYRO_RANK_MOST_COLLECTIVES) {
        part->left_out++;
        return PYRO_OK;
    }
    if (!pyro_grow(&part->collectives, &part->collective_capacity, part->collective_count + 1,
                   sizeof *part->collectives))
        return pyro_fail_memory(gathering->maker->context.error);
    part->collectives[part->collective_count++] = *collective;
    return PYRO_OK;
}

/* Times are the trace's own until all are known. */
static int describe(gathering *gathering, pyro_rank_collective *out, const char *kind,
                    const char *group, int64_t called_ns)
{
    const pyro_analysis_context *context = &gathering->maker->context;
    uint32_t window = pyro_context_window_at(context, called_ns);
    out->kind = pyro_rank_intern(gathering->maker->summary, kind);
    out->group = pyro_rank_intern(gathering->maker->summary, group);
    out->step = window == PYRO_NO_EVENT ? NO_STEP : context->windows[window].number;
    if (out->kind == PYRO_NO_ID || out->group == PYRO_NO_ID)
        return pyro_fail_memory(context->error);
    return PYRO_OK;
}

/* The numbers by which torch tells collectives apart. */
static int number_it(gathering *gathering, pyro_rank_collective *out,
                     const pyro_collective_detail *detail)
{
    const pyro_trace *trace = gathering->maker->context.trace;
    out->number = detail ? detail->number : -1;
    out->comms_id = PYRO_NO_ID;
    if (!detail || detail->comms_id == PYRO_NO_ID)
        return PYRO_OK;
    out->comms_id = pyro_rank_intern(gathering->maker->summary,
                                     pyro_trace_text(trace, detail->comms_id));
    return out->comms_id == PYRO_NO_ID ? pyro_fail_memory(gathering->maker->context.error)
                                       : PYRO_OK;
}

static int add_kernel(gathering *gathering, uint32_t event)
{
    pyro_analysis_context *context = &gathering->maker->context;
    const pyro_trace *trace = context->trace;
    const pyro_collective_detail *detail;
    pyro_collective_row row = pyro_collective_describe(&gathering->finder, context, event, &detail);
    pyro_rank_collective collective = {.group_size = row.group_size,
                                       .message_bytes = row.message_bytes,
                                       .arrival_ns = trace->start_ns[event],
                                       .start_ns = trace->start_ns[event],
                                       .end_ns = pyro_event_end_ns(trace, event)};
    int status = describe(gathering, &collective, row.kind, row.group,
                          pyro_context_launch_ns(context, event));
    if (status == PYRO_OK)
        status = number_it(gathering, &collective, detail);
    return status == PYRO_OK ? keep(gathering, &collective) : status;
}

/* Enclosing events come first in order of time: whether they are requests is settled. */
static bool is_request(const void *user, uint32_t event)
{
    return pyro_map_get(&((const gathering *)user)->by_event, event) != PYRO_MAP_NONE;
}

static request *request_around(gathering *gathering, uint32_t event)
{
    const pyro_analysis_context *context = &gathering->maker->context;
    uint32_t around = pyro_enclosing_find(&gathering->enclosing, context->joins,
                                          context->trace->count, event, is_request, gathering);
    return around == PYRO_NO_EVENT
               ? NULL
               : &gathering->requests[pyro_map_get(&gathering->by_event, around)];
}

/* record_param_comms inside c10d::allreduce_ says more of the same. */
static int add_request(gathering *gathering, uint32_t event, const char *name)
{
    const pyro_trace *trace = gathering->maker->context.trace;
    const pyro_collective_detail *detail = pyro_collective_of_op(trace, event);
    const char *kind = pyro_collective_kind(
        detail && detail->name != PYRO_NO_ID ? pyro_trace_text(trace, detail->name) : name);
    const char *group = detail ? pyro_trace_text(trace, detail->group) : "";
    request *around = request_around(gathering, event);
    if (!kind)
        return PYRO_OK;
    if (!around) {
        request next = {.kind = kind,
                        .collective = {.group_size = -1,
                                       .message_bytes = -1,
                                       .number = -1,
                                       .comms_id = PYRO_NO_ID,
                                       .arrival_ns = trace->start_ns[event],
                                       .start_ns = trace->start_ns[event],
                                       .end_ns = pyro_event_end_ns(trace, event)}};
        if (!pyro_grow(&gathering->requests, &gathering->capacity, gathering->count + 1,
                       sizeof *gathering->requests) ||
            !pyro_map_put(&gathering->by_event, event, (uint32_t)gathering->count))
            return pyro_fail_memory(gathering->maker->context.error);
        around = &gathering->requests[gathering->count++];
        *around = next;
    } else if (!detail) {
        return PYRO_OK;
    }
    if (detail) {
        around->collective.group_size = detail->group_size;
        around->collective.message_bytes = pyro_collective_bytes(trace, detail);
        if (number_it(gathering, &around->collective, detail) != PYRO_OK)
            return PYRO_ERROR_MEMORY;
    }
    return describe(gathering, &around->collective, around->kind, group,
                    around->collective.arrival_ns);
}

/* gloo does a reduce_scatter as an allreduce. */
static bool may_be_work_of(const request *request, const char *kind)
{
    return strcmp(request->kind, kind) == 0 ||
           (strcmp(request->kind, "reduce_scatter") == 0 && strcmp(kind, "allreduce") == 0);
}

/* Work starts in the order of its requests. */
static int add_work(gathering *gathering, uint32_t event, const char *kind)
{
    const pyro_trace *trace = gathering->maker->context.trace;
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    size_t i = gathering->first_open;
    while (i < gathering->count &&
           (gathering->requests[i].is_taken || !may_be_work_of(&gathering->requests[i], kind)))
        i++;
    if (i < gathering->count) {
        request *found = &gathering->requests[i];
        found->is_taken = true;
        found->collective.start_ns = start;
        found->collective.end_ns = end;
        while (gathering->first_open < gathering->count &&
               gathering->requests[gathering->first_open].is_taken)
            gathering->first_open++;
        return PYRO_OK;
    }
    pyro_rank_collective collective = {.group_size = -1,
                                       .message_bytes = -1,
                                       .number = -1,
                                       .comms_id = PYRO_NO_ID,
                                       .arrival_ns = start,
                                       .start_ns = start,
                                       .end_ns = end};
    int status = describe(gathering, &collective, kind, "", start);
    return status == PYRO_OK ? keep(gathering, &collective) : status;
}

static int add_host_event(gathering *gathering, uint32_t event)
{
    const pyro_trace *trace = gathering->maker->context.trace;
    const char *name = pyro_event_name(trace, event);
    if (trace->category[event] == PYRO_EVENT_OP) {
        if (pyro_is_communication(name))
            return gathering->has_device_collectives ? PYRO_OK
                                                     : add_request(gathering, event, name);
        if (pyro_rank_is_compute(name) &&
            !pyro_coverage_add(&gathering->host_compute, trace->start_ns[event],
                               pyro_event_end_ns(trace, event)))
            return pyro_fail_memory(gathering->maker->context.error);
    }
    const char *kind = kind_of_work(name);
    /* Where kernels do the work, "nccl:" is only its launch. */
    if (!kind || (gathering->has_device_collectives && strncmp(name, "gloo:", 5) != 0))
        return PYRO_OK;
    return add_work(gathering, event, kind);
}

static int add_event(gathering *gathering, uint32_t event)
{
    pyro_analysis_context *context = &gathering->maker->context;
    const pyro_trace *trace = context->trace;
    uint8_t category = trace->category[event];
    bool is_kernel = category == PYRO_EVENT_KERNEL;
    if (is_kernel && pyro_context_traits(context, event) & PYRO_TRAIT_COLLECTIVE)
        return add_kernel(gathering, event);
    if (is_kernel || category == PYRO_EVENT_MEMSET) {
        if (!pyro_coverage_add(&gathering->device_compute, trace->start_ns[event],
                               pyro_event_end_ns(trace, event)))
            return pyro_fail_memory(context->error);
    } else if (category == PYRO_EVENT_OP || category == PYRO_EVENT_ANNOTATION) {
        return add_host_event(gathering, event);
    }
    return PYRO_OK;
}

/* Numbers those of a kind, group and step; texts and steps are few enough for one key. */
static int number_collectives(pyro_rank_maker *maker)
{
    pyro_rank_part *part = &maker->part;
    pyro_map counts = PYRO_MAP_INIT;
    int status = PYRO_OK;
    for (size_t i = 0; i < part->collective_count && status == PYRO_OK; i++) {
        pyro_rank_collective *collective = &part->collectives[i];
        uint64_t key = (((uint64_t)collective->step + 1) & 0xFFFFF) << 44 |
                       ((uint64_t)collective->group & 0x3FFFFF) << 22 |
                       ((uint64_t)collective->kind & 0x3FFFFF);
        uint32_t count = pyro_map_get(&counts, key);
        collective->ordinal = count == PYRO_MAP_NONE ? 0 : count;
        if (!pyro_map_put(&counts, key, (uint32_t)collective->ordinal + 1))
            status = pyro_fail_memory(maker->context.error);
    }
    pyro_map_free(&counts);
    return status;
}

/* Assigns steps by the time of the call; drops collectives outside the requested steps. */
static int by_arrival(const void *left, const void *right)
{
    const pyro_rank_collective *a = left, *b = right;
    if (a->arrival_ns != b->arrival_ns)
        return a->arrival_ns < b->arrival_ns ? -1 : 1;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int measure(gathering *gathering)
{
    pyro_rank_maker *maker = gathering->maker;
    pyro_rank_part *part = &maker->part;
    const pyro_trace *trace = maker->context.trace;
    size_t kept = 0;
    maker->compute = maker->on_device ? gathering->device_compute : gathering->host_compute;
    pyro_coverage_finish(&maker->compute);
    for (size_t i = 0; i < part->collective_count; i++) {
        pyro_rank_collective collective = part->collectives[i];
        if (!pyro_coverage_add(&maker->communication, collective.start_ns, collective.end_ns))
            return pyro_fail_memory(maker->context.error);
        collective.exposed_ns = collective.end_ns - collective.start_ns -
                                pyro_coverage_overlap(&maker->compute, collective.start_ns,
                                                      collective.end_ns);
        collective.arrival_ns = pyro_rank_wall_ns(trace, collective.arrival_ns);
        collective.start_ns = pyro_rank_wall_ns(trace, collective.start_ns);
        collective.end_ns = pyro_rank_wall_ns(trace, collective.end_ns);
        if (collective.step != NO_STEP)
            part->collectives[kept++] = collective;
    }
    part->collective_count = kept;
    pyro_coverage_finish(&maker->communication);
    if (!pyro_coverage_difference(&maker->waiting, &maker->communication, &maker->compute))
        return pyro_fail_memory(maker->context.error);
    if (kept)
        qsort(part->collectives, kept, sizeof *part->collectives, by_arrival);
    return number_collectives(maker);
}

static int gather(gathering *gathering)
{
    pyro_analysis_context *context = &gathering->maker->context;
    const pyro_trace *trace = context->trace;
    int status = PYRO_OK;
    for (size_t i = 0; i < trace->count && !gathering->has_device_collectives; i++)
        gathering->has_device_collectives = trace->category[i] == PYRO_EVENT_KERNEL &&
                                            (pyro_context_traits(context, (uint32_t)i) &
                                             PYRO_TRAIT_COLLECTIVE);
    for (size_t i = 0; i < trace->count && status == PYRO_OK; i++)
        status = add_event(gathering, context->joins->by_time[i]);
    for (size_t i = 0; i < gathering->count && status == PYRO_OK; i++)
        status = keep(gathering, &gathering->requests[i].collective);
    return status == PYRO_OK ? measure(gathering) : status;
}

int pyro_rank_make_collectives(pyro_rank_maker *maker)
{
    gathering gathering = {.maker = maker};
    int status = PYRO_OK;
    if (!pyro_collective_finder_init(&gathering.finder, maker->context.trace))
        status = pyro_fail_memory(maker->context.error);
    if (status == PYRO_OK)
        status = gather(&gathering);
    if (maker->compute.items != gathering.host_compute.items)
        pyro_coverage_free(&gathering.host_compute);
    if (maker->compute.items != gathering.device_compute.items)
        pyro_coverage_free(&gathering.device_compute);
    pyro_collective_finder_free(&gathering.finder);
    pyro_map_free(&gathering.by_event);
    pyro_enclosing_free(&gathering.enclosing);
    free(gathering.requests);
    return status;
}
