/* Writes the report about many ranks: stragglers, then ranks, steps and process groups. */
#include "report/writers.h"
#include "report/cost/rows.h"
#include "report/text.h"

#include "base/text/table.h"
#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a table when the options set no number. */
#define DEFAULT_ROWS 16

typedef struct ranks_writer {
    pyro_buf *buf;
    const pyro_ranks *ranks;
    const pyro_report_options *options;
    int width;
    bool is_overview;
} ranks_writer;

static void cell_rank(pyro_table *table, int64_t rank)
{
    char text[PYRO_UNIT_TEXT];
    pyro_table_cell(table, rank < 0 ? "?" : pyro_format_exact(text, rank));
}

static void cell_time(pyro_table *table, int64_t duration_ns)
{
    char text[PYRO_UNIT_TEXT];
    pyro_table_cell(table, pyro_format_duration(text, duration_ns));
}

static void cell_text(pyro_table *table, const char *text)
{
    pyro_buf clean = PYRO_BUF_INIT;
    pyro_text_clean(&clean, text);
    pyro_table_cell(table, clean.data ? clean.data : "");
    table->failed |= clean.failed;
    pyro_buf_free(&clean);
}

/* A clock offset, with its sign. */
static void cell_offset(pyro_table *table, int64_t offset_ns)
{
    char text[PYRO_UNIT_TEXT];
    if (offset_ns < 0)
        pyro_table_cellf(table, "-%s", pyro_format_duration(text, -offset_ns));
    else
        pyro_table_cell(table, pyro_format_duration(text, offset_ns));
}

static size_t rows_shown(const ranks_writer *w, size_t count)
{
    if (w->options->top != 0)
        return pyro_rows_shown(w->options, count);
    return w->options->verbose || count < DEFAULT_ROWS ? count : DEFAULT_ROWS;
}

static void heading(ranks_writer *w, const char *title, size_t shown, size_t count)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_buf_addf(&text, shown < count ? "\n%s (%zu of %zu):" : "\n%s:", title, shown, count);
    pyro_text_heading(w->buf, pyro_text_part(w->buf, &text), w->options->color);
    pyro_buf_free(&text);
}

/* Removes columns until the table fits; `spare` are titles, the most dispensable first. */
static void finish_table(ranks_writer *w, pyro_table *table, const char *const *spare)
{
    w->buf->failed |= table->failed;
    size_t removed = pyro_table_fit(table, spare, 2, w->width);
    pyro_table_write(table, w->buf, 2, w->width, w->options->color);
    if (removed && !w->options->quiet)
        pyro_buf_addf(w->buf, "  (%zu more column%s in a wider terminal, and with -o FILE.csv)\n",
                      removed, removed == 1 ? "" : "s");
    pyro_table_free(table);
}

static int by_lateness(const void *left, const void *right)
{
    const pyro_rank_row *a = *(const pyro_rank_row *const *)left;
    const pyro_rank_row *b = *(const pyro_rank_row *const *)right;
    if (a->late_ns != b->late_ns)
        return a->late_ns > b->late_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static void add_rank(pyro_table *table, const pyro_rank_row *row)
{
    char text[PYRO_UNIT_TEXT];
    cell_rank(table, row->rank);
    cell_time(table, row->step_ns);
    cell_time(table, row->compute_ns);
    cell_time(table, row->communication_ns);
    cell_time(table, row->communication_exposed_ns);
    cell_time(table, row->idle_ns);
    cell_time(table, row->data_loading_ns);
    cell_time(table, row->wait_ns);
    cell_time(table, row->late_ns);
    pyro_table_cell(
        table, row->memory_peak_bytes < 0 ? "-" : pyro_format_bytes(text, row->memory_peak_bytes));
    pyro_table_cell(table, row->flops_per_s < 0 || row->flops_per_s > 9e18
                               ? "-"
                               : pyro_format_count(text, (int64_t)row->flops_per_s));
    if (row->clock_residual_ns < 0)
        pyro_table_cell(table, "-");
    else
        cell_offset(table, row->clock_offset_ns);
}

/* Where not all fit, the latest ones. */
static void write_ranks(ranks_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Rank", true, false},     {"Step", true, false},    {"Compute", true, false},
        {"Comm", true, false},     {"Exposed", true, false}, {"Idle", true, false},
        {"Loading", true, false},  {"Waits", true, false},   {"Late", true, false},
        {"Peak mem", true, false}, {"FLOP/s", true, false},  {"Clock", true, false}};
    static const char *const spare[] = {"Comm", "FLOP/s",  "Peak mem", "Loading", "Clock",
                                        "Idle", "Compute", "Exposed",  NULL};
    size_t count = w->ranks->rank_count, shown = rows_shown(w, count);
    const pyro_rank_row **rows = malloc((count + 1) * sizeof *rows);
    pyro_table table;
    if (!rows) {
        w->buf->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = &w->ranks->ranks[i];
    if (shown < count)
        qsort(rows, count, sizeof *rows, by_lateness);
    heading(w, shown < count ? "Ranks, per step, latest first" : "Ranks, per step", shown, count);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        add_rank(&table, rows[i]);
    finish_table(w, &table, spare);
    free(rows);
}

static void write_steps(ranks_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Step", true, false},    {"Ranks", true, false},     {"Fastest", true, false},
        {"Median", true, false},  {"Slowest", true, false},   {"Skew", true, false},
        {"On rank", true, false}, {"Last rank", true, false}, {"Late by", true, false}};
    static const char *const spare[] = {"Ranks", "Median", "Fastest", "On rank", NULL};
    size_t count = w->ranks->step_count, shown = rows_shown(w, count);
    pyro_table table;
    heading(w, "Steps", shown, count);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const pyro_rank_step_row *row = &w->ranks->steps[i];
        if (row->number < 0)
            pyro_table_cell(&table, "(all)");
        else
            pyro_table_cellf(&table, "%lld", (long long)row->number);
        pyro_table_cellf(&table, "%lld", (long long)row->ranks);
        cell_time(&table, row->min_ns);
        cell_time(&table, row->median_ns);
        cell_time(&table, row->max_ns);
        cell_time(&table, row->skew_ns);
        cell_rank(&table, row->slowest_rank);
        if (row->late_ns > 0)
            cell_rank(&table, row->last_rank);
        else
            pyro_table_cell(&table, "-");
        cell_time(&table, row->late_ns);
    }
    finish_table(w, &table, spare);
}

static void add_group(pyro_table *table, const pyro_rank_group_row *row)
{
    char text[PYRO_UNIT_TEXT];
    cell_text(table, row->group[0] ? row->group : "-");
    cell_text(table, row->kind);
    if (row->group_size < 0)
        pyro_table_cellf(table, "%lld", (long long)row->ranks);
    else
        pyro_table_cellf(table, "%lld of %lld", (long long)row->ranks, (long long)row->group_size);
    pyro_table_cellf(table, "%.4g", row->calls_per_step);
    cell_time(table, row->time_ns);
    cell_time(table, row->exposed_ns);
    pyro_table_cell(table, pyro_format_share(text, (double)row->exposed_ns, (double)row->time_ns));
    cell_time(table, row->wait_ns);
    if (row->matched) {
        cell_time(table, row->arrival_skew_ns);
        if (row->last_rank < 0)
            pyro_table_cell(table, "-");
        else
            pyro_table_cellf(table, "%lld (%.0f%%)", (long long)row->last_rank,
                             row->last_share * 100);
    } else {
        pyro_table_cell(table, "-");
        pyro_table_cell(table, "-");
    }
    if (row->bus_gb_per_s < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%.3g", row->bus_gb_per_s);
}

static void write_groups(ranks_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Group", false, true}, {"Kind", false, false},   {"Ranks", true, false},
        {"Calls", true, false}, {"Time", true, false},    {"Exposed", true, false},
        {"Share", true, false}, {"Waiting", true, false}, {"Skew", true, false},
        {"Last", true, false},  {"Bus GB/s", true, false}};
    static const char *const spare[] = {"Share", "Bus GB/s", "Skew", "Ranks", "Last", NULL};
    size_t count = w->ranks->group_count, shown = rows_shown(w, count);
    pyro_table table;
    if (!count && w->is_overview)
        return;
    heading(w, "Communication, per rank and step", shown, count);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        add_group(&table, &w->ranks->groups[i]);
    finish_table(w, &table, spare);
}

static void add_cause(pyro_buf *text, const pyro_straggler_row *row)
{
    char own[PYRO_UNIT_TEXT], others[PYRO_UNIT_TEXT];
    if (!row->layer[0] && row->excess_ns == 0) {
        pyro_buf_adds(text, "; no layer explains the delay");
        return;
    }
    pyro_buf_adds(text, ": ");
    pyro_text_clean(text, row->layer[0] ? row->layer : "(model)");
    if (row->phase != PYRO_PHASE_OTHER && row->phase != PYRO_PHASE_OPTIMIZER)
        pyro_buf_addf(text, " (%s)", pyro_phase_name(row->phase));
    pyro_buf_addf(text, " takes %s of own time on the %s, %s on the other ranks",
                  pyro_format_duration(own, row->layer_ns), row->where,
                  pyro_format_duration(others, row->others_ns));
    if (row->op[0]) {
        pyro_buf_adds(text, ", mostly in ");
        pyro_text_clean(text, row->op);
    }
}

/* The rank that is latest in the median of its steps, and the step in which a rank was latest. */
static const pyro_rank_row *latest_rank(const pyro_ranks *ranks)
{
    const pyro_rank_row *latest = NULL;
    for (size_t i = 0; i < ranks->rank_count; i++)
        if (ranks->ranks[i].late_ns > (latest ? latest->late_ns : 0))
            latest = &ranks->ranks[i];
    return latest;
}

static const pyro_rank_step_row *latest_step(const pyro_ranks *ranks)
{
    const pyro_rank_step_row *latest = NULL;
    for (size_t i = 0; i < ranks->step_count; i++)
        if (ranks->steps[i].late_ns > (latest ? latest->late_ns : 0))
            latest = &ranks->steps[i];
    return latest;
}

/* The group at whose collectives ranks arrive furthest apart; NULL: at none. */
static const pyro_rank_group_row *latest_group(const pyro_ranks *ranks)
{
    const pyro_rank_group_row *latest = NULL;
    for (size_t i = 0; i < ranks->group_count; i++) {
        const pyro_rank_group_row *row = &ranks->groups[i];
        if (row->matched && row->last_rank >= 0 &&
            row->arrival_skew_ns > (latest ? latest->arrival_skew_ns : 0))
            latest = row;
    }
    return latest;
}

/* Says that no rank is a straggler, and why a rank that the tables show as late is not one. */
static void write_none(ranks_writer *w)
{
    const pyro_ranks *ranks = w->ranks;
    const pyro_rank_row *rank = latest_rank(ranks);
    const pyro_rank_step_row *step = latest_step(ranks);
    const pyro_rank_group_row *group = latest_group(ranks);
    char late[PYRO_UNIT_TEXT], share[PYRO_UNIT_TEXT], limit[PYRO_UNIT_TEXT];
    pyro_buf text = PYRO_BUF_INIT;
    if (!ranks->matched_collectives) {
        pyro_buf_adds(&text, "Unknown: this needs collectives of several ranks.");
    } else if (rank) {
        bool is_far = (double)rank->late_ns >= ranks->least_late_share * (double)ranks->step_ns;
        pyro_buf_addf(&text,
                      "None. Rank %lld is late by %s per step (%s of it): ", (long long)rank->rank,
                      pyro_format_duration(late, rank->late_ns),
                      pyro_format_share(share, (double)rank->late_ns, (double)ranks->step_ns));
        if (is_far)
            pyro_buf_adds(&text, "not in enough steps, or not more than others are in turn.");
        else
            pyro_buf_addf(&text, "a straggler is late by %s (--late).",
                          pyro_format_share(limit, ranks->least_late_share, 1));
    } else if (step) {
        pyro_buf_addf(&text, "None in most steps. The latest is rank %lld",
                      (long long)step->last_rank);
        if (step->number >= 0)
            pyro_buf_addf(&text, " in step %lld", (long long)step->number);
        pyro_buf_addf(&text, ", by %s.", pyro_format_duration(late, step->late_ns));
    } else if (group) {
        pyro_buf_addf(&text, "None. Rank %lld comes last to ", (long long)group->last_rank);
        pyro_text_clean(&text, group->kind);
        pyro_buf_addf(&text, ", by %s per call.",
                      pyro_format_duration(late, group->arrival_skew_ns));
    } else {
        pyro_buf_adds(&text, "None: no rank is late.");
    }
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &text), 2, 2, w->width);
    pyro_buf_free(&text);
}

static void write_stragglers(ranks_writer *w)
{
    const pyro_ranks *ranks = w->ranks;
    size_t shown = rows_shown(w, ranks->straggler_count);
    char late[PYRO_UNIT_TEXT], share[PYRO_UNIT_TEXT];
    pyro_text_heading(w->buf, "\nStragglers:", w->options->color);
    if (!ranks->straggler_count)
        write_none(w);
    for (size_t i = 0; i < shown; i++) {
        const pyro_straggler_row *row = &ranks->stragglers[i];
        pyro_buf text = PYRO_BUF_INIT;
        if (row->rank < 0)
            pyro_buf_adds(&text, "- An unknown rank");
        else
            pyro_buf_addf(&text, "- Rank %lld", (long long)row->rank);
        pyro_buf_addf(&text, " is late by %s per step (%s of it), in %lld of %lld steps",
                      pyro_format_duration(late, row->late_ns),
                      pyro_format_share(share, row->late_share, 1), (long long)row->late_steps,
                      (long long)row->steps);
        add_cause(&text, row);
        pyro_buf_addc(&text, '.');
        pyro_text_wrap(w->buf, pyro_text_part(w->buf, &text), 2, 4, w->width);
        pyro_buf_free(&text);
    }
}

static void write_summary(ranks_writer *w)
{
    const pyro_ranks *ranks = w->ranks;
    char a[PYRO_UNIT_TEXT], b[PYRO_UNIT_TEXT], c[PYRO_UNIT_TEXT];
    int64_t most = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        int64_t offset = ranks->ranks[i].clock_offset_ns;
        offset = offset < 0 ? -offset : offset;
        most = offset > most ? offset : most;
    }
    const char *aligned = ranks->host_count == 1  ? "one host, one clock"
                          : ranks->host_count > 1 ? "one per host, aligned by collectives"
                                                  : "aligned by collectives";
    pyro_buf_addf(w->buf, "\n  Step time:   median %s; ranks differ by %s (%s)\n",
                  pyro_format_duration(a, ranks->step_ns),
                  pyro_format_duration(b, ranks->step_skew_ns),
                  pyro_format_share(c, (double)ranks->step_skew_ns, (double)ranks->step_ns));
    pyro_buf_addf(w->buf, "  Measured on: %s\n", ranks->on_device ? "devices" : "hosts");
    pyro_buf_addf(w->buf, "  Collectives: %s, %s of them matched between ranks%s\n",
                  pyro_format_exact(a, ranks->collectives),
                  pyro_format_exact(b, ranks->matched_collectives),
                  !ranks->exact_collectives                                ? ""
                  : ranks->exact_collectives == ranks->matched_collectives ? " by their numbers"
                                                                           : ", some by number");
    if (ranks->clock_residual_ns >= 0)
        pyro_buf_addf(w->buf, "  Clocks:      %s; shifted by up to %s, residual %s\n", aligned,
                      pyro_format_duration(a, most),
                      pyro_format_duration(b, ranks->clock_residual_ns));
}

static void write_title(ranks_writer *w)
{
    const pyro_ranks *ranks = w->ranks;
    pyro_buf title = PYRO_BUF_INIT;
    pyro_buf_addf(&title, "%zu RANK%s", ranks->rank_count, ranks->rank_count == 1 ? "" : "S");
    if (ranks->world_size > 0)
        pyro_buf_addf(&title, " of %lld", (long long)ranks->world_size);
    if (ranks->rank_count && ranks->ranks[0].device[0]) {
        pyro_buf_adds(&title, ": ");
        pyro_text_clean(&title, ranks->ranks[0].device);
    }
    pyro_text_banner(w->buf, pyro_text_part(w->buf, &title), w->options->width, w->options->color);
    pyro_buf_free(&title);
}

int pyro_write_ranks_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_ranks *ranks = request->ranks.ranks;
    const pyro_report_options *options = request->options;
    pyro_ranks_view view = request->ranks.view;
    ranks_writer w = {.buf = buf,
                      .ranks = ranks,
                      .options = options,
                      .width = options->width ? options->width : PYRO_TEXT_WIDTH,
                      .is_overview = view == PYRO_RANKS_OVERVIEW};
    write_title(&w);
    if (w.is_overview)
        write_summary(&w);
    if (w.is_overview || view == PYRO_RANKS_STRAGGLERS)
        write_stragglers(&w);
    if (w.is_overview || view == PYRO_RANKS_RANKS)
        write_ranks(&w);
    if (w.is_overview || view == PYRO_RANKS_STEPS)
        write_steps(&w);
    if (w.is_overview || view == PYRO_RANKS_GROUPS)
        write_groups(&w);
    if (!options->quiet)
        pyro_text_list(buf, "\nNotes:", ranks->notes, ranks->note_count, w.width, options->color);
    return PYRO_OK;
}
