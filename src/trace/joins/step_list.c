/* Adds steps to the joins, and names their sources. */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"

const char *pyro_step_source_name(pyro_step_source source)
{
    static const char *const names[PYRO_STEPS_SOURCE_COUNT] = {
        "none",        "marks",  "option",     "serving", "optimizer",
        "data_loader", "module", "annotation", "kernels"};
    return (unsigned)source < PYRO_STEPS_SOURCE_COUNT ? names[source] : "none";
}

int pyro_add_step(pyro_join_state *state, pyro_step step)
{
    pyro_joins *joins = state->joins;
    if (!step.name)
        step.name = pyro_arena_format(&joins->arena, "step %lld", (long long)step.number);
    if (!step.name || !pyro_grow(&joins->steps, &joins->step_capacity, joins->step_count + 1,
                                 sizeof *joins->steps))
        return pyro_fail_memory(state->error);
    joins->steps[joins->step_count++] = step;
    return PYRO_OK;
}
