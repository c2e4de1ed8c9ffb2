/* Runs every detector of findings.def and lists the values that cross a threshold. */
#include "analyze/findings/findings.h"
#include "analyze/findings/families.h"
#include "analyze/intervals.h"
#include "base/error.h"
#include "base/parallel.h"

#include <stdatomic.h>
#include <string.h>

static const struct {
    const char *id;
    pyro_detector detect;
    pyro_threshold_unit unit;
    double warning, severe;
    const char *title, *advice;
} rules[] = {
#define FINDING(id, detector, unit, warning, severe, title, advice) \
    {id, pyro_detect_##detector, PYRO_UNIT_##unit, warning, severe, title, advice},
#include "analyze/findings/findings.def"
#undef FINDING
};

enum { RULE_COUNT = sizeof rules / sizeof *rules };

static void sum_steps(pyro_finder *finder)
{
    const pyro_analysis *result = finder->result;
    for (size_t i = 0; i < result->step_count; i++)
        finder->span_ns += result->steps[i].span_ns;
    for (size_t i = 0; i < result->cause_count; i++) {
        const pyro_cause_row *row = &result->causes[i];
        finder->cause_ns[row->cause] += row->time_ns - row->profiler_ns;
        finder->profiler_ns[row->cause] += row->profiler_ns;
    }
    finder->steps = result->step_count ? (int64_t)result->step_count : 1;
    if (!finder->span_ns)
        finder->span_ns = result->span_ns;
    if (result->profiler_cost.time_ns < finder->span_ns)
        finder->span_ns -= result->profiler_cost.time_ns;
    finder->has_device_work = result->device_total_ns > 0;
}

/* Lists ops and device work in the order of the trace. */
static bool list_events(pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    const size_t *counts = context->category_count;
    size_t work = counts[PYRO_EVENT_KERNEL] + counts[PYRO_EVENT_MEMCPY] + counts[PYRO_EVENT_MEMSET];
    finder->ops = pyro_arena_array(context->scratch, counts[PYRO_EVENT_OP] + 1,
                                   sizeof *finder->ops);
    finder->work = pyro_arena_array(context->scratch, work + 1, sizeof *finder->work);
    if (!finder->ops || !finder->work)
        return false;
    for (size_t i = pyro_trace_next_op(trace, 0); i < trace->count;
         i = pyro_trace_next_op(trace, i + 1))
        finder->ops[finder->op_count++] = (uint32_t)i;
    for (size_t i = pyro_trace_next_work(trace, 0); i < trace->count;
         i = pyro_trace_next_work(trace, i + 1))
        finder->work[finder->work_count++] = (uint32_t)i;
    return true;
}

/* Lists a kernel, and adds up the device work. */
static void take_work(pyro_finder *finder, uint32_t event)
{
    const pyro_trace *trace = finder->context->trace;
    uint8_t category = trace->category[event];
    int64_t duration = trace->duration_ns[event];
    if (!pyro_finder_wants(finder, event))
        return;
    finder->device_ns = pyro_add_ns(finder->device_ns, duration);
    if (category != PYRO_EVENT_MEMCPY &&
        !(pyro_context_traits(finder->context, event) & PYRO_TRAIT_COLLECTIVE))
        finder->compute_ns = pyro_add_ns(finder->compute_ns, duration);
    if (category == PYRO_EVENT_KERNEL)
        finder->kernels[finder->kernel_count++] = event;
}

static void take_op(pyro_finder *finder, uint32_t event)
{
    if (!pyro_finder_is_outermost(finder, event))
        return;
    finder->outermost_ops[finder->outermost_op_count++] = event;
    finder->outer_op_count += pyro_finder_wants(finder, event);
}

/* Most often all ops are wanted: then one list serves as both. */
static bool list_outer_ops(pyro_finder *finder)
{
    size_t count = 0;
    finder->outer_ops = finder->outermost_ops;
    if (finder->outer_op_count == finder->outermost_op_count)
        return true;
    finder->outer_ops = pyro_arena_array(finder->context->scratch, finder->outer_op_count + 1,
                                         sizeof *finder->outer_ops);
    for (size_t i = 0; finder->outer_ops && i < finder->outermost_op_count; i++)
        if (pyro_finder_wants(finder, finder->outermost_ops[i]))
            finder->outer_ops[count++] = finder->outermost_ops[i];
    return finder->outer_ops != NULL;
}

static size_t count_outermost(const pyro_finder *finder)
{
    size_t count = 0;
    for (size_t i = 0; i < finder->op_count; i++)
        count += pyro_finder_is_outermost(finder, finder->ops[i]);
    return count;
}

/* Lists kernels and outermost ops in order of time. */
static bool list_by_time(pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    size_t kernels = context->category_count[PYRO_EVENT_KERNEL],
           outermost = count_outermost(finder);
    finder->kernels = pyro_arena_array(context->scratch, kernels + 1, sizeof *finder->kernels);
    finder->outermost_ops = pyro_arena_array(context->scratch, outermost + 1,
                                             sizeof *finder->outermost_ops);
    if (!finder->kernels || !finder->outermost_ops)
        return false;
    for (size_t i = 0; i < context->trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        if (context->trace->category[event] == PYRO_EVENT_OP)
            take_op(finder, event);
        else if (pyro_event_is_device_work(context->trace->category[event]))
            take_work(finder, event);
    }
    return list_outer_ops(finder);
}

static int note_chip(pyro_analysis_context *context)
{
    const char *name = context->result->device_name;
    if (context->chip || !name[0] || !context->result->device_total_ns)
        return PYRO_OK;
    return pyro_context_note(
        context, "unknown chip '%.100s': findings that need its peaks are skipped", name);
}

/* The state of one worker; workers share no data that they write. */
typedef struct worker {
    pyro_finder finder;
    pyro_analysis_context context;
    pyro_arena scratch;
    pyro_intern texts;
    pyro_error error;
} worker;

typedef struct rule_job {
    worker workers[2];
    pyro_evidence evidence[RULE_COUNT];
    bool is_found[RULE_COUNT];
    atomic_size_t next; /* first rule that no worker has taken */
} rule_job;

static void run_rule(rule_job *job, pyro_finder *finder, size_t rule)
{
    pyro_evidence *evidence = &job->evidence[rule];
    *evidence = pyro_evidence_begin(finder->context->arena, rules[rule].warning);
    job->is_found[rule] = finder->span_ns > 0 && rules[rule].detect(finder, evidence) &&
                          evidence->value >= rules[rule].warning;
    if (job->is_found[rule])
        pyro_evidence_add_threshold(evidence, rules[rule].unit);
    finder->memory_out |= evidence->memory_out;
}

/* True for detectors that need the roofline, which takes long to make: one thread runs them. */
static bool needs_roofline(pyro_detector detector)
{
    return detector == pyro_detect_memory_bound || detector == pyro_detect_far_from_roofline ||
           detector == pyro_detect_layout_conversions;
}

/* True for detectors whose time is what others leave: they run when those are done. */
static bool comes_last(pyro_detector detector)
{
    return detector == pyro_detect_host_bound || detector == pyro_detect_launch_overhead ||
           detector == pyro_detect_short_kernels || detector == pyro_detect_slow_launches ||
           detector == pyro_detect_small_ops || detector == pyro_detect_python_time;
}

/* The first worker starts with the slowest rules, which share a roofline. */
static void run_rules(void *data, unsigned part)
{
    rule_job *job = data;
    pyro_finder *finder = &job->workers[part].finder;
    for (size_t i = 0; part == 0 && i < RULE_COUNT && !finder->memory_out; i++)
        if (needs_roofline(rules[i].detect))
            run_rule(job, finder, i);
    while (!finder->memory_out) {
        size_t taken = atomic_fetch_add(&job->next, 1);
        if (taken >= RULE_COUNT)
            break;
        if (!needs_roofline(rules[taken].detect) && !comes_last(rules[taken].detect))
            run_rule(job, finder, taken);
    }
}

/* Findings that explain a part of the host's lateness take it from those that run last. */
static void run_last_rules(rule_job *job)
{
    pyro_finder *finder = &job->workers[0].finder;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        finder->claims_waits |= job->is_found[i] && rules[i].detect == pyro_detect_synchronizations;
        finder->claims_optimizer |= job->is_found[i] &&
                                    rules[i].detect == pyro_detect_single_tensor_optimizer;
        finder->claims_collectives |= job->is_found[i] &&
                                      rules[i].detect == pyro_detect_small_collectives;
        finder->claims_loops |= job->is_found[i] &&
                                (rules[i].detect == pyro_detect_repeated_selects ||
                                 rules[i].detect == pyro_detect_items_in_loops);
    }
    for (size_t i = 0; i < RULE_COUNT && !finder->memory_out; i++)
        if (comes_last(rules[i].detect) && rules[i].detect != pyro_detect_python_time) {
            run_rule(job, finder, i);
            finder->claims_small_ops |= job->is_found[i] &&
                                        rules[i].detect == pyro_detect_small_ops;
        }
    for (size_t i = 0; i < RULE_COUNT && !finder->memory_out; i++)
        if (rules[i].detect == pyro_detect_python_time)
            run_rule(job, finder, i);
}

static bool open_worker(worker *worker, const pyro_finder *shared, pyro_arena *arena)
{
    size_t names = shared->context->trace->names.count + 1;
    worker->finder = *shared;
    worker->context = *shared->context;
    worker->finder.context = &worker->context;
    worker->context.arena = arena;
    worker->context.scratch = &worker->scratch;
    worker->context.texts = &worker->texts;
    worker->context.error = &worker->error;
    pyro_error_clear(&worker->error);
    pyro_arena_init(&worker->scratch);
    pyro_intern_init(&worker->texts, arena);
    /* What is known of kernels serves all; each worker adds to its own. */
    worker->finder.kernel_family = pyro_arena_array(&worker->scratch, names,
                                                    sizeof *worker->finder.kernel_family);
    if (worker->finder.kernel_family)
        memcpy(worker->finder.kernel_family, shared->kernel_family,
               names * sizeof *worker->finder.kernel_family);
    worker->finder.op_groups = pyro_arena_alloc(&worker->scratch, names);
    worker->finder.op_words = pyro_arena_array(&worker->scratch, names,
                                               sizeof *worker->finder.op_words);
    worker->context.name_traits = pyro_arena_array(&worker->scratch, names,
                                                   sizeof *worker->context.name_traits);
    return worker->finder.kernel_family && worker->finder.op_groups && worker->finder.op_words &&
           worker->context.name_traits;
}

static void close_worker(worker *worker)
{
    if (worker->finder.has_op_index)
        pyro_op_index_free(&worker->finder.op_index);
    pyro_intern_free(&worker->texts);
    pyro_arena_free(&worker->scratch);
}

static bool is_ignored(const pyro_analysis_options *options, const char *id)
{
    for (size_t i = 0; i < options->ignored_finding_count; i++)
        if (!strcmp(options->ignored_findings[i], id))
            return true;
    return false;
}

bool pyro_finding_exists(const char *id)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (!strcmp(rules[i].id, id))
            return true;
    return false;
}

/* What was found and is not ignored, in the order of the rules; false when memory is out. */
static bool collect_found(pyro_analysis_context *context, const rule_job *job, pyro_found *found,
                          size_t *count)
{
    const pyro_finder *finder = &job->workers[0].finder;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (!job->is_found[i] || is_ignored(context->options, rules[i].id))
            continue;
        const char *advice = job->evidence[i].advice;
        if (!advice)
            advice = pyro_advice_of(finder, rules[i].id, rules[i].advice);
        if (!advice)
            return false;
        found[(*count)++] = (pyro_found){
            .id = rules[i].id,
            .title = pyro_title_of(finder, rules[i].id, rules[i].title),
            .advice = advice,
            .severe = rules[i].severe,
            .evidence = job->evidence[i]};
    }
    return true;
}

int pyro_find_findings(pyro_analysis_context *context, pyro_arena *second_arena)
{
    pyro_finder shared = {.context = context, .result = context->result};
    pyro_found *found = pyro_arena_array(context->scratch, RULE_COUNT, sizeof *found);
    size_t found_count = 0;
    rule_job *job = pyro_arena_alloc(context->scratch, sizeof *job);
    unsigned parts = pyro_count_parts(context->options->threads, context->trace->count,
                                      PYRO_EVENTS_PER_THREAD);
    shared.kernel_family = pyro_arena_array(context->scratch, context->trace->names.count + 1,
                                            sizeof *shared.kernel_family);
    if (!found || !job || !shared.kernel_family || !list_events(&shared) || !list_by_time(&shared))
        return pyro_fail_memory(context->error);
    sum_steps(&shared);
    pyro_find_captures(&shared);
    if (shared.memory_out || !pyro_find_in_use(&shared))
        return pyro_fail_memory(context->error);
    atomic_init(&job->next, 0);
    bool opened = open_worker(&job->workers[0], &shared, context->arena);
    opened = open_worker(&job->workers[1], &shared, second_arena) && opened;
    if (opened && parts > 1)
        pyro_run_parts(run_rules, job, 2);
    for (unsigned i = 0; opened && parts == 1 && i < 2; i++)
        run_rules(job, i);
    bool memory_out = !opened || job->workers[0].finder.memory_out ||
                      job->workers[1].finder.memory_out;
    if (!memory_out)
        run_last_rules(job);
    memory_out = memory_out || job->workers[0].finder.memory_out ||
                 !collect_found(context, job, found, &found_count);
    close_worker(&job->workers[0]);
    close_worker(&job->workers[1]);
    if (memory_out)
        return pyro_fail_memory(context->error);
    int status = pyro_list_findings(context, &shared, found, found_count);
    return status ? status : note_chip(context);
}
