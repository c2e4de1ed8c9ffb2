/* Writes serving steps: one row per step, and on the first screen one row per kind. */
#include "report/trace/view.h"

#include "analyze/quantile.h"
#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

static void cell_rate(pyro_table *table, double per_s)
{
    char text[PYRO_UNIT_TEXT];

    if (per_s < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cell(table, pyro_format_exact(text, (int64_t)(per_s + 0.5)));
}

static void cell_part(pyro_table *table, double share)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, share < 0 ? "-" : pyro_format_share(text, share, 1));
}

static void cell_known(pyro_table *table, int64_t count)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, count < 0 ? "-" : pyro_format_exact(text, count));
}

/* "Steady state: steps 3 to 10, 3,950 tokens/s". */
static void write_steady(pyro_trace_writer *w)
{
    const pyro_serving_summary *summary = &w->analysis->serving_summary;
    char rate[PYRO_UNIT_TEXT];

    if (summary->steady_steps < 2 || summary->steady_tokens_per_s < 0)
        return;
    pyro_buf_addf(w->buf, "  Steady state: steps %lld to %lld, %s tokens/s",
                  (long long)summary->steady_first, (long long)summary->steady_last,
                  pyro_format_exact(rate, (int64_t)(summary->steady_tokens_per_s + 0.5)));
    if (summary->steady_generation_tokens_per_s >= 0 &&
        summary->steady_generation_tokens_per_s < summary->steady_tokens_per_s)
        pyro_buf_addf(
            w->buf, ", %s of them in decode",
            pyro_format_exact(rate, (int64_t)(summary->steady_generation_tokens_per_s + 0.5)));
    pyro_buf_addc(w->buf, '\n');
}

void pyro_write_trace_serving(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Step", true, false},     {"Kind", false, false}, {"Requests", true, false},
        {"Tokens", true, false},   {"Span", true, false},  {"Busy", true, false},
        {"Tokens/s", true, false}, {"MFU", true, false},   {"Bandwidth", true, false},
        {"Steady", false, false},
    };
    size_t count = w->analysis->serving_count, shown = pyro_rows_shown(w->options, count);
    pyro_table table;

    pyro_trace_heading(w, "Serving steps", "time", shown, count);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const pyro_serving_step *row = &w->analysis->serving[i];

        pyro_table_cellf(&table, "%lld", (long long)row->number);
        pyro_table_cell(&table, row->kind);
        cell_known(&table, row->requests);
        cell_known(&table, row->tokens);
        pyro_cell_duration(&table, row->span_ns - row->waited_ns);
        pyro_cell_share(&table, row->busy_ns, row->span_ns - row->waited_ns);
        cell_rate(&table, row->tokens_per_s);
        cell_part(&table, row->peak_share);
        cell_part(&table, row->bandwidth_share);
        pyro_table_cell(&table, row->steady ? "yes" : "-");
    }
    pyro_trace_draw(w, &table);
    write_steady(w);
    pyro_write_trace_power(w);
}

/* Sums over the steps of a kind; -1 once one of them is unknown. */
typedef struct kind_sums {
    int64_t steps, requests, tokens, span_ns, busy_ns;
    double flops_share, bandwidth_share; /* weighted by the span */
} kind_sums;

static void add_row(kind_sums *sums, const pyro_serving_step *row)
{
    int64_t span_ns = row->span_ns - row->waited_ns;
    double span = (double)span_ns;

    sums->steps++;
    sums->requests = sums->requests < 0 || row->requests < 0 ? -1 : sums->requests + row->requests;
    sums->tokens = sums->tokens < 0 || row->tokens < 0 ? -1 : sums->tokens + row->tokens;
    sums->span_ns += span_ns;
    sums->busy_ns += row->busy_ns;
    sums->flops_share = sums->flops_share < 0 || row->peak_share < 0
                            ? -1
                            : sums->flops_share + row->peak_share * span;
    sums->bandwidth_share = sums->bandwidth_share < 0 || row->bandwidth_share < 0
                                ? -1
                                : sums->bandwidth_share + row->bandwidth_share * span;
}

static void add_kind(pyro_trace_writer *w, pyro_table *table, const char *kind, int64_t *spans)
{
    kind_sums sums = {0};

    for (size_t i = 0; i < w->analysis->serving_count; i++) {
        const pyro_serving_step *row = &w->analysis->serving[i];

        if (strcmp(row->kind, kind) != 0)
            continue;
        spans[sums.steps] = row->span_ns - row->waited_ns;
        add_row(&sums, row);
    }
    if (sums.steps == 0)
        return;
    double span = sums.span_ns > 0 ? (double)sums.span_ns : 1;
    pyro_table_cell(table, kind);
    pyro_cell_count(table, sums.steps);
    cell_known(table, sums.requests < 0 ? -1 : sums.requests / sums.steps);
    cell_known(table, sums.tokens < 0 ? -1 : sums.tokens / sums.steps);
    pyro_cell_duration(table, pyro_median(spans, (size_t)sums.steps));
    pyro_cell_share(table, sums.busy_ns, sums.span_ns);
    cell_rate(table, sums.tokens < 0 ? -1 : (double)sums.tokens * 1e9 / span);
    cell_part(table, sums.flops_share < 0 ? -1 : sums.flops_share / span);
    cell_part(table, sums.bandwidth_share < 0 ? -1 : sums.bandwidth_share / span);
}

void pyro_write_trace_serving_kinds(pyro_trace_writer *w)
{
    static const char *const kinds[] = {"prefill", "mixed", "decode", "verify", "draft"};
    static const pyro_table_column columns[] = {
        {"Kind", false, true},     {"Steps", true, false},  {"Requests", true, false},
        {"Tokens", true, false},   {"Median", true, false}, {"Busy", true, false},
        {"Tokens/s", true, false}, {"MFU", true, false},    {"Bandwidth", true, false},
    };
    size_t count = w->analysis->serving_count;
    int64_t *spans = count > 0 ? calloc(count, sizeof *spans) : NULL;
    pyro_buf heading = PYRO_BUF_INIT;
    pyro_table table;

    w->failed = w->failed || (count > 0 && !spans);
    if (!spans)
        return;
    pyro_buf_addf(&heading,
                  "\nServing, per step (annotations of %s):", w->analysis->serving_summary.engine);
    pyro_text_heading(w->buf, pyro_text_part(w->buf, &heading), w->options->color);
    pyro_buf_free(&heading);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        add_kind(w, &table, kinds[i], spans);
    pyro_trace_draw(w, &table);
    write_steady(w);
    free(spans);
}
