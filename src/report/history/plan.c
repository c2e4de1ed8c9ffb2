/* Writes a plan of capacity: replicas per batch and machine, and what it assumes. */
#include "report/history/history.h"

#include "base/error.h"
#include "base/text/table.h"
#include "report/bench/bench.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>

static const char *const assumptions[] = {
    "requests arrive at random and independently (Poisson), and wait in one queue",
    "every replica serves as measured: results of the current level, all samples equally likely",
    "load is the share of what full batches could serve; small batches keep replicas busier",
    "a free replica takes up to one batch of the requests that wait, and does not wait for more",
    "no time for network, tokenization or failures of replicas",
    ("only measured machines and batch sizes are compared; pyrometer bench --history adds others, "
     "and --on predicts other chips"),
};
enum { ASSUMPTIONS = sizeof assumptions / sizeof *assumptions };

static void add_row(pyro_table *table, const pyro_capacity_row *row, bool priced)
{
    const pyro_service_times *queue = &row->capacity.queue;
    const double times[] = {queue->p50_ms, queue->p95_ms, queue->p99_ms};
    bool is_possible = row->capacity.replicas > 0;
    char amount[PYRO_UNIT_TEXT];
    pyro_buf clean = PYRO_BUF_INIT;

    pyro_text_clean(&clean, row->line->benchmark);
    pyro_table_cell(table, clean.data);
    table->failed = table->failed || clean.failed;
    pyro_buf_reset(&clean);
    pyro_text_clean(&clean, row->line->machine_class);
    pyro_table_cell(table, clean.data);
    pyro_buf_free(&clean);
    pyro_table_cellf(table, "%zu", row->batch);
    if (is_possible)
        pyro_table_cellf(table, "%zu", row->capacity.replicas);
    else
        pyro_table_cell(table, "too slow");
    pyro_table_cellf(table, is_possible ? "%.0f%%" : "-", row->capacity.load * 100);
    pyro_table_cellf(table, is_possible ? "%.0f%%" : "-", queue->utilisation * 100);
    for (size_t i = 0; i < 3; i++)
        pyro_table_cell(table, pyro_format_safe_amount(amount, times[i], "ms"));
    if (is_possible)
        pyro_table_cellf(table, "+%.0f%%", row->capacity.headroom * 100);
    else
        pyro_table_cell(table, "-");
    if (priced)
        pyro_table_cellf(table, is_possible ? "%.2f" : "-", row->capacity.price_per_hour);
}

/* "resnet50 batch_size=1: batch 8 instead of 1 on CLASS: 3 replicas with p99 ..., not 5 ..." */
static void add_alternative(pyro_buf *text, const pyro_capacity_row *row,
                            const pyro_capacity_row *other, bool is_batch)
{
    pyro_buf_addf(text, "%s: ", row->line->benchmark);
    if (is_batch)
        pyro_buf_addf(text, "batch %zu instead of %zu on ", other->batch, row->batch);
    pyro_buf_adds(text, other->line->machine_class);
    if (!is_batch)
        pyro_buf_addf(text, " instead of %s", row->line->machine_class);
    pyro_buf_adds(text, ": ");
    pyro_add_replicas(text, &other->capacity);
    pyro_buf_adds(text, ", not ");
    pyro_add_replicas(text, &row->capacity);
}

/* What the next batch and another machine would change, row by row. */
static void add_alternatives(pyro_buf *buf, const pyro_report_request *request,
                             const pyro_capacity_rows *plan)
{
    pyro_buf text = PYRO_BUF_INIT, item = PYRO_BUF_INIT;
    bool is_first = true;

    for (size_t i = 0; i < 2 * plan->row_count; i++) {
        const pyro_capacity_row *row = &plan->rows[i / 2];
        size_t other = i % 2 == 0 ? row->next_batch : row->other_machine;

        if (other == PYRO_NO_ROW)
            continue;
        pyro_buf_reset(&text);
        pyro_buf_reset(&item);
        add_alternative(&text, row, &plan->rows[other], i % 2 == 0);
        pyro_buf_adds(&item, "- ");
        pyro_text_clean(&item, pyro_text_part(buf, &text));
        if (is_first) {
            pyro_buf_addc(buf, '\n');
            pyro_text_heading(buf, "Alternatives:", request->options->color);
        }
        pyro_text_wrap(buf, pyro_text_part(buf, &item), 2, 4, request->options->width);
        is_first = false;
    }
    pyro_buf_free(&text);
    pyro_buf_free(&item);
}

static void write_row_number(pyro_json_writer *w, const char *key, size_t row)
{
    pyro_json_member_amount(w, key, row == PYRO_NO_ROW ? -1 : (int64_t)row);
}

int pyro_write_plan_text(pyro_buf *buf, const pyro_report_request *request)
{
    static const pyro_table_column columns[] = {
        {"Benchmark", false, true}, {"Machine", false, true}, {"Batch", true, false},
        {"Replicas", true, false},  {"Load", true, false},    {"Busy", true, false},
        {"p50", true, false},       {"p95", true, false},     {"p99", true, false},
        {"Headroom", true, false},  {"Price/h", true, false}};
    const pyro_capacity_rows *plan = request->history->plan;
    const pyro_capacity_request *asked = request->history->capacity;
    bool priced = asked->price_per_hour > 0;
    char limit[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_buf_addf(buf, "%.6g requests/s, p99 within %s, replicas at most %.0f%% loaded\n\n",
                  asked->rate_per_s, pyro_format_safe_amount(limit, asked->p99_ms, "ms"),
                  100 * (asked->utilisation > 0 ? asked->utilisation : 0.7));
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns - !priced);
    for (size_t i = 0; i < plan->row_count; i++)
        add_row(&table, &plan->rows[i], priced);
    bool failed = table.failed;
    pyro_table_write(&table, buf, 2, request->options->width, request->options->color);
    pyro_table_free(&table);
    add_alternatives(buf, request, plan);
    pyro_write_plan_chips_text(buf, request);
    if (!request->options->quiet) {
        pyro_buf_addc(buf, '\n');
        pyro_text_list(buf, "Assumptions:", assumptions, ASSUMPTIONS, request->options->width,
                       request->options->color);
    }
    return failed ? pyro_fail_memory(request->error) : PYRO_OK;
}

void pyro_write_plan_json(pyro_json_writer *w, const pyro_history_report *report)
{
    const pyro_capacity_request *asked = report->capacity;

    pyro_json_key(w, "plan");
    pyro_json_begin_object(w);
    pyro_json_member_number(w, "rate_per_s", asked->rate_per_s);
    pyro_json_member_number(w, "p99_limit_ms", asked->p99_ms);
    pyro_json_member_number(w, "utilisation_limit",
                            asked->utilisation > 0 ? asked->utilisation : 0.7);
    pyro_json_member_integer(w, "seed", (int64_t)asked->seed);
    pyro_json_member_strings(w, "assumptions", assumptions, ASSUMPTIONS);
    pyro_json_key(w, "rows");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < report->plan->row_count; i++) {
        const pyro_capacity_row *row = &report->plan->rows[i];
        const pyro_capacity *capacity = &row->capacity;

        pyro_json_begin_object(w);
        pyro_json_member_string(w, "benchmark", row->line->benchmark);
        pyro_json_member_string(w, "machine_class", row->line->machine_class);
        pyro_json_member_integer(w, "batch", (int64_t)row->batch);
        pyro_json_member_integer(w, "concurrency", (int64_t)row->concurrency);
        pyro_json_member_integer(w, "samples", (int64_t)row->sample_count);
        pyro_json_member_integer(w, "replicas", (int64_t)capacity->replicas);
        pyro_json_member_number(w, "load", capacity->replicas > 0 ? capacity->load : NAN);
        pyro_json_member_number(w, "utilisation", capacity->queue.utilisation);
        pyro_json_member_number(w, "mean_ms", capacity->queue.mean_ms);
        pyro_json_member_number(w, "p50_ms", capacity->queue.p50_ms);
        pyro_json_member_number(w, "p95_ms", capacity->queue.p95_ms);
        pyro_json_member_number(w, "p99_ms", capacity->queue.p99_ms);
        pyro_json_member_number(w, "headroom", capacity->headroom);
        pyro_json_member_number(w, "price_per_hour",
                                asked->price_per_hour > 0 ? capacity->price_per_hour : NAN);
        write_row_number(w, "next_batch_row", row->next_batch);
        write_row_number(w, "other_machine_row", row->other_machine);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
    if (report->chips)
        pyro_write_plan_chips_json(w, report);
    pyro_json_end_object(w);
}

/* A row as measured, or as predicted for a chip. */
static void add_csv_row(pyro_buf *buf, const pyro_capacity_row *row, const pyro_capacity *capacity,
                        const pyro_capacity_chip *chip)
{
    pyro_csv_text(buf, row->line->benchmark, false);
    pyro_csv_text(buf, row->line->machine_class, false);
    pyro_csv_integer(buf, (int64_t)row->batch, false);
    pyro_csv_integer(buf, (int64_t)row->concurrency, false);
    pyro_csv_integer(buf, (int64_t)row->sample_count, false);
    pyro_csv_integer(buf, (int64_t)capacity->replicas, false);
    pyro_csv_number(buf, capacity->replicas > 0 ? capacity->load : NAN, false);
    pyro_csv_number(buf, capacity->queue.utilisation, false);
    pyro_csv_number(buf, capacity->queue.p50_ms, false);
    pyro_csv_number(buf, capacity->queue.p95_ms, false);
    pyro_csv_number(buf, capacity->queue.p99_ms, false);
    pyro_csv_number(buf, capacity->headroom, false);
    pyro_csv_number(buf, chip ? NAN : capacity->price_per_hour, false);
    pyro_csv_text(buf, chip ? chip->chip : "", false);
    pyro_csv_number(buf, chip ? chip->ratio : NAN, true);
}

void pyro_write_plan_csv(pyro_buf *buf, const pyro_history_report *report)
{
    const pyro_capacity_rows *plan = report->plan;

    pyro_csv_header(buf, "benchmark,machine_class,batch,concurrency,samples,replicas,load,"
                         "utilisation,p50_ms,p95_ms,p99_ms,headroom,price_per_hour,predicted_chip,"
                         "predicted_ratio");
    for (size_t i = 0; i < plan->row_count; i++)
        add_csv_row(buf, &plan->rows[i], &plan->rows[i].capacity, NULL);
    for (size_t i = 0; i < report->chip_count; i++)
        if (!report->chips[i].why_not)
            add_csv_row(buf, &plan->rows[report->chips[i].row], &report->chips[i].capacity,
                        &report->chips[i]);
}
