/* Finds the profiler's steps. If several threads repeat a step, the first to start counts. */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char *name, int64_t *number)
{
    const char *digits = name + strlen("ProfilerStep#");
    char *end;
    long long value = strtoll(digits, &end, 10);
    *number = value;
    return end != digits && value >= 0;
}

/* Whether an earlier step with that number covers the start; looks back a few steps only. */
static bool is_repeated(const pyro_joins *joins, int64_t number, int64_t start_ns)
{
    size_t last = joins->step_count > 64 ? joins->step_count - 64 : 0;
    for (size_t i = joins->step_count; i-- > last;)
        if (joins->steps[i].number == number && start_ns < joins->steps[i].end_ns)
            return true;
    return false;
}

int pyro_join_steps(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        uint8_t category = trace->category[event];
        int64_t number;
        if ((category != PYRO_EVENT_ANNOTATION && category != PYRO_EVENT_OP) ||
            pyro_join_name_class(state, event) != PYRO_NAME_STEP ||
            !parse_number(pyro_event_name(trace, event), &number) ||
            is_repeated(joins, number, trace->start_ns[event]))
            continue;
        if (!pyro_grow(&joins->steps, &joins->step_capacity, joins->step_count + 1,
                       sizeof *joins->steps))
            return pyro_fail_memory(state->error);
        joins->steps[joins->step_count++] = (pyro_step){.event = event,
                                                        .number = number,
                                                        .start_ns = trace->start_ns[event],
                                                        .end_ns = pyro_join_end_ns(trace, event)};
    }
    return PYRO_OK;
}
