/* Adds an analyzed trace to a page: its tables and its timeline. */
#include "report/page/page.h"

#include "base/error.h"

#include <inttypes.h>
#include <pyrometer/report.h>

#define DEFAULT_EVENTS 1000000
#define LEAST_EVENTS 20000
/* Tables that are longer are cut, and the page says so. */
#define MAX_TABLE_ROWS 5000

static int add_trace_tables(pyro_page *page, const pyro_trace *trace, const pyro_analysis *analysis,
                            pyro_error *error)
{
    pyro_trace_report_options options = {
        .report = {.format = PYRO_FORMAT_JSON, .verbose = true},
        .depth = -1,
        .max_rows = MAX_TABLE_ROWS,
    };
    char *text = NULL;
    size_t size;
    int status = pyro_report_trace(&text, &size, trace, analysis, &options, error);

    if (status == PYRO_OK)
        pyro_page_add_text(page, "result", text, size);
    pyro_free(text);
    return status;
}

/* Most traces do not say which tensors pass between ops, so they have no graph. */
static int add_trace_graph(pyro_page *page, pyro_trace *trace, pyro_error *error)
{
    pyro_program *program = NULL;
    pyro_error reason;
    int status;

    pyro_error_clear(&reason);
    if (pyro_program_of_trace(&program, trace, &reason) != PYRO_OK)
        return PYRO_OK;
    status = pyro_page_add_graph(page, program, error);
    pyro_program_free(program);
    return status;
}

/* Fails unless the steps that are asked for exist. */
static int check_steps(const pyro_page_options *options, const pyro_joins *joins, pyro_error *error)
{
    bool has_first = false, has_last = false;

    for (size_t i = 0; i < joins->step_count; i++) {
        has_first = has_first || joins->steps[i].number == options->first_step;
        has_last = has_last || joins->steps[i].number == options->last_step;
    }
    if (!options->only_steps || (has_first && has_last))
        return PYRO_OK;
    if (joins->step_count == 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the trace has no steps; use --from and --to");
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "no step %" PRId64 "; the steps are %" PRId64 " to %" PRId64,
                     has_first ? options->last_step : options->first_step, joins->steps[0].number,
                     joins->steps[joins->step_count - 1].number);
}

/* Adds the timeline. Halves it until it fits, unless the caller asks for a number of events. */
static int add_fitting_timeline(pyro_page *page, pyro_page_sources sources, pyro_timeline *timeline,
                                pyro_error *error)
{
    const pyro_page_options *options = &page->options;
    pyro_timeline_options range = {
        .max_slices = options->max_events > 0 ? (size_t)options->max_events : DEFAULT_EVENTS,
        .from_ns = options->from_ns,
        .to_ns = options->to_ns,
        .only_steps = options->only_steps,
        .first_step = options->first_step,
        .last_step = options->last_step,
    };

    for (;; range.max_slices /= 2) {
        pyro_page_mark mark = pyro_page_mark_here(page);
        int status = pyro_timeline_make(timeline, sources.trace, sources.joins, &range, error);

        if (status != PYRO_OK)
            return status;
        pyro_page_add_timeline(page, timeline, sources.trace, sources.joins);
        if (options->max_events > 0 || range.max_slices < LEAST_EVENTS ||
            pyro_page_fits(page, mark))
            return PYRO_OK;
        pyro_page_return_to(page, mark);
        pyro_timeline_free(timeline);
    }
}

/* Sections of everything over time. */
static int add_over_time(pyro_page *page, pyro_page_sources sources, pyro_error *error)
{
    pyro_timeline timeline;
    int status = check_steps(&page->options, sources.joins, error);

    if (status == PYRO_OK)
        status = add_fitting_timeline(page, sources, &timeline, error);
    if (status != PYRO_OK)
        return status;
    pyro_page_add_counters(page, &timeline, sources.trace);
    status = pyro_page_add_memory(page, &timeline, sources, error);
    pyro_timeline_free(&timeline);
    return status;
}

int pyro_page_add_trace(pyro_page *page, pyro_trace *trace, const pyro_analysis *analysis,
                        const pyro_analysis_options *options, pyro_error *error)
{
    pyro_joins joins;
    int status = pyro_joins_make(&joins, trace, options, error);

    if (status == PYRO_OK) {
        pyro_page_begin_part(page, "trace", pyro_trace_file(trace));
        status = add_trace_tables(page, trace, analysis, error);
        if (status == PYRO_OK)
            status = add_over_time(page, (pyro_page_sources){trace, &joins, analysis}, error);
        if (status == PYRO_OK)
            status = add_trace_graph(page, trace, error);
        pyro_page_end_part(page);
    }
    pyro_joins_free(&joins);
    return status;
}
