/*
 * Bounds the launches of device work whose own launches are not in the file: a stream works in order,
 * so such work was launched before the next work on its stream whose launch is known. Goes backward
 * in time and keeps the last launch of every stream, and of every device for streams that know none.
 */
#include "analyze/analyze.h"
#include "base/error.h"

static uint32_t *none_of(pyro_analysis_context *context, size_t count)
{
    uint32_t *items = pyro_arena_array(context->scratch, count, sizeof *items);
    for (size_t i = 0; items && i < count; i++)
        items[i] = PYRO_NO_EVENT;
    return items;
}

/* Where work without a launch stands among all of it; its number where it does not. */
static size_t place_of(const pyro_launch_bounds *bounds, uint32_t event)
{
    size_t low = 0, high = bounds->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bounds->work[middle] == event)
            return middle;
        if (bounds->work[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    return bounds->count;
}

/* Lists the work without a launch; false when memory is out. */
static bool list_work(pyro_analysis_context *context, bool *knows_launches)
{
    const pyro_trace *trace = context->trace;
    const uint32_t *launch = context->joins->launch;
    size_t count = 0;
    for (size_t i = pyro_trace_next_work(trace, 0); i < trace->count;
         i = pyro_trace_next_work(trace, i + 1)) {
        count += launch[i] == PYRO_NO_EVENT;
        knows_launches[trace->track[i]] |= launch[i] != PYRO_NO_EVENT;
    }
    uint32_t *work = pyro_arena_array(context->scratch, count, sizeof *work);
    uint32_t *bound = none_of(context, count);
    if (count && (!work || !bound))
        return false;
    count = 0;
    for (size_t i = pyro_trace_next_work(trace, 0); i < trace->count;
         i = pyro_trace_next_work(trace, i + 1))
        if (launch[i] == PYRO_NO_EVENT)
            work[count++] = (uint32_t)i;
    context->launch_bounds = (pyro_launch_bounds){work, bound, count};
    return true;
}

int pyro_context_bound_launches(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    bool *knows_launches = pyro_arena_array(context->scratch, trace->track_count + 1,
                                            sizeof *knows_launches);
    uint32_t *on_track = none_of(context, trace->track_count + 1);
    uint32_t *on_device = none_of(context, context->device_count + 1);
    if (!knows_launches || !on_track || !on_device || !list_work(context, knows_launches))
        return pyro_fail_memory(context->error);
    for (size_t i = context->launch_bounds.count ? trace->count : 0; i-- > 0;) {
        uint32_t event = context->joins->by_time[i], launch = context->joins->launch[event];
        uint16_t track = trace->track[event], device = context->device_of_track[track];
        if (!pyro_event_is_device_work(trace->category[event]))
            continue;
        if (launch != PYRO_NO_EVENT)
            on_track[track] = on_device[device] = launch;
        else
            context->launch_bounds.bound[place_of(&context->launch_bounds, event)] =
                knows_launches[track] ? on_track[track] : on_device[device];
    }
    return PYRO_OK;
}

uint32_t pyro_context_bound_of(const pyro_analysis_context *context, uint32_t event)
{
    size_t place = place_of(&context->launch_bounds, event);
    return place < context->launch_bounds.count ? context->launch_bounds.bound[place]
                                                : PYRO_NO_EVENT;
}
