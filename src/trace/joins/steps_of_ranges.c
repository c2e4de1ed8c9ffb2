/*
 * Infers the steps of a trace without marks from a range that the program itself names, such as
 * record_function("request"), if it repeats and takes most of the time. A step lasts from one such
 * range to the next.
 */
#include "trace/joins/internal.h"

#include <string.h>

enum { LEAST_RANGES = 3, LEAST_PERCENT = 50, MOST_NAMES = 64, DEEPEST_LOOK = 1000 };

/* The outermost ranges with one name on one thread. */
typedef struct range_sum {
    uint32_t name, calls;
    uint16_t track;
    int64_t total_ns, first_ns, last_ns;
} range_sum;

/* Ranges that libraries name, not the program. */
static bool is_of_library(const char *name)
{
    static const char *const prefixes[] = {"gloo:",
                                           "nccl:",
                                           "mpi:",
                                           "ucc:",
                                           "xccl:",
                                           "## Call CompiledFxGraph",
                                           "Torch-Compiled Region",
                                           "TorchDynamo",
                                           "Optimizer.",
                                           "DistributedDataParallel.",
                                           "FSDP",
                                           "ProfilerStep",
                                           "PyTorch Profiler"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static bool is_range(pyro_join_state *state, uint32_t event)
{
    const pyro_trace *trace = state->trace;
    return trace->category[event] == PYRO_EVENT_ANNOTATION && trace->name[event] != PYRO_NO_ID &&
           pyro_join_name_class(state, event) == PYRO_NAME_PLAIN &&
           !is_of_library(pyro_event_name(trace, event));
}

/* Whether no other range is around a range. */
static bool is_outermost(pyro_join_state *state, uint32_t event)
{
    uint32_t parent = state->joins->parent[event];
    for (int i = 0; i < DEEPEST_LOOK && parent != PYRO_NO_EVENT; i++) {
        if (is_range(state, parent))
            return false;
        parent = state->joins->parent[parent];
    }
    return true;
}

static void add_range(const pyro_trace *trace, range_sum *sums, size_t *count, uint32_t event)
{
    size_t k = 0;
    while (k < *count &&
           (sums[k].name != trace->name[event] || sums[k].track != trace->track[event]))
        k++;
    if (k == MOST_NAMES)
        return;
    if (k == *count)
        sums[(*count)++] = (range_sum){.name = trace->name[event],
                                       .track = trace->track[event],
                                       .first_ns = trace->start_ns[event],
                                       .last_ns = trace->start_ns[event]};
    int64_t end_ns = pyro_join_end_ns(trace, event);
    int64_t span_ns = pyro_join_span_ns(trace->start_ns[event], end_ns);
    if (__builtin_add_overflow(sums[k].total_ns, span_ns, &sums[k].total_ns))
        sums[k].total_ns = INT64_MAX;
    sums[k].last_ns = end_ns > sums[k].last_ns ? end_ns : sums[k].last_ns;
    sums[k].calls++;
}

static bool is_loop(const range_sum *sum)
{
    return sum->calls >= LEAST_RANGES &&
           sum->total_ns / LEAST_PERCENT >= pyro_join_span_ns(sum->first_ns, sum->last_ns) / 100;
}

static int add_step(pyro_join_state *state, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return PYRO_OK;
    return pyro_add_step(state, (pyro_step){.event = PYRO_NO_EVENT,
                                            .number = (int64_t)state->joins->step_count,
                                            .start_ns = start_ns,
                                            .end_ns = end_ns});
}

/* A step per range of the loop, each until the next one starts. */
static int add_steps(pyro_join_state *state, const range_sum *loop)
{
    const pyro_trace *trace = state->trace;
    int64_t start_ns = loop->first_ns;
    int status = PYRO_OK;
    for (size_t i = 0; i < trace->count && status == PYRO_OK; i++) {
        uint32_t event = state->joins->by_time[i];
        if (trace->name[event] != loop->name || trace->track[event] != loop->track ||
            !is_range(state, event) || !is_outermost(state, event))
            continue;
        status = add_step(state, start_ns, trace->start_ns[event]);
        start_ns = trace->start_ns[event];
    }
    return status == PYRO_OK ? add_step(state, start_ns, loop->last_ns) : status;
}

int pyro_infer_steps_of_ranges(pyro_join_state *state)
{
    range_sum sums[MOST_NAMES];
    const range_sum *best = NULL;
    size_t count = 0;
    for (size_t i = 0; i < state->trace->count; i++) {
        uint32_t event = state->joins->by_time[i];
        if (is_range(state, event) && is_outermost(state, event))
            add_range(state->trace, sums, &count, event);
    }
    for (size_t i = 0; i < count; i++)
        if (is_loop(&sums[i]) && (!best || sums[i].total_ns > best->total_ns))
            best = &sums[i];
    if (!best)
        return PYRO_OK;
    int status = add_steps(state, best);
    if (status == PYRO_OK && state->joins->step_count) {
        state->joins->step_source = PYRO_STEPS_ANNOTATION;
        state->joins->step_mark = pyro_trace_text(state->trace, best->name);
    }
    return status;
}
