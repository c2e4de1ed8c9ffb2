/*
 * Detects time of the host that does no work of the model: Python code outside of ops in runs without
 * a device, and torch.compile at work.
 */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <string.h>

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

DETECTOR(python_time)
{
    enum { LEAST_NS = 1000000 }; /* in less, a few calls are much */
    unsigned python = 1u << PYRO_CAUSE_PYTHON;
    /* Findings about loops and small ops count the Python code around their ops. */
    if (!pyro_finder_runs_on_host(finder) || finder->claims_loops || finder->claims_small_ops)
        return false;
    int64_t lost_ns = pyro_finder_late_ns(finder, python);
    if (lost_ns < LEAST_NS)
        return false;
    evidence->value = share(lost_ns, finder->span_ns);
    evidence->gain_ns = lost_ns;
    evidence->gain_basis = "time in Python code outside of ops";
    evidence->place = pyro_finder_cause_place(finder, PYRO_CAUSE_PYTHON);
    pyro_evidence_say(evidence, "Python code outside of ops takes %.1f%% of %s (%s)%s",
                      evidence->value * 100, pyro_finder_whole(finder),
                      pyro_evidence_time(evidence, lost_ns),
                      pyro_finder_besides_profiler(finder, evidence, python));
    return true;
}

/* Before the first step: no step is slower for it, so that it is a warning at most. */
static bool find_early_compilation(const pyro_finder *finder, pyro_evidence *evidence)
{
    int64_t early_ns = finder->result->startup.compile_ns;
    double part = share(early_ns, finder->result->span_ns);
    evidence->value = part < evidence->threshold ? part : evidence->threshold;
    pyro_evidence_say(evidence,
                      "torch.compile works for %s before the first step, %.1f%% of the recording",
                      pyro_evidence_time(evidence, early_ns), part * 100);
    return early_ns > 0;
}

DETECTOR(compilation)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t calls = 0, total_ns = 0;
    uint32_t longest = PYRO_NO_EVENT;
    for (size_t i = 0; i < finder->outer_op_count; i++) {
        uint32_t op = finder->outer_ops[i];
        if (!(pyro_context_traits(finder->context, op) & PYRO_TRAIT_COMPILING) ||
            !pyro_finder_wants(finder, op))
            continue;
        calls++;
        total_ns += trace->duration_ns[op];
        if (longest == PYRO_NO_EVENT || trace->duration_ns[op] > trace->duration_ns[longest])
            longest = op;
    }
    if (!calls)
        return find_early_compilation(finder, evidence);
    total_ns = total_ns < finder->span_ns ? total_ns : finder->span_ns;
    evidence->value = share(total_ns, finder->span_ns);
    evidence->gain_ns = total_ns;
    evidence->gain_basis = "time of torch.compile";
    evidence->place = pyro_finder_place(finder, longest);
    pyro_evidence_say(evidence, "torch.compile works for %.1f%% of %s (%s, %" PRId64 " %s)",
                      evidence->value * 100, pyro_finder_whole(finder),
                      pyro_evidence_time(evidence, total_ns), calls, calls == 1 ? "call" : "calls");
    return true;
}
