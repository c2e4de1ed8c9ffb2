/*
 * Makes steps from the annotations of serving engines. The host launches a step and continues, so a
 * step lasts until its device work is done and the next one starts; time in which the engine waits
 * for requests belongs to no step.
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <string.h>

static int add_serving_step(pyro_join_state *state, uint32_t event, const pyro_serving_mark *mark)
{
    pyro_joins *joins = state->joins;
    const pyro_trace *trace = state->trace;
    size_t number = joins->step_count;
    if (!pyro_grow(&joins->serving, &joins->serving_capacity, number + 1, sizeof *joins->serving))
        return pyro_fail_memory(state->error);
    joins->serving[number] = *mark;
    joins->step_source = PYRO_STEPS_SERVING;
    return pyro_add_step(state, (pyro_step){.event = event,
                                            .name = pyro_event_name(trace, event),
                                            .number = (int64_t)number,
                                            .start_ns = trace->start_ns[event],
                                            .end_ns = pyro_join_end_ns(trace, event)});
}

/* The last step that starts at or before a time; NULL: none. */
static pyro_step *step_before(const pyro_joins *joins, int64_t time_ns)
{
    size_t low = 0, high = joins->step_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (joins->steps[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &joins->steps[low - 1] : NULL;
}

/* Moves the end of each step to that of the device work that was launched in its range. */
static void reach_device_work(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    const pyro_joins *joins = state->joins;
    for (uint32_t event = 0; event < trace->count; event++) {
        uint32_t launch = joins->launch[event];
        if (!pyro_event_is_device_work(trace->category[event]) || launch == PYRO_NO_EVENT)
            continue;
        pyro_step *step = step_before(joins, trace->start_ns[launch]);
        int64_t end_ns = pyro_join_end_ns(trace, event);
        if (step && trace->start_ns[launch] < pyro_join_end_ns(trace, step->event) &&
            end_ns > step->end_ns)
            step->end_ns = end_ns;
    }
}

/* A pause that is shorter than the step is the engine's own work between two steps. */
static void close_pauses(pyro_joins *joins)
{
    for (size_t i = 0; i + 1 < joins->step_count; i++) {
        pyro_step *step = &joins->steps[i];
        int64_t next_ns = joins->steps[i + 1].start_ns;
        if (step->end_ns > next_ns || pyro_join_span_ns(step->end_ns, next_ns) <=
                                          pyro_join_span_ns(step->start_ns, step->end_ns))
            step->end_ns = next_ns;
    }
}

/* Most traces are no engine's: their names show it faster than their events. */
static bool has_serving_names(const pyro_trace *trace)
{
    pyro_serving_mark mark;
    for (uint32_t i = 0; i < trace->names.count; i++) {
        const char *name = pyro_trace_text(trace, i);
        if ((name[0] == 'e' || name[0] == 's') && pyro_parse_serving(name, &mark))
            return true;
    }
    return false;
}

int pyro_join_serving_steps(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    int64_t until_ns = INT64_MIN;
    if (!has_serving_names(trace))
        return PYRO_OK;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        pyro_serving_mark mark;
        if (trace->category[event] != PYRO_EVENT_ANNOTATION)
            continue;
        const char *name = pyro_event_name(trace, event);
        if ((name[0] != 'e' && name[0] != 's') || !pyro_parse_serving(name, &mark))
            continue;
        if (trace->start_ns[event] < until_ns) {
            /* SGLang can write both kinds of names, one in the other. */
            joins->serving[joins->step_count - 1].is_sglang |= mark.is_sglang;
            continue;
        }
        int status = add_serving_step(state, event, &mark);
        if (status)
            return status;
        until_ns = pyro_join_end_ns(trace, event);
    }
    if (joins->step_count) {
        reach_device_work(state);
        close_pauses(joins);
    }
    return PYRO_OK;
}
