/* Detects optimizers that update one tensor at a time, and what that costs. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <string.h>

/* What the single-tensor updates of a trace consist of. */
typedef struct update_sums {
    int64_t updates, ops;
    int64_t op_ns; /* without what recording took, as below */
    int64_t fastest_ns; /* an update's cost without arithmetic */
    int64_t calls, call_ns; /* of Optimizer.step */
    uint32_t first;
} update_sums;

static bool is_update(const char *name)
{
    static const char *const words[] = {"aten::add_", "aten::mul_",  "aten::addcdiv_",
                                        "aten::sub_", "aten::lerp_", "aten::addcmul_"};
    return IS_ONE_OF(name, words);
}

/* The time of an event without what recording took in it; of interest only without a device. */
static int64_t own_ns(const pyro_finder *finder, uint32_t event)
{
    int64_t duration_ns = finder->context->trace->duration_ns[event];
    return finder->has_device_work ? duration_ns
                                   : duration_ns + pyro_finder_cost_ns(finder, event) -
                                         pyro_finder_cost_between_ns(finder, event, event);
}

/* False when the optimizer has fused or multi-tensor updates. */
static bool sum_updates(pyro_finder *finder, update_sums *sums)
{
    const pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    for (size_t i = 0; i < finder->op_count; i++) {
        uint32_t op = finder->ops[i];
        if (context->joins->phase[op] != PYRO_PHASE_OPTIMIZER ||
            !pyro_finder_is_outermost(finder, op))
            continue;
        const char *name = pyro_event_name(trace, op);
        if (!strncmp(name, "aten::_foreach", 14) || !strncmp(name, "aten::_fused", 12))
            return false;
        if (!pyro_finder_wants(finder, op))
            continue;
        sums->ops++;
        sums->op_ns += own_ns(finder, op);
        if (!is_update(name))
            continue;
        sums->first = sums->updates++ ? sums->first : op;
        if (sums->updates == 1 || trace->duration_ns[op] < sums->fastest_ns)
            sums->fastest_ns = trace->duration_ns[op];
    }
    return true;
}

/* Calls of Optimizer.step. */
static void sum_calls(pyro_finder *finder, update_sums *sums)
{
    const pyro_trace *trace = finder->context->trace;
    for (size_t i = pyro_trace_next(trace, 0, PYRO_EVENT_ANNOTATION); i < trace->count;
         i = pyro_trace_next(trace, i + 1, PYRO_EVENT_ANNOTATION)) {
        uint32_t event = (uint32_t)i;
        if (strncmp(pyro_event_name(trace, event), "Optimizer.step#", 15) != 0 ||
            !pyro_finder_wants(finder, event))
            continue;
        sums->calls++;
        sums->call_ns += own_ns(finder, event);
    }
}

/* Idle time in which the optimizer kept the host from launching. */
static int64_t late_in_optimizer(const pyro_finder *finder)
{
    int64_t late = 0;
    for (size_t i = 0; i < finder->result->cause_place_count; i++) {
        const pyro_cause_place *place = &finder->result->cause_places[i];
        bool is_late = place->cause == PYRO_CAUSE_PYTHON || place->cause == PYRO_CAUSE_OPS ||
                       place->cause == PYRO_CAUSE_LAUNCH_LATENCY;
        if (is_late && place->phase == PYRO_PHASE_OPTIMIZER && !place->sync[0])
            late += pyro_place_lost_ns(place);
    }
    return late;
}

/* On the host: Python between the ops, and what each op costs besides its arithmetic. */
static int64_t host_overhead(const update_sums *sums)
{
    int64_t outside_ns = sums->call_ns > sums->op_ns ? sums->call_ns - sums->op_ns : 0;
    return outside_ns + sums->ops * sums->fastest_ns;
}

DETECTOR(single_tensor_optimizer)
{
    update_sums sums = {.first = PYRO_NO_EVENT};
    if (finder->in_use & PYRO_USE_FUSED || !sum_updates(finder, &sums) || !sums.updates)
        return false;
    sum_calls(finder, &sums);
    int64_t steps = sums.calls                           ? sums.calls
                    : finder->context->windows_are_steps ? finder->steps
                                                         : 1;
    bool has_steps = sums.calls || finder->context->windows_are_steps;
    evidence->value = (double)sums.updates / (double)steps;
    evidence->gain_ns = finder->has_device_work ? late_in_optimizer(finder) : host_overhead(&sums);
    evidence->gain_basis = finder->has_device_work ? "idle time before launches of the optimizer"
                                                   : "time of the optimizer outside of arithmetic";
    evidence->place = pyro_finder_place(finder, sums.first);
    pyro_evidence_say(evidence, "%.0f single-tensor updates %s, and no multi-tensor updates",
                      evidence->value, has_steps ? "per optimizer step" : "in the whole trace");
    return true;
}
