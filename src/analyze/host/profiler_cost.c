/*
 * Finds what an event cost the host when it was recorded. Machines differ by a factor of ten, so the
 * trace itself says how fast its machine is: between the start of an op and the start of the first
 * op in it lies little but the profiler's work.
 */
#include "analyze/host/profiler_cost.h"
#include "analyze/quantile.h"
#include "analyze/totals.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

typedef struct cost_table {
    double op_ns, shapes_ns, memory_ns, frame_ns, builtin_ns, call_ns;
} cost_table;

static const cost_table torch_costs = {
#define COST(member, torch_ns, own_ns) .member##_ns = (torch_ns),
#include "analyze/host/profiler_cost.def"
};

static const cost_table own_costs = {
#define COST(member, torch_ns, own_ns) .member##_ns = (own_ns),
#include "analyze/host/profiler_cost.def"
};

/* Measured with the costs: what an op costs, as a multiple of two quantiles of these gaps. The smaller
 * estimate counts, because ops also do some work before they call others. */
static const double COST_PER_MEDIAN = 1.2, COST_PER_QUARTILE = 1.9;
/* With a device an op costs more at its end: torch.profiler passes its id to CUPTI and takes it back.
 * Chosen with the planted scripts on an H200 (bench/profiler_cost.py --device cuda). */
static const double DEVICE_FACTOR = 1.15;
/* Outside of these limits of the table's costs, the gaps measure something else. Where they are
 * unknown, rather too little is taken from findings than too much. */
static const double LEAST_FACTOR = 0.1, MOST_FACTOR = 4, UNKNOWN_FACTOR = 0.8;

/* How uncertain a step without the cost is, as parts of the step, of the cost, and at most of the
 * step. */
static const double UNCERTAIN_STEP = 0.06, UNCERTAIN_COST = 0.4, MOST_UNCERTAIN = 0.15;

/* A histogram of short times. */
enum { BUCKET_NS = 16, BUCKETS = 1024, FEWEST_GAPS = 40, MOST_GAPS = 100000 };

typedef struct gap_counts {
    uint32_t counts[BUCKETS], total;
    uint32_t fine; /* not in whole microseconds */
    bool has_calls; /* of a device's runtime */
} gap_counts;

static void count_gap(gap_counts *gaps, int64_t gap_ns)
{
    int64_t bucket = gap_ns / BUCKET_NS;
    gaps->counts[bucket < 0 ? 0 : bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    gaps->fine += gap_ns % 1000 != 0;
    gaps->total++;
}

/* The gap that one of `parts` is at most as long as. */
static double quantile_ns(const gap_counts *gaps, unsigned parts)
{
    uint64_t passed = 0;
    int bucket = 0;
    while (bucket < BUCKETS - 1 && (passed += gaps->counts[bucket]) * parts < gaps->total)
        bucket++;
    return (bucket + 0.5) * BUCKET_NS;
}

/* What an op cost; 0 unknown, as in traces whose times are whole microseconds. */
static double op_cost_ns(const gap_counts *gaps)
{
    double by_median = COST_PER_MEDIAN * quantile_ns(gaps, 2);
    double by_quartile = COST_PER_QUARTILE * quantile_ns(gaps, 4);
    if (gaps->total < FEWEST_GAPS || gaps->fine < gaps->total / 2)
        return 0;
    return (by_median < by_quartile ? by_median : by_quartile) *
           (gaps->has_calls ? DEVICE_FACTOR : 1);
}

/* Counts the gaps between the starts of an op and of the first op in it. */
static int count_gaps(pyro_analysis_context *context, gap_counts *gaps)
{
    const pyro_trace *trace = context->trace;
    const uint32_t *by_time = context->joins->by_time, *parent = context->joins->parent;
    const uint8_t *category = trace->category;
    uint32_t *last = pyro_arena_array(context->scratch, trace->track_count + 1, sizeof *last);
    if (!last)
        return pyro_fail_memory(context->error);
    gaps->has_calls = pyro_trace_next_call(trace, 0) < trace->count;
    for (size_t i = 0; i < trace->count && gaps->total < MOST_GAPS; i++) {
        uint32_t event = by_time[i];
        if (!pyro_event_is_host(category[event]))
            continue;
        uint32_t before = last[trace->track[event]]; /* plus 1 */
        last[trace->track[event]] = event + 1;
        if (category[event] == PYRO_EVENT_OP && before && parent[event] == before - 1 &&
            category[before - 1] == PYRO_EVENT_OP)
            count_gap(gaps, trace->start_ns[event] - trace->start_ns[before - 1]);
    }
    return PYRO_OK;
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static void scale(cost_table *table, double factor)
{
    table->op_ns *= factor;
    table->shapes_ns *= factor;
    table->memory_ns *= factor;
    table->frame_ns *= factor;
    table->builtin_ns *= factor;
    table->call_ns *= factor;
}

/* Scales torch.profiler's costs to the machine and the program that were recorded. Measured costs are
 * those of this machine, but of a smaller program, whose events cost less: the mean of both estimates
 * counts. */
static int scale_to_trace(cost_table *table, pyro_cost_source *source,
                          pyro_analysis_context *context)
{
    gap_counts *gaps = pyro_arena_array(context->scratch, 1, sizeof *gaps);
    if (!gaps)
        return pyro_fail_memory(context->error);
    int status = count_gaps(context, gaps);
    bool is_measured = *source == PYRO_COSTS_CALIBRATED;
    double factor = is_measured ? 1 : UNKNOWN_FACTOR, found_ns = op_cost_ns(gaps);
    double op_ns = table->op_ns + (context->trace->has_shapes ? table->shapes_ns : 0);
    if (found_ns > 0) {
        factor = within(found_ns / op_ns, LEAST_FACTOR, MOST_FACTOR);
        if (is_measured)
            factor = (1 + factor) / 2;
        else
            *source = PYRO_COSTS_TRACE;
    }
    scale(table, factor);
    return status;
}

/* Whether the trace was recorded on this machine, which `pyrometer doctor --calibrate` measured. */
static bool is_of_this_machine(const pyro_trace *trace)
{
    struct utsname names;
    return trace->host != PYRO_NO_ID && uname(&names) == 0 &&
           !strcmp(pyro_trace_text(trace, trace->host), names.nodename);
}

/* Replaces costs by measured ones, where there are any. */
static bool use_measured(cost_table *table, const pyro_analysis_context *context, bool is_own)
{
    const pyro_peaks *peaks = context->options->peaks;
    const pyro_recorder_costs *measured = NULL;
    if (peaks && is_of_this_machine(context->trace))
        measured = is_own ? &peaks->pyrometer : &peaks->torch_profiler;
    if (!measured || measured->op_ns <= 0)
        return false;
    table->op_ns = measured->op_ns;
    table->shapes_ns = measured->shapes_ns;
    table->memory_ns = measured->memory_ns;
    table->frame_ns = table->builtin_ns = measured->frame_ns;
    return true;
}

/* Whether Pyrometer's own recorder saw the ops: without a compiler torch.profiler does it. */
static bool is_by_pyrometer(const pyro_trace *trace)
{
    return pyro_trace_is_captured(trace) &&
           strcmp(pyro_trace_note_text(trace, PYRO_NOTE_OPS), PYRO_NOTE_OPS_BESIDE) != 0;
}

int pyro_event_costs_find(pyro_profiler_cost *cost, pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    bool is_own = is_by_pyrometer(trace);
    cost_table table = is_own ? own_costs : torch_costs;
    int status = PYRO_OK;
    *cost = (pyro_profiler_cost){.source = PYRO_COSTS_DEFAULT};
    if (use_measured(&table, context, is_own))
        cost->source = PYRO_COSTS_CALIBRATED;
    if (!is_own)
        status = scale_to_trace(&table, &cost->source, context);
    cost->op_ns = (int64_t)(table.op_ns + (trace->has_shapes ? table.shapes_ns : 0));
    cost->memory_ns = (int64_t)table.memory_ns;
    cost->frame_ns = (int64_t)table.frame_ns;
    cost->builtin_ns = (int64_t)table.builtin_ns;
    cost->call_ns = (int64_t)table.call_ns;
    return status;
}

/* How far the bare time may lie from the estimate: a part of the time itself, which varies from step
 * to step, and a part of the cost: on one machine an event costs programs that much more or less,
 * probably because of what each leaves in the caches. A wider range than 15% would say nothing. */
static double uncertainty_of(double step_ns, double cost_ns)
{
    double half_ns = UNCERTAIN_STEP * step_ns + UNCERTAIN_COST * cost_ns;
    double most_ns = MOST_UNCERTAIN * step_ns;
    return half_ns < most_ns ? half_ns : most_ns;
}

/* Adds up what recording took, and finds the median of its shares of the steps: a step that something
 * else delayed does not count for more. False when memory is out. */
static bool find_share(const pyro_analysis *result, pyro_profiler_cost *cost)
{
    int64_t *shares = calloc(result->step_count + 1, sizeof *shares); /* in millionths */
    size_t row = 0, known = 0;
    for (size_t i = 0; shares && i < result->step_count; i++) {
        const pyro_step_row *step = &result->steps[i];
        int64_t taken_ns = 0;
        for (; row < result->cause_count && result->causes[row].step == step->number; row++)
            taken_ns += result->causes[row].profiler_ns;
        cost->time_ns += taken_ns;
        if (step->span_ns > 0)
            shares[known++] = (int64_t)(1e6 * (double)taken_ns / (double)step->span_ns);
    }
    cost->share = shares ? (double)pyro_quantile(shares, known, 1, 2) / 1e6 : 0;
    bool is_good = shares != NULL;
    free(shares);
    return is_good;
}

int pyro_find_profiler_cost(pyro_analysis_context *context)
{
    pyro_analysis *result = context->result;
    pyro_profiler_cost *cost = &result->profiler_cost;
    pyro_step_time step;
    if (!find_share(result, cost) || !pyro_analysis_step_time(&step, result))
        return pyro_fail_memory(context->error);
    double recorded_ns = (double)(result->step_count ? step.median_ns : result->span_ns);
    double bare_ns = recorded_ns * (1 - cost->share);
    double half_ns = uncertainty_of(bare_ns, recorded_ns - bare_ns);
    cost->step_ns = (int64_t)recorded_ns;
    cost->step_without_ns = (int64_t)bare_ns;
    cost->step_without_low_ns = (int64_t)(bare_ns - half_ns);
    cost->step_without_high_ns = (int64_t)(bare_ns + half_ns);
    return PYRO_OK;
}

const char *pyro_cost_source_name(pyro_cost_source source)
{
    static const char *const names[] = {[PYRO_COSTS_DEFAULT] = "default",
                                        [PYRO_COSTS_TRACE] = "trace",
                                        [PYRO_COSTS_CALIBRATED] = "calibrated"};
    return names[source];
}
