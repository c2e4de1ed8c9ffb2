/* Finds the description of a collective: on its kernel, or on an op around it. */
#include "analyze/device/collective_event.h"
#include "analyze/device/collective.h"
#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

const pyro_collective_detail *pyro_collective_of_op(const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    if (trace->category[event] != PYRO_EVENT_OP || detail == PYRO_NO_ID ||
        trace->ops[detail].collective == PYRO_NO_ID)
        return NULL;
    return &trace->collectives[trace->ops[detail].collective];
}

bool pyro_collective_finder_init(pyro_collective_finder *finder, const pyro_trace *trace)
{
    for (uint32_t i = 0; trace->collective_count && i < trace->count; i++) {
        if (trace->external_id[i] && pyro_collective_of_op(trace, i) &&
            !pyro_map_put(&finder->by_external_id, trace->external_id[i], i))
            return false;
    }
    return true;
}

void pyro_collective_finder_free(pyro_collective_finder *finder)
{
    pyro_map_free(&finder->by_external_id);
    pyro_enclosing_free(&finder->enclosing);
}

static bool is_annotation(const pyro_trace *trace, uint32_t event)
{
    const char *name = pyro_event_name(trace, event);
    return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "c10d::", 6) == 0;
}

static bool says_more(const void *trace, uint32_t event)
{
    return pyro_collective_of_op(trace, event) || is_annotation(trace, event);
}

/* By the kernel, by an op around its launch, or by one of its id. */
static const pyro_collective_detail *find_detail(pyro_collective_finder *finder,
                                                 const pyro_analysis_context *context,
                                                 uint32_t event, const char **annotation)
{
    const pyro_trace *trace = context->trace;
    const pyro_collective_detail *found = NULL;
    uint32_t detail = trace->detail[event];
    if (detail != PYRO_NO_ID && trace->kernels[detail].collective != PYRO_NO_ID)
        found = &trace->collectives[trace->kernels[detail].collective];
    uint32_t host = context->joins->launch[event];
    while (host != PYRO_NO_EVENT && !found) {
        found = pyro_collective_of_op(trace, host);
        if (!**annotation && is_annotation(trace, host))
            *annotation = pyro_event_name(trace, host);
        host = pyro_enclosing_find(&finder->enclosing, context->joins, trace->count, host,
                                   says_more, trace);
    }
    if (!found && trace->external_id[event]) {
        uint32_t op = pyro_map_get(&finder->by_external_id, trace->external_id[event]);
        if (op != PYRO_MAP_NONE)
            found = pyro_collective_of_op(trace, op);
    }
    return found;
}

int64_t pyro_collective_bytes(const pyro_trace *trace, const pyro_collective_detail *detail)
{
    pyro_dtype dtype = pyro_collective_dtype(pyro_trace_text(trace, detail->dtype));
    int64_t bytes, elements = detail->in_elements > detail->out_elements ? detail->in_elements
                                                                         : detail->out_elements;
    if (elements < 0 || dtype == PYRO_DTYPE_UNKNOWN ||
        __builtin_mul_overflow(elements, pyro_dtype_bytes(dtype), &bytes))
        return -1;
    return bytes;
}

pyro_collective_row pyro_collective_describe(pyro_collective_finder *finder,
                                             const pyro_analysis_context *context, uint32_t event,
                                             const pyro_collective_detail **found)
{
    const pyro_trace *trace = context->trace;
    const char *kernel = pyro_event_name(trace, event), *annotation = "";
    const pyro_collective_detail *detail = find_detail(finder, context, event, &annotation);
    const char *kind = detail ? pyro_collective_kind(pyro_trace_text(trace, detail->name)) : NULL;
    pyro_dtype dtype = PYRO_DTYPE_UNKNOWN;
    pyro_collective_row row = {.group = "", .group_size = -1, .message_bytes = -1};
    if (found)
        *found = detail;
    if (!kind)
        kind = pyro_collective_kind(annotation);
    if (!kind)
        kind = pyro_collective_kind(kernel);
    row.kind = kind ? kind : "other";
    if (detail) {
        dtype = pyro_collective_dtype(pyro_trace_text(trace, detail->dtype));
        row.group = pyro_trace_text(trace, detail->group);
        row.group_size = detail->group_size;
        row.message_bytes = pyro_collective_bytes(trace, detail);
    } else {
        dtype = pyro_collective_kernel_dtype(kernel);
    }
    row.dtype = dtype == PYRO_DTYPE_UNKNOWN ? "" : pyro_dtype_name(dtype);
    return row;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* Equal texts have equal addresses here. */
static bool is_row_of(const pyro_collective_row *row, const pyro_collective_row *wanted)
{
    return row->kind == wanted->kind && row->group == wanted->group &&
           row->dtype == wanted->dtype && row->group_size == wanted->group_size &&
           row->message_bytes == wanted->message_bytes;
}

uint32_t pyro_collective_set_find(pyro_collective_set *set, const pyro_collective_row *wanted)
{
    uint64_t key = mix(
        mix(mix((uintptr_t)wanted->kind, (uintptr_t)wanted->group), (uint64_t)wanted->group_size),
        (uint64_t)wanted->message_bytes ^ (uintptr_t)wanted->dtype);
    uint32_t index;
    while ((index = pyro_map_get(&set->by_key, key)) != PYRO_MAP_NONE) {
        if (is_row_of(&set->rows[index], wanted))
            return index;
        key++;
    }
    index = (uint32_t)set->count;
    if (!pyro_grow(&set->rows, &set->capacity, set->count + 1, sizeof *set->rows) ||
        !pyro_map_put(&set->by_key, key, index))
        return PYRO_NO_EVENT;
    set->rows[set->count++] = *wanted;
    return index;
}

void pyro_collective_set_free(pyro_collective_set *set)
{
    pyro_map_free(&set->by_key);
    free(set->rows);
}
