/* Cuts a sweep at windows: the part of a window is the coverage up to its end minus that up to its
 * start. */
#include "analyze/window_sweep.h"

static void tell_parts(pyro_window_sweep *state, const pyro_boundary *boundary)
{
    int sign = boundary->is_end ? 1 : -1;
    for (unsigned classes = 0; classes < 1u << state->class_count; classes++)
        if (state->covered_ns[classes])
            state->part(state->user, boundary->window, classes, sign * state->covered_ns[classes]);
}

static void add_segment(void *user, int64_t start_ns, int64_t end_ns, unsigned classes)
{
    pyro_window_sweep *state = user;
    while (state->next_boundary < state->boundary_count) {
        const pyro_boundary *boundary = &state->boundaries[state->next_boundary];
        if (boundary->time_ns > end_ns)
            break;
        if (boundary->time_ns > start_ns) {
            state->covered_ns[classes] += boundary->time_ns - start_ns;
            start_ns = boundary->time_ns;
        }
        tell_parts(state, boundary);
        state->next_boundary++;
    }
    state->covered_ns[classes] += end_ns - start_ns;
}

void pyro_window_sweep_init(pyro_window_sweep *state, const pyro_analysis_context *context,
                            unsigned class_count, pyro_window_part_fn part, void *user)
{
    *state = (pyro_window_sweep){.boundaries = context->span_boundaries,
                                 .boundary_count = context->boundary_count,
                                 .part = part,
                                 .user = user,
                                 .class_count = class_count};
    /* Work of before the first window matters only as far as it reaches into it. */
    pyro_sweep_init(&state->sweep, class_count, context->span_boundaries[0].time_ns, add_segment,
                    state);
}

void pyro_window_sweep_finish(pyro_window_sweep *state)
{
    pyro_sweep_to(&state->sweep, state->boundaries[state->boundary_count - 1].time_ns);
    /* Boundaries where the sweep began and ended at once have no segment to be seen in. */
    for (; state->next_boundary < state->boundary_count; state->next_boundary++)
        tell_parts(state, &state->boundaries[state->next_boundary]);
}
