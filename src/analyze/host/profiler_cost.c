/*
 * Finds what an event cost the host when it was recorded. Machines differ by a factor of ten, so the
 * trace itself says how fast its machine is: between the start of an op and the start of the first
 * op in it lies little but the profiler's work.
 */
#include "analyze/host/profiler_cost.h"
#include "analyze/totals.h"
#include "base/error.h"

#include <string.h>
#include <sys/utsname.h>

typedef struct cost_table {
    double op_ns, shapes_ns, memory_ns, frame_ns, call_ns;
} cost_table;

static const cost_table torch_costs = {
#define COST(member, torch_ns, own_ns) .member##_ns = (torch_ns),
#include "analyze/host/profiler_cost.def"
};

static const cost_table own_costs = {
#define COST(member, torch_ns, own_ns) .member##_ns = (own_ns),
#include "analyze/host/profiler_cost.def"
};

/* Measured (bench/profiler_cost.py): what an event costs, as a multiple of the first quartile
 * of these gaps. The gap of an op holds most of the profiler's work at the start of the op in it;
 * the work at its end, and caches that the profiler fills, come on top. */
static const double COST_PER_OP_GAP = 1.5, COST_PER_FRAME_GAP = 2;
/* Outside of these limits of the table's costs, the gaps measure something else. */
static const double LEAST_FACTOR = 0.1, MOST_FACTOR = 4;

/* A histogram of short times. */
enum { BUCKET_NS = 16, BUCKETS = 1024, FEWEST_GAPS = 40, MOST_GAPS = 100000 };

typedef struct gap_counts {
    uint32_t counts[BUCKETS], total;
    uint32_t fine; /* not in whole microseconds */
} gap_counts;

static void count_gap(gap_counts *gaps, int64_t gap_ns)
{
    int64_t bucket = gap_ns / BUCKET_NS;
    gaps->counts[bucket < 0 ? 0 : bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    gaps->fine += gap_ns % 1000 != 0;
    gaps->total++;
}

/* The first quartile: of the calls with the least work of their own. 0 unknown, as in traces whose
 * times are whole microseconds. */
static double first_quartile_ns(const gap_counts *gaps)
{
    uint32_t passed = 0;
    bool is_known = gaps->total >= FEWEST_GAPS && gaps->fine >= gaps->total / 2;
    for (int i = 0; i < BUCKETS && is_known; i++) {
        passed += gaps->counts[i];
        if (passed * 4ull >= gaps->total)
            return (i + 0.5) * BUCKET_NS;
    }
    return 0;
}

/* Gaps between the starts of an event and of the first one in it, both of one category. */
static int measure_gaps(pyro_analysis_context *context, gap_counts *ops, gap_counts *frames)
{
    const pyro_trace *trace = context->trace;
    uint32_t *last = pyro_arena_array(context->scratch, trace->track_count + 1, sizeof *last);
    if (!last)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < trace->count && ops->total + frames->total < MOST_GAPS; i++) {
        uint32_t event = context->joins->by_time[i];
        uint8_t category = trace->category[event];
        if (!pyro_event_is_host(category))
            continue;
        uint32_t before = last[trace->track[event]]; /* plus 1 */
        last[trace->track[event]] = event + 1;
        if (!before || context->joins->parent[event] != before - 1 ||
            trace->category[before - 1] != category)
            continue;
        int64_t gap_ns = trace->start_ns[event] - trace->start_ns[before - 1];
        if (category == PYRO_EVENT_OP)
            count_gap(ops, gap_ns);
        else if (category == PYRO_EVENT_PYTHON)
            count_gap(frames, gap_ns);
    }
    return PYRO_OK;
}

static double limit(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Scales torch.profiler's costs to the machine that recorded the trace. */
static int scale_to_trace(cost_table *table, pyro_cost_source *source,
                          pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    gap_counts *gaps = pyro_arena_array(context->scratch, 2, sizeof *gaps);
    if (!gaps)
        return pyro_fail_memory(context->error);
    int status = measure_gaps(context, &gaps[0], &gaps[1]);
    double op_gap_ns = first_quartile_ns(&gaps[0]), frame_gap_ns = first_quartile_ns(&gaps[1]);
    double op_ns = table->op_ns + (trace->has_shapes ? table->shapes_ns : 0);
    double factor = 1;
    if (op_gap_ns > 0) {
        factor = limit(op_gap_ns * COST_PER_OP_GAP / op_ns, LEAST_FACTOR, MOST_FACTOR);
        *source = PYRO_COSTS_TRACE;
    }
    double frame_factor = factor;
    if (frame_gap_ns > 0)
        frame_factor = limit(frame_gap_ns * COST_PER_FRAME_GAP / table->frame_ns, LEAST_FACTOR,
                             MOST_FACTOR);
    table->op_ns *= factor;
    table->shapes_ns *= factor;
    table->memory_ns *= factor;
    table->call_ns *= factor;
    table->frame_ns *= frame_factor;
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
    table->frame_ns = measured->frame_ns;
    return true;
}

/* Whether Pyrometer's own recorder saw the ops: without a compiler torch.profiler does it. */
static bool is_by_pyrometer(const pyro_trace *trace)
{
    return pyro_trace_is_captured(trace) &&
           strcmp(pyro_trace_note_text(trace, PYRO_NOTE_OPS), PYRO_NOTE_OPS_BESIDE) != 0;
}

int pyro_event_costs_find(pyro_event_costs *costs, pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    bool is_own = is_by_pyrometer(trace);
    cost_table table = is_own ? own_costs : torch_costs;
    int status = PYRO_OK;
    *costs = (pyro_event_costs){.source = PYRO_COSTS_DEFAULT};
    if (use_measured(&table, context, is_own))
        costs->source = PYRO_COSTS_CALIBRATED;
    else if (!is_own)
        status = scale_to_trace(&table, &costs->source, context);
    double op_ns = table.op_ns + (trace->has_shapes ? table.shapes_ns : 0);
    costs->by_category[PYRO_EVENT_OP] = (int64_t)op_ns;
    costs->by_category[PYRO_EVENT_ANNOTATION] = (int64_t)op_ns;
    costs->by_category[PYRO_EVENT_PYTHON] = (int64_t)table.frame_ns;
    costs->by_category[PYRO_EVENT_MEMORY] = (int64_t)table.memory_ns;
    costs->by_category[PYRO_EVENT_RUNTIME] = (int64_t)table.call_ns;
    costs->by_category[PYRO_EVENT_DRIVER] = (int64_t)table.call_ns;
    return status;
}

/* How far the bare time may lie from the estimate: a part of the time itself, which varies from step
 * to step, and a part of the cost; at most 15%. */
static double uncertainty_of(double step_ns, double cost_ns, pyro_cost_source source)
{
    double of_cost = source == PYRO_COSTS_CALIBRATED ? 0.2 : 0.3;
    double half_ns = 0.04 * step_ns + of_cost * cost_ns;
    return half_ns < 0.15 * step_ns ? half_ns : 0.15 * step_ns;
}

int pyro_find_profiler_cost(pyro_analysis_context *context)
{
    pyro_analysis *result = context->result;
    pyro_profiler_cost *cost = &result->profiler_cost;
    pyro_step_time step;
    int64_t span_ns = 0;
    for (size_t i = 0; i < result->cause_count; i++) {
        cost->time_ns += result->causes[i].profiler_ns;
        span_ns += result->causes[i].time_ns;
    }
    cost->share = span_ns > 0 ? (double)cost->time_ns / (double)span_ns : 0;
    if (!pyro_analysis_step_time(&step, result))
        return pyro_fail_memory(context->error);
    double median_ns = (double)(result->step_count ? step.median_ns : result->span_ns);
    double bare_ns = median_ns * (1 - cost->share);
    double half_ns = uncertainty_of(bare_ns, median_ns - bare_ns, cost->source);
    cost->step_ns = (int64_t)median_ns;
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
