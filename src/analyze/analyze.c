/*
 * Analyses a trace: makes the joins and the shared context, runs all analyses over the events in
 * order of time, then the findings over the finished result.
 */
#include "analyze/analyze.h"
#include "analyze/device/graph_rows.h"
#include "analyze/device/kernel_category.h"
#include "analyze/device/kernel_names.h"
#include "analyze/host/profiler_cost.h"
#include "analyze/lanes.h"
#include "analyze/power/power.h"
#include "analyze/prices.h"
#include "analyze/serving/serving.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/parallel.h"
#include "hardware/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The public part comes first, so that a pointer to it points to the whole. */
typedef struct whole_analysis {
    pyro_analysis result;
    pyro_arena arena, lane_arenas[PYRO_LANE_ARENAS];
    pyro_joins joins;
} whole_analysis;

/* An analysis may use the results of those before it in its lane, and what the inits of the lane
 * that it comes after made (here, prices). The last analysis is optional. */
static const pyro_lane_row analyses[] = {
    {&pyro_analyze_steps, 0, 0},     {&pyro_analyze_loading, 0, 0}, {&pyro_analyze_gaps, 0, 0},
    {&pyro_analyze_lost_time, 0, 0}, {&pyro_analyze_syncs, 0, 0},   {&pyro_analyze_prices, 1, 1},
    {&pyro_analyze_ops, 1, 1},       {&pyro_analyze_layers, 2, 1},  {&pyro_analyze_training, 2, 1},
    {&pyro_analyze_launch, 3, 3},
/* Analyses that need no other, by the names of their tables. */
#define PYRO_ANALYSIS(name) {&pyro_analyze_##name, 3, 3},
#include <pyrometer/tables.def>
    {&pyro_analyze_stacks, 3, 3},
};
#define ANALYSIS_COUNT (sizeof analyses / sizeof analyses[0])

static const pyro_analysis_options default_options = {.step = -1};

static void describe_trace(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    pyro_analysis *result = context->result;
    result->device_name = trace->device_count ? pyro_trace_text(trace, trace->devices[0].name) : "";
    const pyro_device *device = trace->device_count ? &trace->devices[0] : NULL;
    context->chip = device ? pyro_chip_find(result->device_name, device->total_memory_bytes) : NULL;
    result->device_known = context->chip != NULL;
    pyro_context_find_peaks(context);
    result->has_layers = context->joins->has_layers;
    result->has_shapes = trace->has_shapes;
    result->has_stacks = trace->has_stacks;
    result->has_memory = trace->has_memory;
    result->is_captured = pyro_trace_is_captured(trace);
}

/* Notes how kernels of replayed graphs were attributed to layers. */
static int note_graphs(pyro_analysis_context *context)
{
    static const char *const sources[PYRO_GRAPH_SOURCE_COUNT] = {
        "by category only, without layers",   "by annotations of the nodes",
        "by the order of the capture",        "by an eager run of the same kernels",
        "by the provenance of compiled code", "by traces of their captures",
        "by the recorded captures"};
    const pyro_graph_attribution *graphs = &context->joins->graphs;
    int64_t total_ns = 0;
    pyro_buf text = PYRO_BUF_INIT;
    for (int i = 0; i < PYRO_GRAPH_SOURCE_COUNT; i++)
        total_ns += graphs->time_ns[i];
    if (!total_ns)
        return PYRO_OK;
    for (int i = 1; i <= PYRO_GRAPH_SOURCE_COUNT; i++) {
        int source = i % PYRO_GRAPH_SOURCE_COUNT; /* the rest comes last */
        if (graphs->kernels[source])
            pyro_buf_addf(&text, "%s%.1f%% of the time %s (%lld kernels and copies)",
                          text.length ? ", " : "",
                          100 * (double)graphs->time_ns[source] / (double)total_ns, sources[source],
                          (long long)graphs->kernels[source]);
    }
    int status = text.failed ? pyro_fail_memory(context->error)
                             : pyro_context_note(context, "layers of %zu replay%s of graphs: %s",
                                                 graphs->replays, graphs->replays == 1 ? "" : "s",
                                                 text.data);
    pyro_buf_free(&text);
    return status;
}

#define COMPILED_EARLIER \
    "compiled before the recording began, or without pyrometer and is from Inductor's cache " \
    "(TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 compiles it again)"

/* Says what is unknown of compiled code, and what would tell it. */
static int note_unknown_code(pyro_analysis_context *context)
{
    const pyro_compiled_attribution *compiled = &context->joins->compiled;
    if (compiled->graphs)
        return pyro_context_note(
            context,
            "provenance of %zu compiled graphs (%s) matches no kernel of this trace: it is of another "
            "run, or of code that did not run here",
            compiled->graphs, compiled->folder ? compiled->folder : "in the recording");
    if (compiled->kernels[PYRO_COMPILED_UNKNOWN])
        return pyro_context_note(
            context,
            "%lld kernels of compiled code have no modules: the code was " COMPILED_EARLIER,
            (long long)compiled->kernels[PYRO_COMPILED_UNKNOWN]);
    if (compiled->are_rows)
        return pyro_context_note(
            context,
            "layers are compiled graphs, whose modules are unknown: run the program with "
            "TORCH_TRACE=DIR INDUCTOR_PROVENANCE=1 and give --provenance DIR, or record it "
            "with pyrometer");
    return PYRO_OK;
}

/* Says how work of compiled code was attributed to layers. */
static int note_compiled(pyro_analysis_context *context)
{
    static const char *const sources[PYRO_COMPILED_SOURCE_COUNT] = {
        "without modules", "by provenance", "by stacks of the kernels, as source lines"};
    const pyro_compiled_attribution *compiled = &context->joins->compiled;
    const char *whose = context->trace->kernel_count ? "its time" : "the time of its ops";
    int64_t total_ns = 0;
    pyro_buf text = PYRO_BUF_INIT;
    for (int i = 0; i < PYRO_COMPILED_SOURCE_COUNT; i++)
        total_ns += compiled->time_ns[i];
    if (total_ns == compiled->time_ns[PYRO_COMPILED_UNKNOWN])
        return note_unknown_code(context);
    for (int i = 1; i <= PYRO_COMPILED_SOURCE_COUNT; i++) {
        int source = i % PYRO_COMPILED_SOURCE_COUNT; /* the rest comes last */
        if (!compiled->kernels[source])
            continue;
        pyro_buf_addf(&text, "%s%.1f%% of %s %s", text.length ? ", " : "",
                      100 * (double)compiled->time_ns[source] / (double)total_ns, whose,
                      sources[source]);
        if (source == PYRO_COMPILED_BY_PROVENANCE)
            pyro_buf_addf(&text, " of %zu graphs (%.200s)", compiled->graphs,
                          compiled->folder ? compiled->folder : "in the recording");
    }
    if (compiled->shared_kernels)
        pyro_buf_addf(&text,
                      "; %.1f%% is in kernels that are fused over several layers and shared out",
                      100 * (double)compiled->shared_ns / (double)total_ns);
    if (compiled->is_recorded && compiled->time_ns[PYRO_COMPILED_UNKNOWN] > total_ns / 10)
        pyro_buf_adds(&text, "; the rest was " COMPILED_EARLIER);
    if (compiled->damaged)
        pyro_buf_addf(&text, "; %zu parts of the files are damaged", compiled->damaged);
    int status = text.failed ? pyro_fail_memory(context->error)
                             : pyro_context_note(context, "layers of compiled code: %s", text.data);
    pyro_buf_free(&text);
    return status;
}

/* Says that steps are inferred, and from what. */
static int note_inferred_steps(pyro_analysis_context *context)
{
    static const char *const sources[PYRO_STEPS_SOURCE_COUNT] = {
        [PYRO_STEPS_OPTIMIZER] = "updates of the optimizer",
        [PYRO_STEPS_LOADER] = "batches of the data loader",
        [PYRO_STEPS_MODULE] = "calls of the module",
        [PYRO_STEPS_ANNOTATION] = "the range",
        [PYRO_STEPS_KERNELS] = "device work that repeats from",
    };
    const pyro_joins *joins = context->joins;
    char mark[PYRO_KERNEL_SHORT_NAME];
    if (!pyro_steps_are_inferred(joins->step_source))
        return PYRO_OK;
    if (joins->step_source == PYRO_STEPS_KERNELS)
        pyro_kernel_short_name(joins->step_mark, mark);
    return pyro_context_note(context,
                             "the trace marks no steps: %zu are inferred from %s %.120s; "
                             "--steps-from REGEX chooses other ranges",
                             joins->step_count, sources[joins->step_source],
                             joins->step_source == PYRO_STEPS_KERNELS ? mark : joins->step_mark);
}

/* Notes requested layers and names that were not found. */
static int note_joins(pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    const pyro_analysis_options *options = context->options;
    int status = PYRO_OK;
    if (options->layers_from && !joins->layers_from_annotations)
        status = pyro_context_note(
            context, "no annotation matches '%.200s': %s", options->layers_from,
            joins->has_layers ? "layers come from the nn.Module frames" : "no layers");
    if (!status && options->steps_from && joins->step_source != PYRO_STEPS_CHOSEN)
        status = pyro_context_note(context, "nothing matches '%.200s': %s", options->steps_from,
                                   joins->step_count ? "steps come from elsewhere" : "no steps");
    if (!status)
        status = note_inferred_steps(context);
    if (!status && options->model && joins->layers_named_by_model < joins->layer_count)
        status = pyro_context_note(context, "%zu of %zu layers match a module of the model",
                                   joins->layers_named_by_model, joins->layer_count);
    if (!status)
        status = note_graphs(context);
    if (!status)
        status = note_compiled(context);
    if (!status && joins->partial_overlaps)
        status = pyro_context_note(context,
                                   "%lld slices end after the slice that encloses their start",
                                   (long long)joins->partial_overlaps);
    return status;
}

/* Notes what the recorder could not record. */
static int note_missing(pyro_analysis_context *context)
{
    const char *missing = pyro_trace_note_text(context->trace, PYRO_NOTE_MISSING);
    return missing[0] ? pyro_context_note(context, "not recorded: %.400s", missing) : PYRO_OK;
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

static void drop_op_rates(const pyro_op_row *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pyro_op_row *op = &((pyro_op_row *)ops)[i];
        op->flops_per_s = -1;
        op->least_ns = op->lost_ns = -1;
    }
}

/* Where device work is missing, ops only launched it: host times say nothing about rates. */
static void drop_host_rates(pyro_analysis *result)
{
    bool is_missing = false;
    for (size_t i = 0; i < result->defect_count; i++)
        is_missing |= strcmp(result->defects[i].id, "no-device-events") == 0;
    if (is_missing) {
        drop_op_rates(result->ops, result->op_count);
        drop_op_rates(result->ops_by_shape, result->op_by_shape_count);
        result->least_time = (pyro_least_time){0};
    }
    for (size_t i = 0; is_missing && i < result->layer_count; i++) {
        pyro_layer_row *layer = &((pyro_layer_row *)result->layers)[i];
        layer->flops_per_s = layer->peak_share = -1;
        layer->least_ns = layer->lost_ns = -1;
    }
    for (size_t i = 0; is_missing && i < result->training_count; i++)
        ((pyro_training_step *)result->training)[i].flops_per_s = -1;
}

/* Work that needs only the trace runs while the joins are made. */
typedef struct measuring {
    pyro_analysis_context *context;
    int status;
} measuring;

static void measure(void *data, unsigned part)
{
    measuring *measuring = data;
    (void)part;
    measuring->status = pyro_context_measure(measuring->context);
    if (measuring->status == PYRO_OK)
        measuring->status = pyro_price_kinds(measuring->context);
    if (measuring->status == PYRO_OK && !pyro_classify_kernels(measuring->context))
        measuring->status = PYRO_ERROR_MEMORY;
}

static int join_and_measure(pyro_analysis_context *context, pyro_trace *trace, pyro_joins *joins)
{
    pyro_error *error = context->error;
    measuring measuring = {.context = context};
    context->error = NULL; /* used by the joins meanwhile */
    int status = pyro_joins_make_beside(joins, trace, context->options, measure, &measuring, error);
    context->error = error;
    return status || !measuring.status ? status : pyro_fail_memory(error);
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
        status = join_and_measure(&context, trace, &whole->joins);
    if (status == PYRO_OK)
        status = pyro_make_graph_rows(&context, &whole->joins);
    if (status == PYRO_OK) {
        describe_trace(&context);
        status = note_joins(&context);
        if (status == PYRO_OK)
            status = note_missing(&context);
    }
    if (status == PYRO_OK)
        status = pyro_context_prepare(&context);
    if (status == PYRO_OK)
        pyro_find_startup(&context);
    if (status == PYRO_OK)
        status = pyro_run_analyses(&context, analyses, ANALYSIS_COUNT - options->without_stacks,
                                   whole->lane_arenas);
    if (status == PYRO_OK)
        status = pyro_find_profiler_cost(&context);
    if (status == PYRO_OK) {
        drop_host_rates(&whole->result);
        status = pyro_make_serving(&context);
    }
    if (status == PYRO_OK)
        status = pyro_make_power(&context);
    if (status == PYRO_OK)
        status = pyro_find_findings(&context, &whole->lane_arenas[1]);
    whole->result.notes = context.notes;
    whole->result.note_count = context.note_count;
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
    for (int i = 0; i < PYRO_LANE_ARENAS; i++)
        pyro_arena_init(&whole->lane_arenas[i]);
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
    for (int i = 0; i < PYRO_LANE_ARENAS; i++)
        pyro_arena_free(&whole->lane_arenas[i]);
    free(whole);
}

const pyro_joins *pyro_analysis_joins(const pyro_analysis *analysis)
{
    return &((const whole_analysis *)analysis)->joins;
}
