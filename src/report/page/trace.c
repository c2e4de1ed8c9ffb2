/* Adds an analyzed trace to a page: its tables and its timeline. */
#include "report/page/page.h"

#include <pyrometer/report.h>

#define DEFAULT_EVENTS 1000000
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

int pyro_page_add_trace(pyro_page *page, pyro_trace *trace, const pyro_analysis *analysis,
                        const pyro_analysis_options *options, pyro_error *error)
{
    pyro_timeline_options range = {
        .max_slices = page->options.max_events > 0 ? (size_t)page->options.max_events
                                                   : DEFAULT_EVENTS,
        .from_ns = page->options.from_ns,
        .to_ns = page->options.to_ns,
    };
    pyro_timeline timeline;
    pyro_joins joins;
    int status = pyro_joins_make(&joins, trace, options, error);

    if (status == PYRO_OK)
        status = pyro_timeline_make(&timeline, trace, &joins, &range, error);
    if (status != PYRO_OK) {
        pyro_joins_free(&joins);
        return status;
    }
    pyro_page_begin_part(page, "trace", pyro_trace_file(trace));
    status = add_trace_tables(page, trace, analysis, error);
    pyro_page_add_timeline(page, &timeline, trace, &joins);
    pyro_page_end_part(page);
    pyro_timeline_free(&timeline);
    pyro_joins_free(&joins);
    return status;
}
