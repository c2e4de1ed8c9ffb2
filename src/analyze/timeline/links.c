/* Finds which slices of a timeline belong together: launches and kernels, forward and backward. */
#include "analyze/timeline/timeline.h"

#include "base/containers/map.h"

/* Only ops that the autograd engine runs name the thread of their forward. */
static const pyro_op_detail *op_detail(const pyro_trace *trace, uint32_t event)
{
    uint32_t index = trace->detail[event];

    if (trace->category[event] != PYRO_EVENT_OP || index == PYRO_NO_ID)
        return NULL;
    return trace->ops[index].sequence == PYRO_NO_SEQUENCE ? NULL : &trace->ops[index];
}

/* A backward op and its forward op have the same number, and belong to the same call of a layer. */
static uint64_t key_of(const pyro_joins *joins, uint32_t event, int64_t sequence)
{
    return (uint64_t)sequence * UINT64_C(0x9e3779b97f4a7c15) ^ joins->call[event];
}

/* The last forward op with a number is the one that made the node. */
static bool index_forward(pyro_map *forward_of, const pyro_timeline *timeline,
                          const pyro_trace *trace, const pyro_joins *joins)
{
    for (size_t i = 0; i < timeline->count; i++) {
        uint32_t event = timeline->slices[i].launch;
        const pyro_op_detail *detail = op_detail(trace, event);
        uint64_t key;
        uint32_t known;

        if (!detail || timeline->slices[i].name == PYRO_NO_ID || detail->forward_thread != 0 ||
            joins->phase[event] == PYRO_PHASE_BACKWARD)
            continue;
        key = key_of(joins, event, detail->sequence);
        known = pyro_map_get(forward_of, key);
        if (known != PYRO_MAP_NONE &&
            timeline->slices[known].start_ns > timeline->slices[i].start_ns)
            continue;
        if (!pyro_map_put(forward_of, key, (uint32_t)i))
            return false;
    }
    return true;
}

static void link_backward(const pyro_map *forward_of, pyro_timeline *timeline,
                          const pyro_trace *trace, const pyro_joins *joins)
{
    for (size_t i = 0; i < timeline->count; i++) {
        pyro_slice *slice = &timeline->slices[i];
        const pyro_op_detail *detail = op_detail(trace, slice->launch);
        uint32_t found;

        if (!detail || slice->name == PYRO_NO_ID || slice->phase != PYRO_PHASE_BACKWARD)
            continue;
        found = pyro_map_get(forward_of, key_of(joins, slice->launch, detail->sequence));
        if (found != PYRO_MAP_NONE && timeline->slices[found].start_ns < slice->start_ns)
            slice->forward = found;
    }
}

/* Replaces the event that each slice still holds in `launch` by the slice of its launch. */
static void link_launches(pyro_timeline *timeline, const pyro_joins *joins, uint32_t *slice_of)
{
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->slices[i].name != PYRO_NO_ID)
            slice_of[timeline->slices[i].launch] = (uint32_t)i;
    }
    for (size_t i = 0; i < timeline->count; i++) {
        pyro_slice *slice = &timeline->slices[i];
        uint32_t launch = slice->name != PYRO_NO_ID && pyro_event_is_device_work(slice->category)
                              ? joins->launch[slice->launch]
                              : PYRO_NO_EVENT;
        uint32_t found = launch != PYRO_NO_EVENT ? slice_of[launch] : PYRO_NO_SLICE;

        slice->launch = found < timeline->count ? found : PYRO_NO_SLICE;
    }
}

bool pyro_timeline_link(pyro_timeline *timeline, const pyro_trace *trace, const pyro_joins *joins,
                        uint32_t *slice_of)
{
    pyro_map forward_of = PYRO_MAP_INIT;
    bool good = index_forward(&forward_of, timeline, trace, joins);

    if (good)
        link_backward(&forward_of, timeline, trace, joins);
    link_launches(timeline, joins, slice_of);
    pyro_map_free(&forward_of);
    return good;
}
