/*
 * Analyses the start-up: what the host did before the first step, in disjoint parts. A slow first
 * step that the inferred steps leave out is part of it.
 */
#include "analyze/analyze.h"
#include "analyze/intervals.h"

#include <string.h>

enum { IMPORT, COMPILE, RUNTIME, LOADING, OPS, CLASS_COUNT };

static void add_segment(void *user, int64_t start_ns, int64_t end_ns, unsigned classes)
{
    pyro_startup *startup = user;
    int64_t *parts[CLASS_COUNT] = {&startup->import_ns, &startup->compile_ns, &startup->runtime_ns,
                                   &startup->loading_ns, &startup->ops_ns};
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        if (classes & 1u << class) {
            *parts[class] += end_ns - start_ns;
            return;
        }
    }
    startup->other_ns += end_ns - start_ns;
}

static bool contains_any(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* The class of a host event; CLASS_COUNT: none. */
static unsigned class_of(pyro_analysis_context *context, uint32_t event)
{
    static const char *const imports[] = {"importlib", "): import_module", "__import__"};
    static const char *const compiles[] = {"torch/_dynamo/convert_frame.py",
                                           "torch/_inductor/graph.py",
                                           "torch/_inductor/scheduler.py", "triton/compiler/"};
    const char *name = pyro_event_name(context->trace, event);
    switch (context->trace->category[event]) {
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
        return RUNTIME;
    case PYRO_EVENT_OP:
    case PYRO_EVENT_ANNOTATION:
    case PYRO_EVENT_PYTHON:
        break;
    default:
        return CLASS_COUNT;
    }
    if (pyro_context_traits(context, event) & PYRO_TRAIT_LOADER)
        return LOADING;
    if (context->trace->category[event] != PYRO_EVENT_PYTHON && pyro_is_compiling_name(name))
        return COMPILE;
    if (context->trace->category[event] == PYRO_EVENT_OP)
        return OPS;
    if (contains_any(name, imports, sizeof imports / sizeof *imports))
        return IMPORT;
    return contains_any(name, compiles, sizeof compiles / sizeof *compiles) ? COMPILE : CLASS_COUNT;
}

void pyro_find_startup(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    pyro_analysis *result = context->result;
    int64_t start_ns = result->start_ns, end_ns = context->windows[0].start_ns;
    pyro_sweep sweep;
    if (!context->windows_are_steps || context->options->step >= 0 || end_ns <= start_ns)
        return;
    result->startup.span_ns = end_ns - start_ns;
    result->startup.first_step_ns = context->joins->warmup_ns;
    pyro_sweep_init(&sweep, CLASS_COUNT, start_ns, add_segment, &result->startup);
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        if (trace->start_ns[event] >= end_ns)
            break;
        unsigned class = class_of(context, event);
        int64_t until_ns = pyro_event_end_ns(trace, event);
        if (class < CLASS_COUNT)
            pyro_sweep_cover(&sweep, class, trace->start_ns[event],
                             until_ns < end_ns ? until_ns : end_ns);
    }
    pyro_sweep_to(&sweep, end_ns);
}
