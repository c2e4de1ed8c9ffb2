/* Keeps, per track, the open ops with work and what they have not given to ops inside. */
#include "analyze/host/own_work.h"

#include "base/containers/buf.h"

#include <stdlib.h>

enum { DEEPEST_NEST = 1000 };

typedef struct open_op {
    uint32_t event;
    int64_t flops, bytes; /* what is left */
} open_op;

struct pyro_open_ops {
    open_op *ops;
    size_t count, capacity;
};

bool pyro_has_work(const pyro_analysis_context *context, uint32_t event)
{
    uint32_t detail = context->trace->detail[event];
    if (context->trace->category[event] != PYRO_EVENT_OP || detail == PYRO_NO_ID)
        return false;
    const pyro_op_kind *kind = pyro_context_op_kind(context, detail);
    return kind->flops > 0 || kind->bytes > 0;
}

uint32_t pyro_op_with_work(const pyro_analysis_context *context, uint32_t op)
{
    const pyro_joins *joins = context->joins;
    for (int i = 0; i < DEEPEST_NEST && op != PYRO_NO_EVENT; i++) {
        if (pyro_has_work(context, op))
            return op;
        uint32_t parent = joins->parent[op];
        op = parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : joins->op[parent];
    }
    return PYRO_NO_EVENT;
}

/* The entry of the op with work around an event; ops that have ended are dropped. */
static open_op *find_donor(pyro_open_ops *open, const pyro_analysis_context *context,
                           uint32_t event)
{
    uint32_t parent = context->joins->parent[event];
    uint32_t around = parent == PYRO_NO_EVENT
                          ? PYRO_NO_EVENT
                          : pyro_op_with_work(context, context->joins->op[parent]);
    while (open->count && open->ops[open->count - 1].event != around)
        open->count--;
    return open->count ? &open->ops[open->count - 1] : NULL;
}

static int64_t take(int64_t *left, int64_t wanted)
{
    int64_t taken = wanted < 0 || *left < 0 ? 0 : wanted < *left ? wanted : *left;
    *left -= taken;
    return taken;
}

bool pyro_own_work_take(pyro_own_work *own, const pyro_analysis_context *context, uint32_t event,
                        pyro_taken_work *taken)
{
    const pyro_trace *trace = context->trace;
    uint32_t detail = trace->detail[event], track = trace->track[event];
    *taken = (pyro_taken_work){-1, -1, PYRO_NO_EVENT};
    if (detail == PYRO_NO_ID)
        return true;
    bool is_inside = context->kind_of_op[detail] & PYRO_KIND_INSIDE;
    const pyro_op_kind *kind = pyro_context_op_kind(context, detail);
    if (!pyro_has_work(context, event)) {
        if (!is_inside) /* a view, or an op without a rule */
            *taken = (pyro_taken_work){kind->flops, kind->bytes, PYRO_NO_EVENT};
        return true;
    }
    if (!own->tracks) {
        own->track_count = trace->track_count;
        own->tracks = calloc(own->track_count + 1, sizeof *own->tracks);
    }
    if (!own->tracks)
        return false;
    pyro_open_ops *open = &own->tracks[track];
    open_op *donor = find_donor(open, context, event);
    *taken = (pyro_taken_work){kind->flops, kind->bytes, PYRO_NO_EVENT};
    if (donor)
        *taken = (pyro_taken_work){take(&donor->flops, kind->flops),
                                   take(&donor->bytes, kind->bytes), donor->event};
    else if (is_inside) /* the op around it was not asked for, and has all */
        *taken = (pyro_taken_work){-1, -1, PYRO_NO_EVENT};
    if (!pyro_grow(&open->ops, &open->capacity, open->count + 1, sizeof *open->ops))
        return false;
    open->ops[open->count++] = (open_op){event, taken->flops, taken->bytes};
    return true;
}

void pyro_own_work_free(pyro_own_work *own)
{
    for (size_t i = 0; own->tracks && i < own->track_count; i++)
        free(own->tracks[i].ops);
    free(own->tracks);
    own->tracks = NULL;
}
