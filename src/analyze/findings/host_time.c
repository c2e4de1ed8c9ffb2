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
    pyro_evidence_say(evidence, "Python code outside of ops takes %.1f%% of %s (%.3f ms)%s",
                      evidence->value * 100, pyro_finder_whole(finder), (double)lost_ns / 1e6,
                      pyro_finder_besides_profiler(finder, evidence, python));
    return true;
}

/* "_compile.compile_inner (dynamo_timed)": what torch.compile does, by its own timers. */
static bool is_compiling(const char *name)
{
    static const char mark[] = "(dynamo_timed)";
    size_t length = strlen(name), mark_length = sizeof mark - 1;
    return length > mark_length && !strcmp(name + length - mark_length, mark);
}

DETECTOR(compilation)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t calls = 0, total_ns = 0;
    uint32_t longest = PYRO_NO_EVENT;
    for (size_t i = 0; i < finder->outer_op_count; i++) {
        uint32_t op = finder->outer_ops[i];
        if (!is_compiling(pyro_event_name(trace, op)) || !pyro_finder_wants(finder, op))
            continue;
        calls++;
        total_ns += trace->duration_ns[op];
        if (longest == PYRO_NO_EVENT || trace->duration_ns[op] > trace->duration_ns[longest])
            longest = op;
    }
    if (!calls)
        return false;
    total_ns = total_ns < finder->span_ns ? total_ns : finder->span_ns;
    evidence->value = share(total_ns, finder->span_ns);
    evidence->gain_ns = total_ns;
    evidence->gain_basis = "time of torch.compile";
    evidence->place = pyro_finder_place(finder, longest);
    pyro_evidence_say(evidence, "torch.compile works for %.1f%% of %s (%.3f ms, %" PRId64 " %s)",
                      evidence->value * 100, pyro_finder_whole(finder), (double)total_ns / 1e6,
                      calls, calls == 1 ? "call" : "calls");
    return true;
}
