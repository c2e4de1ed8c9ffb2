/* Detects idle time that follows a wait of the host for the device: it could not launch ahead. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <string.h>

/* Where the host waited; where it was late after that, if threads without frames waited. */
static const char *place_of(pyro_finder *finder, const pyro_cause_place *place)
{
    const char *waited = pyro_finder_place(finder, place->sync_event);
    return waited[0] ? waited : pyro_first_text(place->line, place->layer, place->op);
}

/* Idle time that began while the host waited; the longest of it whose place is known. */
static int64_t sum_after_waits(pyro_finder *finder, const pyro_cause_place **worst)
{
    const pyro_analysis *result = finder->result;
    int64_t lost = 0;
    for (size_t i = 0; i < result->cause_place_count; i++) {
        const pyro_cause_place *place = &result->cause_places[i];
        if (!place->sync[0] || !(PYRO_LATE_CAUSES >> place->cause & 1))
            continue;
        lost += pyro_place_lost_ns(place);
        if (!*worst && place_of(finder, place)[0])
            *worst = place;
    }
    return lost;
}

/* Calls of the steps in which the host waits for a device. */
static int64_t count_waits(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t calls = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        bool is_call = trace->category[i] == PYRO_EVENT_RUNTIME ||
                       trace->category[i] == PYRO_EVENT_DRIVER;
        calls += is_call && pyro_context_traits(finder->context, i) & PYRO_TRAIT_SYNC &&
                 pyro_finder_wants(finder, i);
    }
    return calls;
}

/* What to do, by the op that waits; NULL: what the table says. */
static const char *advice_on(const char *op)
{
    static const char *const sizes[] = {"aten::nonzero",       "aten::masked_select",
                                        "aten::_unique2",      "aten::unique_consecutive",
                                        "aten::unique_dim",    "aten::repeat_interleave",
                                        "aten::nonzero_numpy", "aten::argwhere"};
    static const char *const copies[] = {"aten::copy_", "aten::_to_copy", "aten::to"};
    if (pyro_is_communication(op))
        return "use the backend of the device (nccl): gloo copies tensors to the host and back";
    if (IS_ONE_OF(op, sizes))
        return "the size of this op's result depends on values, so that the host waits for them: use "
               "torch.where or a mask of fixed size instead of boolean indexing and nonzero";
    if (IS_ONE_OF(op, copies))
        return "copy to the device from pinned memory with non_blocking=True; of copies to the host "
               "(.cpu(), .item(), print), fetch values every few steps at once";
    return NULL;
}

DETECTOR(synchronizations)
{
    const pyro_cause_place *worst = NULL;
    int64_t lost = sum_after_waits(finder, &worst), calls = lost ? count_waits(finder) : 0;
    if (!calls)
        return false;
    evidence->value = (double)lost / (double)finder->span_ns;
    evidence->gain_ns = lost;
    evidence->gain_basis = "idle time that began while the host waited for the device";
    if (worst) {
        const char *op = pyro_context_op(finder->context, worst->sync_event);
        evidence->place = place_of(finder, worst);
        evidence->advice = advice_on(op[0] ? op : worst->op);
    }
    pyro_evidence_say(
        evidence,
        "the device idled %s, %.1f%% of %s, after the host had waited for it; %" PRId64
        " wait%s%s%s%s",
        pyro_evidence_time(evidence, lost), evidence->value * 100, pyro_finder_whole(finder), calls,
        PYRO_PLURAL(calls),
        finder->context->windows_are_steps
            ? pyro_evidence_text(evidence, ", %.1f per step", (double)calls / (double)finder->steps)
            : "",
        worst ? ", most of this after " : "", worst ? worst->sync : "");
    return true;
}
