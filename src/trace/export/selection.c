/* Selects events by step, phase and filter. */
#include "trace/export/selection.h"

#include "base/error.h"

#include <regex.h>
#include <stdlib.h>

/* The request, and a cache of names that were matched. */
typedef struct chooser {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_analysis_options *options;
    const regex_t *filter;  /* NULL: everything */
    uint8_t *name_matches;  /* by interned text: 0 not looked at, 1 matches, 2 does not */
    uint8_t *layer_matches; /* by layer */
    const pyro_step **steps; /* steps with the requested number, in order of time */
    size_t step_count;
    pyro_selection *selected;
} chooser;

static bool matches(const regex_t *filter, const char *text, uint8_t *known)
{
    if (*known == 0)
        *known = regexec(filter, text, 0, NULL, 0) == 0 ? 1 : 2;
    return *known == 1;
}

/* An event is chosen by its name or by the layer that it belongs to. */
static bool passes_filter(const chooser *chooser, uint32_t event)
{
    const pyro_trace *trace = chooser->trace;
    const pyro_joins *joins = chooser->joins;
    uint32_t name = trace->name[event], call = joins->call[event];

    if (!chooser->filter)
        return true;
    if (name != PYRO_NO_ID &&
        matches(chooser->filter, pyro_trace_text(trace, name), &chooser->name_matches[name]))
        return true;
    if (call == PYRO_NO_LAYER)
        return false;
    uint32_t layer = joins->calls[call].layer;
    return matches(chooser->filter, joins->layers[layer].path, &chooser->layer_matches[layer]);
}

/* When an event was caused: work that runs late belongs to the step that launched it. */
static int64_t cause_ns(const chooser *chooser, uint32_t event)
{
    const pyro_trace *trace = chooser->trace;
    uint32_t launch = pyro_event_is_device_work(trace->category[event])
                          ? chooser->joins->launch[event]
                          : PYRO_NO_EVENT;

    return trace->start_ns[launch != PYRO_NO_EVENT ? launch : event];
}

static bool in_step(const chooser *chooser, int64_t time_ns)
{
    size_t low = 0, high = chooser->step_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chooser->steps[middle]->start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && time_ns < chooser->steps[low - 1]->end_ns;
}

static bool wants(const chooser *chooser, uint32_t event)
{
    const pyro_analysis_options *options = chooser->options;
    uint8_t category = chooser->trace->category[event];
    bool has_phase = pyro_event_is_device_work(category) || pyro_event_is_host(category);

    if (options->phase != PYRO_PHASE_OTHER && has_phase &&
        chooser->joins->phase[event] != options->phase)
        return false;
    return passes_filter(chooser, event) &&
           (options->step < 0 || in_step(chooser, cause_ns(chooser, event)));
}

/* Keeps the call that launched the work, and the op around that call. */
static void keep_launch(chooser *chooser, uint32_t event)
{
    uint32_t launch = chooser->joins->launch[event];

    if (launch == PYRO_NO_EVENT)
        return;
    chooser->selected->keep[launch] = 1;
    if (chooser->joins->op[launch] != PYRO_NO_EVENT)
        chooser->selected->keep[chooser->joins->op[launch]] = 1;
}

/* Keeps the steps, so that a reader can find the place in the run. */
static void choose_steps(chooser *chooser)
{
    for (size_t i = 0; i < chooser->joins->step_count; i++) {
        const pyro_step *step = &chooser->joins->steps[i];

        if (chooser->options->step >= 0 && step->number != chooser->options->step)
            continue;
        chooser->steps[chooser->step_count++] = step;
        if (step->event != PYRO_NO_EVENT)
            chooser->selected->keep[step->event] = 1;
    }
}

/* Marks the events to write, and finds the time range that they cover. */
static void choose_events(chooser *chooser)
{
    const pyro_trace *trace = chooser->trace;
    pyro_selection *selected = chooser->selected;
    bool begun = false;

    choose_steps(chooser);
    for (uint32_t event = 0; event < trace->count; event++) {
        if (!wants(chooser, event))
            continue;
        chooser->selected->keep[event] = 1;
        if (pyro_event_is_device_work(trace->category[event]))
            keep_launch(chooser, event);
    }
    for (uint32_t event = 0; event < trace->count; event++) {
        int64_t start_ns = trace->start_ns[event], end_ns = pyro_event_end_ns(trace, event);
        if (!chooser->selected->keep[event])
            continue;
        if (!begun || start_ns < selected->start_ns)
            selected->start_ns = start_ns;
        if (!begun || end_ns > selected->end_ns)
            selected->end_ns = end_ns;
        begun = true;
    }
}

/* Allocates the marks and sets them. */
static int choose(chooser *chooser, pyro_error *error)
{
    int status = PYRO_OK;

    chooser->selected->keep = calloc(chooser->trace->count + 1, 1);
    chooser->name_matches = calloc(chooser->trace->names.count + 1, 1);
    chooser->layer_matches = calloc(chooser->joins->layer_count + 1, 1);
    chooser->steps = calloc(chooser->joins->step_count + 1, sizeof *chooser->steps);
    if (chooser->selected->keep && chooser->name_matches && chooser->layer_matches &&
        chooser->steps)
        choose_events(chooser);
    else
        status = pyro_fail_memory(error);
    free(chooser->name_matches);
    free(chooser->layer_matches);
    free(chooser->steps);
    return status;
}

int pyro_selection_make(pyro_selection *selection, const pyro_trace *trace, const pyro_joins *joins,
                        const pyro_analysis_options *options, pyro_error *error)
{
    chooser chooser = {.trace = trace, .joins = joins, .options = options, .selected = selection};
    regex_t filter;

    *selection = (pyro_selection){0};
    if (options->filter) {
        if (regcomp(&filter, options->filter, REG_EXTENDED | REG_NOSUB) != 0)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid regular expression \"%.200s\"",
                             options->filter);
        chooser.filter = &filter;
    }
    int status = choose(&chooser, error);
    if (chooser.filter)
        regfree(&filter);
    return status;
}

void pyro_selection_free(pyro_selection *selection)
{
    free(selection->keep);
    *selection = (pyro_selection){0};
}
