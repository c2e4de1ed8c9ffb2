/* Places slices on lanes, so that each lane holds only slices that nest. */
#include "trace/perfetto/perfetto.h"

#include "base/error.h"

#include <stdlib.h>

/* Ends the slices of a lane that are over at a time. */
static int end_until(pyro_perfetto *perfetto, pyro_lanes *lanes, size_t index, int64_t time_ns)
{
    pyro_lane *lane = &lanes->items[index];
    int status = PYRO_OK;

    while (status == PYRO_OK && lane->depth > 0 && lane->ends[lane->depth - 1] <= time_ns)
        status = pyro_perfetto_end_slice(perfetto, lanes->uuid + index, lane->ends[--lane->depth]);
    return status;
}

static bool fits(const pyro_lanes *lanes, size_t index, int64_t end_ns)
{
    const pyro_lane *lane = &lanes->items[index];

    return lane->depth == 0 || (lanes->nests && end_ns <= lane->ends[lane->depth - 1]);
}

int pyro_lanes_place(pyro_perfetto *perfetto, pyro_lanes *lanes, int64_t start_ns, int64_t *end_ns,
                     uint64_t *uuid)
{
    size_t index = 0;

    for (; index < lanes->count; index++) {
        int status = end_until(perfetto, lanes, index, start_ns);
        if (status != PYRO_OK)
            return status;
        if (fits(lanes, index, *end_ns))
            break;
    }
    if (index == PYRO_MOST_LANES) {
        const pyro_lane *last = &lanes->items[--index];
        if (*end_ns > last->ends[last->depth - 1])
            *end_ns = last->ends[last->depth - 1];
    }
    *uuid = lanes->uuid + index;
    if (index == lanes->count) {
        int status = lanes->describe(perfetto, lanes, *uuid);
        if (status != PYRO_OK)
            return status;
        lanes->count++;
    }
    pyro_lane *lane = &lanes->items[index];
    if (!pyro_grow(&lane->ends, &lane->capacity, lane->depth + 1, sizeof *lane->ends))
        return pyro_fail_memory(perfetto->error);
    lane->ends[lane->depth++] = *end_ns;
    return PYRO_OK;
}

int pyro_lanes_finish(pyro_perfetto *perfetto, pyro_lanes *lanes)
{
    int status = PYRO_OK;

    for (size_t index = 0; status == PYRO_OK && index < lanes->count; index++)
        status = end_until(perfetto, lanes, index, INT64_MAX);
    return status;
}

void pyro_lanes_free(pyro_lanes *lanes)
{
    for (size_t i = 0; i < PYRO_MOST_LANES; i++)
        free(lanes->items[i].ends);
    *lanes = (pyro_lanes){0};
}
