/*
 * The analysis of a trace: joins, what analyses share, one pass over the events in order of time,
 * and the findings over the finished result.
 */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "analyze/prices.h"
#include "base/error.h"
#include "hardware/hardware.h"

#include <stdlib.h>
#include <string.h>

/* The public part comes first, so that a pointer to it is one to the whole. */
typedef struct whole_analysis {
    pyro_analysis result;
    pyro_arena arena;
    pyro_joins joins;
} whole_analysis;

/* In order: an analysis may use what those before it have finished. */
static const pyro_analyzer *const analyzers[] = {
    &pyro_analyze_steps,  &pyro_analyze_gaps,    &pyro_analyze_launch,  &pyro_analyze_copies,
    &pyro_analyze_syncs,  &pyro_analyze_loading, &pyro_analyze_memory,  &pyro_analyze_communication,
    &pyro_analyze_layers, &pyro_analyze_ops,     &pyro_analyze_kernels, &pyro_analyze_stacks,
};
#define ANALYZER_COUNT (sizeof analyzers / sizeof analyzers[0])

static const pyro_analysis_options default_options = {.step = -1};

/* Sums and union of the device work that is looked at. */
typedef struct device_totals {
    int64_t until_ns;
    bool begun;
} device_totals;

static void add_to_totals(device_totals *totals, pyro_analysis_context *context, uint32_t event)
{
    pyro_analysis *result = context->result;
    int64_t start = context->trace->start_ns[event];
    int64_t duration = context->trace->duration_ns[event], end = start + duration;
    result->device_total_ns = pyro_add_ns(result->device_total_ns, duration);
    result->kernel_count += context->trace->category[event] == PYRO_EVENT_KERNEL;
    if (totals->begun && start < totals->until_ns)
        start = totals->until_ns;
    if (end > start)
        result->device_busy_ns += end - start;
    if (!totals->begun || end > totals->until_ns)
        totals->until_ns = end;
    totals->begun = true;
}

/* Which analyses want the events of a category. */
typedef struct audience {
    const pyro_analyzer *members[ANALYZER_COUNT];
    void *states[ANALYZER_COUNT];
    size_t count;
} audience;

static void seat_audience(audience *audiences, void **states)
{
    for (unsigned category = 0; category < PYRO_EVENT_CATEGORY_COUNT; category++) {
        audience *seats = &audiences[category];
        for (size_t i = 0; i < ANALYZER_COUNT; i++) {
            uint32_t wanted = analyzers[i]->categories;
            if (!analyzers[i]->event || (wanted && !(wanted & 1u << category)))
                continue;
            seats->members[seats->count] = analyzers[i];
            seats->states[seats->count++] = states[i];
        }
    }
}

static int pass_over_events(pyro_analysis_context *context, void **states)
{
    const pyro_trace *trace = context->trace;
    audience audiences[PYRO_EVENT_CATEGORY_COUNT] = {0};
    device_totals totals = {0};
    seat_audience(audiences, states);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        uint8_t category = trace->category[event];
        const audience *seats = &audiences[category];
        bool is_wanted = pyro_context_wants(context, event);
        if (is_wanted && pyro_event_is_device_work(category))
            add_to_totals(&totals, context, event);
        for (size_t member = 0; member < seats->count; member++) {
            const pyro_analyzer *analyzer = seats->members[member];
            if (!is_wanted && !analyzer->whole_trace)
                continue;
            int status = analyzer->event(seats->states[member], context, event);
            if (status != PYRO_OK)
                return status;
        }
    }
    return PYRO_OK;
}

static int run_analyzers(pyro_analysis_context *context)
{
    void *states[ANALYZER_COUNT] = {0};
    int status = PYRO_OK;
    for (size_t i = 0; i < ANALYZER_COUNT && status == PYRO_OK; i++) {
        states[i] = pyro_arena_alloc(context->scratch, analyzers[i]->state_size);
        if (!states[i])
            status = pyro_fail_memory(context->error);
        else if (analyzers[i]->init)
            status = analyzers[i]->init(states[i], context);
    }
    if (status == PYRO_OK)
        status = pass_over_events(context, states);
    for (size_t i = 0; i < ANALYZER_COUNT && status == PYRO_OK; i++) {
        if (analyzers[i]->finish)
            status = analyzers[i]->finish(states[i], context);
    }
    for (size_t i = 0; i < ANALYZER_COUNT; i++) {
        if (states[i] && analyzers[i]->clear)
            analyzers[i]->clear(states[i]);
    }
    return status;
}

static void describe_trace(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    pyro_analysis *result = context->result;
    result->device_name = trace->device_count ? pyro_trace_text(trace, trace->devices[0].name) : "";
    const pyro_device *device = trace->device_count ? &trace->devices[0] : NULL;
    context->chip = device ? pyro_chip_find(result->device_name, device->total_memory_bytes) : NULL;
    result->device_known = context->chip != NULL;
    result->has_layers = context->joins->has_layers;
    result->has_shapes = trace->has_shapes;
    result->has_stacks = trace->has_stacks;
    result->has_memory = trace->has_memory;
}

static int compile_filter(regex_t *filter, const char *pattern, pyro_error *error)
{
    char reason[128];
    int code = regcomp(filter, pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0)
        return PYRO_OK;
    regerror(code, filter, reason, sizeof reason);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT, "filter '%.200s': %s", pattern, reason);
}

static int fill_analysis(whole_analysis *whole, pyro_trace *trace,
                         const pyro_analysis_options *options, pyro_error *error)
{
    pyro_arena scratch;
    pyro_intern texts;
    regex_t filter;
    pyro_analysis_context context = {.trace = trace,
                                     .joins = &whole->joins,
                                     .options = options,
                                     .arena = &whole->arena,
                                     .scratch = &scratch,
                                     .texts = &texts,
                                     .result = &whole->result,
                                     .error = error};
    int status = PYRO_OK;
    pyro_arena_init(&scratch);
    pyro_intern_init(&texts, &whole->arena);
    if (options->filter) {
        status = compile_filter(&filter, options->filter, error);
        if (status == PYRO_OK)
            context.filter = &filter;
    }
    if (status == PYRO_OK)
        status = pyro_joins_make(&whole->joins, trace, options, error);
    if (status == PYRO_OK) {
        describe_trace(&context);
        status = pyro_context_prepare(&context);
    }
    if (status == PYRO_OK)
        status = pyro_price_ops(&context);
    if (status == PYRO_OK)
        status = run_analyzers(&context);
    if (status == PYRO_OK)
        status = pyro_find_findings(&context);
    if (context.filter)
        regfree(&filter);
    pyro_intern_free(&texts);
    pyro_arena_free(&scratch);
    return status;
}

int pyro_trace_analyze(pyro_analysis **out, pyro_trace *trace, const pyro_analysis_options *options,
                       pyro_error *error)
{
    *out = NULL;
    whole_analysis *whole = calloc(1, sizeof *whole);
    if (!whole)
        return pyro_fail_memory(error);
    pyro_arena_init(&whole->arena);
    int status = fill_analysis(whole, trace, options ? options : &default_options, error);
    if (status != PYRO_OK) {
        pyro_analysis_free(&whole->result);
        return status;
    }
    *out = &whole->result;
    return PYRO_OK;
}

void pyro_analysis_free(pyro_analysis *analysis)
{
    whole_analysis *whole = (whole_analysis *)analysis;
    if (!whole)
        return;
    pyro_joins_free(&whole->joins);
    pyro_arena_free(&whole->arena);
    free(whole);
}

const pyro_joins *pyro_analysis_joins(const pyro_analysis *analysis)
{
    return &((const whole_analysis *)analysis)->joins;
}
