/* Finds the fastest call of every kind of collective, and compares the others with it. */
#include "analyze/device/peer_wait.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>

enum { LEAST_CALLS = 3, LEAST_FACTOR = 2, LEAST_WAIT_NS = 20000 };

static bool add_call(pyro_peer_waits *waits, const pyro_analysis_context *context, uint32_t event)
{
    pyro_collective_row wanted = pyro_collective_describe(&waits->finder, context, event, NULL);
    uint32_t row = pyro_collective_set_find(&waits->set, &wanted);
    if (row == PYRO_NO_EVENT ||
        !pyro_grow(&waits->fastest_ns, &waits->capacity, waits->set.count, sizeof(int64_t)))
        return false;
    int64_t duration = context->trace->duration_ns[event];
    if (!waits->set.rows[row].calls++ || duration < waits->fastest_ns[row])
        waits->fastest_ns[row] = duration;
    return true;
}

int pyro_peer_waits_init(pyro_peer_waits *waits, pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    bool is_open = false;
    for (size_t i = pyro_trace_next(trace, 0, PYRO_EVENT_KERNEL); i < trace->count;
         i = pyro_trace_next(trace, i + 1, PYRO_EVENT_KERNEL)) {
        if (trace->duration_ns[i] <= 0 ||
            !(pyro_context_traits(context, (uint32_t)i) & PYRO_TRAIT_COLLECTIVE))
            continue;
        if (!is_open && !pyro_collective_finder_init(&waits->finder, trace))
            return pyro_fail_memory(context->error);
        is_open = true;
        if (!add_call(waits, context, (uint32_t)i))
            return pyro_fail_memory(context->error);
    }
    return PYRO_OK;
}

void pyro_peer_waits_free(pyro_peer_waits *waits)
{
    pyro_collective_finder_free(&waits->finder);
    pyro_collective_set_free(&waits->set);
    free(waits->fastest_ns);
}

int64_t pyro_peer_wait_ns(pyro_peer_waits *waits, const pyro_analysis_context *context,
                          uint32_t event)
{
    pyro_collective_row wanted = pyro_collective_describe(&waits->finder, context, event, NULL);
    uint32_t row = pyro_collective_set_find(&waits->set, &wanted);
    if (row == PYRO_NO_EVENT || waits->set.rows[row].calls < LEAST_CALLS ||
        wanted.message_bytes < 0 || wanted.group_size == 1)
        return 0;
    int64_t fastest = waits->fastest_ns[row];
    int64_t wait = context->trace->duration_ns[event] - fastest;
    return wait >= (LEAST_FACTOR - 1) * fastest && wait >= LEAST_WAIT_NS ? wait : 0;
}
