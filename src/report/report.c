/* The public entry points. Each fills in the options, computes what its report needs beside the
 * result, and runs the writer of its kind and format. */
#include "report/writers.h"

#include "analyze/totals.h"
#include "base/error.h"
#include "bench/ranking.h"
#include "dataflow/picture.h"
#include "read/catalog.h"
#include "report/graph/writers.h"

#include <stdlib.h>

static const pyro_report_options default_options = {.format = PYRO_FORMAT_TEXT};

pyro_report_options pyro_report_settle(const pyro_report_options *options)
{
    pyro_report_options result = options ? *options : default_options;

    if (result.width <= 0)
        result.width = 80;
    return result;
}

int pyro_report_cost(char **out, size_t *size, const pyro_cost *cost,
                     const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = pyro_report_settle(given);
    pyro_report_request request = {.kind = PYRO_REPORT_COST,
                                   .format = options.format,
                                   .options = &options,
                                   .error = error,
                                   .cost = cost};

    return pyro_report_write(out, size, &request);
}

int pyro_report_train(char **out, size_t *size, const pyro_train *train,
                      const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = pyro_report_settle(given);
    pyro_report_request request = {.kind = PYRO_REPORT_TRAIN,
                                   .format = options.format,
                                   .options = &options,
                                   .error = error,
                                   .train = train};

    return pyro_report_write(out, size, &request);
}

int pyro_report_compare(char **out, size_t *size, const pyro_cost *const *costs, size_t count,
                        const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = pyro_report_settle(given);
    pyro_report_request request = {.kind = PYRO_REPORT_SIDE_BY_SIDE,
                                   .format = options.format,
                                   .options = &options,
                                   .error = error,
                                   .side_by_side = {costs, count}};

    return pyro_report_write(out, size, &request);
}

int pyro_report_diff(char **out, size_t *size, const pyro_cost *before, const pyro_cost *after,
                     const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = pyro_report_settle(given);
    pyro_layer_changes changes;
    pyro_report_request request = {.kind = PYRO_REPORT_DIFF,
                                   .format = options.format,
                                   .options = &options,
                                   .error = error,
                                   .diff = {before, after, &changes}};
    size_t before_count, after_count;
    const pyro_cost_row *before_layers = pyro_cost_layers(before, &before_count);
    const pyro_cost_row *after_layers = pyro_cost_layers(after, &after_count);
    int status = pyro_match_layers(&changes, before_layers, before_count, after_layers, after_count,
                                   error);

    *out = NULL;
    if (status == PYRO_OK)
        status = pyro_report_write(out, size, &request);
    pyro_layer_changes_free(&changes);
    return status;
}

int pyro_report_trace(char **out, size_t *size, const pyro_trace *trace,
                      const pyro_analysis *analysis, const pyro_trace_report_options *given,
                      pyro_error *error)
{
    pyro_trace_report_options options = {.depth = -1};
    pyro_shallow_analysis shallow;

    if (given)
        options = *given;
    options.report = pyro_report_settle(given ? &given->report : NULL);
    pyro_report_request request = {.kind = PYRO_REPORT_TRACE,
                                   .format = options.report.format,
                                   .options = &options.report,
                                   .error = error,
                                   .trace = {trace, &shallow.analysis, &options}};
    int status = pyro_analysis_roll_up(&shallow, analysis, options.depth, error);

    *out = NULL;
    if (status == PYRO_OK)
        status = pyro_report_write(out, size, &request);
    pyro_shallow_analysis_free(&shallow);
    return status;
}

int pyro_report_passes(char **out, size_t *size, const pyro_pass_summary *summary,
                       const pyro_report_options *options, pyro_error *error)
{
    pyro_report_request request = {.kind = PYRO_REPORT_PASSES,
                                   .options = options ? options : &default_options,
                                   .error = error,
                                   .passes = summary};

    request.format = request.options->format;
    return pyro_report_write(out, size, &request);
}

int pyro_report_trace_diff(char **out, size_t *size, const pyro_trace_diff *diff,
                           const pyro_report_options *options, pyro_error *error)
{
    pyro_report_request request = {.kind = PYRO_REPORT_TRACE_DIFF,
                                   .format = options->format,
                                   .options = options,
                                   .error = error,
                                   .trace_diff = diff};

    return pyro_report_write(out, size, &request);
}

int pyro_report_ranks(char **out, size_t *size, const pyro_ranks *ranks, pyro_ranks_view view,
                      const pyro_report_options *options, pyro_error *error)
{
    pyro_report_request request = {.kind = PYRO_REPORT_RANKS,
                                   .options = options ? options : &default_options,
                                   .error = error,
                                   .ranks = {ranks, view}};

    request.format = request.options->format;
    return pyro_report_write(out, size, &request);
}

int pyro_report_bench(char **out, size_t *size, const pyro_bench_report *report,
                      pyro_bench_format format, const pyro_report_options *options,
                      pyro_error *error)
{
    pyro_report_request request = {.kind = PYRO_REPORT_BENCH,
                                   .format = format,
                                   .options = options ? options : &default_options,
                                   .error = error,
                                   .bench = {.report = report}};
    const pyro_writer *writer = pyro_writer_find(PYRO_REPORT_BENCH, format);
    pyro_ranking *ranking = NULL;
    int status = PYRO_OK;

    *out = NULL;
    if (writer && writer->ranked)
        status = pyro_bench_rank(&ranking, &request.bench.ranking_count, report->bench, error);
    request.bench.ranking = ranking;
    if (status == PYRO_OK)
        status = pyro_report_write(out, size, &request);
    free(ranking);
    return status;
}

int pyro_report_verdict(char **out, size_t *size, const pyro_comparison *comparison,
                        const pyro_report_options *options, pyro_error *error)
{
    pyro_report_request request = {.kind = PYRO_REPORT_VERDICT,
                                   .format = options->format,
                                   .options = options,
                                   .error = error,
                                   .verdict = comparison};

    return pyro_report_write(out, size, &request);
}

int pyro_report_fusion(char **out, size_t *size, const pyro_fusion *fusion,
                       const pyro_report_options *options, pyro_error *error)
{
    pyro_report_options settled = pyro_report_settle(options);
    pyro_report_request request = {.kind = PYRO_REPORT_FUSION,
                                   .format = settled.format,
                                   .options = &settled,
                                   .error = error,
                                   .fusion = fusion};

    return pyro_report_write(out, size, &request);
}

int pyro_report_fit(char **out, size_t *size, const pyro_fit *fit,
                    const pyro_report_options *options, pyro_error *error)
{
    pyro_report_options settled = pyro_report_settle(options);
    pyro_report_request request = {.kind = PYRO_REPORT_FIT,
                                   .format = settled.format,
                                   .options = &settled,
                                   .error = error,
                                   .fit = fit};

    return pyro_report_write(out, size, &request);
}

int pyro_report_map(char **out, size_t *size, const pyro_mapping *const *maps, size_t count,
                    const pyro_report_options *options, pyro_error *error)
{
    pyro_report_options settled = pyro_report_settle(options);
    pyro_report_request request = {.kind = PYRO_REPORT_MAP,
                                   .format = settled.format,
                                   .options = &settled,
                                   .error = error,
                                   .map = {maps, count}};

    return pyro_report_write(out, size, &request);
}

int pyro_report_history(char **out, size_t *size, const pyro_history_report *report,
                        const pyro_report_options *given, pyro_error *error)
{
    pyro_report_options options = pyro_report_settle(given);
    pyro_report_request request = {.kind = PYRO_REPORT_HISTORY,
                                   .format = options.format,
                                   .options = &options,
                                   .error = error,
                                   .history = report};

    return pyro_report_write(out, size, &request);
}

int pyro_report_graph(char **out, size_t *size, const pyro_dataflow *graph,
                      const pyro_graph_report *given, pyro_error *error)
{
    static const pyro_graph_report defaults = {.format = PYRO_GRAPH_TEXT};
    const pyro_graph_report *report = given ? given : &defaults;
    pyro_report_request request = {.kind = PYRO_REPORT_GRAPH,
                                   .format = report->format,
                                   .options = &default_options,
                                   .error = error,
                                   .graph = {.graph = graph, .report = report}};
    pyro_picture picture = {0};
    int status;

    *out = NULL;
    if (report->format == PYRO_GRAPH_DOT) {
        if (!pyro_picture_make(&picture, graph, report->depth))
            return pyro_fail_memory(error);
        request.graph.picture = &picture;
    }
    status = pyro_report_write(out, size, &request);
    pyro_picture_free(&picture);
    return status;
}

int pyro_report_trace_folded(char **out, size_t *size, const pyro_analysis *analysis,
                             pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_write_trace_folded(&buf, analysis);
    return pyro_report_hand_over(&buf, out, size, error);
}

int pyro_report_layer_table(char **out, size_t *size, pyro_trace *trace, const char *title,
                            bool with_flops, pyro_error *error)
{
    pyro_forward_table forward;
    pyro_buf buf = PYRO_BUF_INIT;
    int status = pyro_forward_table_make(&forward, trace, error);

    *out = NULL;
    *size = 0;
    if (status == PYRO_OK) {
        pyro_write_pass_table(&buf, &forward, title, with_flops);
        status = pyro_report_hand_over(&buf, out, size, error);
    }
    pyro_forward_table_free(&forward);
    return status;
}

int pyro_report_graph_stats(char **out, size_t *size, const pyro_dataflow *graph, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_write_graph_stats(&buf, graph);
    return pyro_report_hand_over(&buf, out, size, error);
}

int pyro_report_cuts(char **out, size_t *size, const pyro_dataflow *graph, const pyro_cuts *cuts,
                     pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_write_graph_cuts(&buf, graph, cuts);
    return pyro_report_hand_over(&buf, out, size, error);
}

int pyro_report_models(char **out, size_t *size, const pyro_catalog *catalog,
                       const pyro_models_query *query, const pyro_report_options *given,
                       pyro_error *error)
{
    static const pyro_models_query all = {0};
    pyro_report_options options = pyro_report_settle(given);
    pyro_report_request request = {.kind = PYRO_REPORT_MODELS,
                                   .format = options.format,
                                   .options = &options,
                                   .error = error,
                                   .models = {.catalog = catalog}};
    const pyro_catalog_entry **entries;
    int status = pyro_catalog_query(&entries, &request.models.count, catalog, query ? query : &all,
                                    error);

    *out = NULL;
    request.models.entries = entries;
    if (status == PYRO_OK)
        status = pyro_report_write(out, size, &request);
    free(entries);
    return status;
}
