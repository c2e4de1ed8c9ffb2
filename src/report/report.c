/* The public entry points: each chooses a writer and hands its buffer over. */
#include "report/writers.h"

#include "base/error.h"
#include "report/trace/rows.h"

static const pyro_report_options default_options = {.format = PYRO_FORMAT_TEXT};

/* Options with every 0 that means something else replaced. */
static pyro_report_options settled(const pyro_report_options *options)
{
    pyro_report_options result = options != NULL ? *options : default_options;

    if (result.width <= 0)
        result.width = 80;
    return result;
}

/* Gives the text away, or reports why there is none. */
static int hand_over(pyro_buf *buf, int status, char **out, size_t *size, pyro_error *error)
{
    size_t length = 0;

    *out = NULL;
    if (status == PYRO_OK) {
        *out = pyro_buf_detach(buf, &length);
        status = *out != NULL ? PYRO_OK : pyro_fail_memory(error);
    }
    if (size != NULL)
        *size = length;
    pyro_buf_free(buf);
    return status;
}

int pyro_report_cost(char **out, size_t *size, const pyro_cost *cost,
                     const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = settled(given);
    pyro_buf buf = PYRO_BUF_INIT;
    int status = PYRO_OK;

    switch (options.format) {
    case PYRO_FORMAT_TEXT:
        status = pyro_write_cost_text(&buf, cost, &options, error);
        break;
    case PYRO_FORMAT_JSON:
        status = pyro_write_cost_json(&buf, cost, error);
        break;
    case PYRO_FORMAT_CSV:
        status = pyro_write_cost_csv(&buf, cost, options.verbose);
        break;
    }
    return hand_over(&buf, status, out, size, error);
}

int pyro_report_compare(char **out, size_t *size, const pyro_cost *const *costs, size_t count,
                        const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = settled(given);
    pyro_buf buf = PYRO_BUF_INIT;
    int status = PYRO_OK;

    switch (options.format) {
    case PYRO_FORMAT_TEXT:
        status = pyro_write_compare_text(&buf, costs, count, &options, error);
        break;
    case PYRO_FORMAT_JSON:
        status = pyro_write_compare_json(&buf, costs, count, error);
        break;
    case PYRO_FORMAT_CSV:
        status = pyro_write_compare_csv(&buf, costs, count);
        break;
    }
    return hand_over(&buf, status, out, size, error);
}

int pyro_report_diff(char **out, size_t *size, const pyro_cost *before, const pyro_cost *after,
                     const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = settled(given);
    pyro_buf buf = PYRO_BUF_INIT;
    int status = pyro_write_diff(&buf, before, after, &options, error);

    return hand_over(&buf, status, out, size, error);
}

int pyro_report_models(char **out, size_t *size, const pyro_catalog *catalog,
                       const pyro_models_query *given_query, const pyro_report_options *given,
                       pyro_error *error)
{
    pyro_report_options options = settled(given);
    pyro_models_query query = {0};
    pyro_buf buf = PYRO_BUF_INIT;

    if (given_query != NULL)
        query = *given_query;
    int status = pyro_write_models(&buf, catalog, &query, &options, error);
    return hand_over(&buf, status, out, size, error);
}

int pyro_report_trace(char **out, size_t *size, const pyro_trace *trace,
                      const pyro_analysis *analysis, const pyro_trace_report_options *given,
                      pyro_error *error)
{
    pyro_trace_report_options options = {.depth = -1};
    pyro_shallow_analysis shallow;
    pyro_buf buf = PYRO_BUF_INIT;
    int status;

    if (given != NULL)
        options = *given;
    options.report = settled(given != NULL ? &given->report : NULL);
    status = pyro_analysis_roll_up(&shallow, analysis, options.depth, error);
    if (status == PYRO_OK) {
        switch (options.report.format) {
        case PYRO_FORMAT_TEXT:
            status = pyro_write_trace_text(&buf, trace, &shallow.analysis, &options, error);
            break;
        case PYRO_FORMAT_JSON:
            status = pyro_write_trace_json(&buf, trace, &shallow.analysis, &options);
            break;
        case PYRO_FORMAT_CSV:
            status = pyro_write_trace_csv(&buf, trace, &shallow.analysis, &options);
            break;
        }
    }
    pyro_shallow_analysis_free(&shallow);
    return hand_over(&buf, status, out, size, error);
}

int pyro_report_trace_folded(char **out, size_t *size, const pyro_analysis *analysis,
                             pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_write_trace_folded(&buf, analysis);
    return hand_over(&buf, PYRO_OK, out, size, error);
}
