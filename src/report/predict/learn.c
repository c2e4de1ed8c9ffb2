/* Writes what was learnt from each file, and the rows of a table of efficiencies. */
#include "report/predict/learn.h"

#include "base/text/table.h"
#include "base/text/units.h"
#include "predict/describe.h"
#include "predict/peaks.h"
#include "report/csv.h"
#include "report/text.h"
#include "report/writers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_ROWS = 20 };

/* A row as numbers that people read; unknown shares are -1. */
typedef struct shown_row {
    double time_ns, flops, bytes, compute_share, memory_share, spread;
} shown_row;

static double mean_of(int64_t log_sum, int64_t samples)
{
    return log_sum > 0 ? exp2((double)log_sum / (double)samples / PYRO_LOG_UNIT) : 0;
}

static const pyro_chip *find_chip(const char *name)
{
    for (size_t i = 0; i < pyro_chip_count; i++)
        if (strcmp(pyro_chips[i].name, name) == 0)
            return &pyro_chips[i];
    return NULL;
}

static shown_row show_row(const pyro_efficiency_table *table, const pyro_efficiency_row *row)
{
    const pyro_chip *chip = find_chip(pyro_efficiency_chip(table, row->chip));
    double samples = (double)row->samples, mean = (double)row->time_log / samples;
    double variance = fmax((double)row->time_log_squares / samples - mean * mean, 0);
    shown_row shown = {.time_ns = mean_of(row->time_log, row->samples),
                       .flops = mean_of(row->size_logs[PYRO_SIZE_FLOPS], row->samples),
                       .bytes = mean_of(row->size_logs[PYRO_SIZE_BYTES], row->samples),
                       .compute_share = -1,
                       .memory_share = -1,
                       .spread = exp2(sqrt(variance) / PYRO_LOG_UNIT) - 1};
    double peak = chip ? pyro_peak_of_type(chip, row->dtype) : 0;
    if (peak > 0)
        shown.compute_share = shown.flops / shown.time_ns * 1e9 / peak;
    if (chip && pyro_chip_bytes_per_s(chip) > 0)
        shown.memory_share = shown.bytes / shown.time_ns * 1e9 / pyro_chip_bytes_per_s(chip);
    return shown;
}

/* The mean of a size; -1: the work has none. */
static int64_t mean_size(const pyro_efficiency_row *row, int size)
{
    if (row->sizes[size] == PYRO_SIZE_NONE)
        return -1;
    return (int64_t)(exp2((double)row->size_logs[size] / (double)row->samples / PYRO_LOG_UNIT) +
                     0.5);
}

static void add_size(pyro_table *text, int64_t size)
{
    char count[PYRO_UNIT_TEXT];
    pyro_table_cell(text, size < 0 ? "-" : pyro_format_count(count, size));
}

static void add_share(pyro_table *text, double share)
{
    char cell[PYRO_UNIT_TEXT];
    pyro_table_cell(text, share < 0 ? "-" : pyro_format_share(cell, share, 1));
}

static void add_row(pyro_table *text, const pyro_efficiency_table *table,
                    const pyro_efficiency_row *row)
{
    shown_row shown = show_row(table, row);
    char cell[PYRO_UNIT_TEXT];

    if (row->form == PYRO_FORM_PLAIN)
        pyro_table_cell(text, pyro_work_kind_name((pyro_work_kind)row->kind));
    else
        pyro_table_cellf(text, "%s, %s", pyro_work_kind_name((pyro_work_kind)row->kind),
                         pyro_work_form_name((pyro_work_form)row->form));
    pyro_table_cell(text, row->dtype == PYRO_DTYPE_TF32
                              ? "tf32"
                              : pyro_dtype_short_name((pyro_dtype)row->dtype));
    for (int s = 0; s < PYRO_SIZE_FLOPS; s++)
        add_size(text, mean_size(row, s));
    pyro_table_cell(text, pyro_format_count(cell, (int64_t)shown.flops));
    pyro_table_cell(text, pyro_format_bytes(cell, (int64_t)shown.bytes));
    pyro_table_cell(text, pyro_format_count(cell, row->samples));
    pyro_table_cell(text, pyro_format_duration(cell, (int64_t)shown.time_ns));
    if (row->samples > 1)
        pyro_table_cellf(text, "%.0f%%", 100 * shown.spread);
    else
        pyro_table_cell(text, "-");
    add_share(text, shown.compute_share);
    add_share(text, shown.memory_share);
}

/* The rows of one chip and library from `first` on, at most up to `last`; returns where they end. */
static size_t write_group(pyro_buf *buf, const pyro_learn_report *report, size_t first, size_t last,
                          const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Kind", false, false},  {"Type", false, false}, {"m", true, false},
        {"n", true, false},      {"k", true, false},     {"FLOPs", true, false},
        {"Bytes", true, false},  {"N", true, false},     {"Time", true, false},
        {"Spread", true, false}, {"Peak", true, false},  {"B/s", true, false},
    };
    static const char *const less[] = {"Spread", "FLOPs", NULL};
    size_t count, i;
    const pyro_efficiency_row *rows = pyro_efficiency_rows(report->table, &count);
    pyro_table text;

    pyro_buf_addf(buf, "\n%s, %s:\n", pyro_efficiency_chip(report->table, rows[first].chip),
                  pyro_efficiency_library(report->table, rows[first].library));
    pyro_table_init(&text, columns, sizeof columns / sizeof *columns);
    for (i = first;
         i < last && rows[i].chip == rows[first].chip && rows[i].library == rows[first].library;
         i++)
        add_row(&text, report->table, &rows[i]);
    pyro_table_fit(&text, less, 2, options->width);
    pyro_table_write(&text, buf, 2, options->width, options->color);
    pyro_table_free(&text);
    return i;
}

static void write_rows(pyro_buf *buf, const pyro_learn_report *report,
                       const pyro_report_options *options)
{
    size_t count, most = options->top > 0 ? (size_t)options->top : SHOWN_ROWS;

    pyro_efficiency_rows(report->table, &count);
    if (options->top < 0 || options->verbose || most > count)
        most = count;
    for (size_t i = 0; i < most;)
        i = write_group(buf, report, i, most, options);
    if (most < count)
        pyro_buf_addf(buf, "  ... %zu more rows; --top 0 shows all\n", count - most);
    if (count && !options->quiet)
        pyro_buf_adds(buf,
                      "\nSizes are the middle of their group; N is the number of samples. Peak "
                      "and B/s are\nshares of the data sheet's peak for the type and of its "
                      "bandwidth.\n");
}

static void write_summary(pyro_buf *buf, const pyro_learn_report *report)
{
    size_t count;
    const pyro_efficiency_row *rows = pyro_efficiency_rows(report->table, &count);
    size_t chips = pyro_efficiency_chip_count(report->table);

    if (report->path)
        pyro_text_clean(buf, report->path);
    else
        pyro_buf_adds(buf, "the table that ships with pyrometer");
    pyro_buf_addf(buf, ": %zu row%s\n", count, count == 1 ? "" : "s");
    for (size_t c = 0; c < chips; c++) {
        int64_t samples = 0;
        size_t of_chip = 0, of_kind[PYRO_WORK_KIND_COUNT] = {0};
        for (size_t i = 0; i < count; i++) {
            if (rows[i].chip != c)
                continue;
            of_chip++;
            of_kind[rows[i].kind]++;
            samples += rows[i].samples;
        }
        pyro_buf_addf(buf, "  %s: %zu rows, %lld samples", pyro_efficiency_chip(report->table, c),
                      of_chip, (long long)samples);
        const char *separator = " (";
        for (int k = 0; k < PYRO_WORK_KIND_COUNT; k++) {
            if (!of_kind[k])
                continue;
            pyro_buf_addf(buf, "%s%s %zu", separator, pyro_work_kind_name((pyro_work_kind)k),
                          of_kind[k]);
            separator = ", ";
        }
        pyro_buf_adds(buf, *separator == ',' ? ")\n" : "\n");
    }
}

static void write_file_line(pyro_buf *buf, const pyro_learn_file *file)
{
    const pyro_learnt *learnt = &file->learnt;
    char share[PYRO_UNIT_TEXT];

    pyro_text_clean(buf, file->file);
    pyro_buf_adds(buf, ": ");
    if (file->rejected[0]) {
        pyro_buf_adds(buf, "rejected: ");
        pyro_text_clean(buf, file->rejected);
    } else if (file->is_table) {
        pyro_buf_addf(buf, "%zu rows merged", file->rows);
    } else {
        pyro_buf_addf(buf, "%s (%s): %lld samples of %lld calls, %s of the %s time", learnt->chip,
                      learnt->library, (long long)learnt->samples, (long long)learnt->calls,
                      pyro_format_share(share, (double)learnt->time_ns, (double)learnt->all_ns),
                      learnt->on_device ? "device" : "op");
        if (learnt->impossible)
            pyro_buf_addf(buf, "; %lld ops left out: faster than the chip can be",
                          (long long)learnt->impossible);
    }
    pyro_buf_addc(buf, '\n');
}

int pyro_write_learn_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_learn_report *report = request->learn;

    for (size_t i = 0; i < report->file_count; i++)
        write_file_line(buf, &report->files[i]);
    write_summary(buf, report);
    if (report->show)
        write_rows(buf, report, request->options);
    return PYRO_OK;
}

static void write_file_json(pyro_json_writer *writer, const pyro_learn_file *file)
{
    const pyro_learnt *learnt = &file->learnt;
    bool is_learnt = !file->rejected[0];

    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "file", file->file);
    pyro_json_member_boolean(writer, "is_table", file->is_table);
    pyro_json_member_string(writer, "rejected", is_learnt ? NULL : file->rejected);
    if (file->is_table) {
        pyro_json_member_amount(writer, "rows", is_learnt ? (int64_t)file->rows : -1);
    } else if (is_learnt) {
        pyro_json_member_string(writer, "chip", learnt->chip);
        pyro_json_member_string(writer, "library", learnt->library);
        pyro_json_member_boolean(writer, "on_device", learnt->on_device);
        pyro_json_member_integer(writer, "samples", learnt->samples);
        pyro_json_member_integer(writer, "calls", learnt->calls);
        pyro_json_member_integer(writer, "time_ns", learnt->time_ns);
        pyro_json_member_integer(writer, "all_ns", learnt->all_ns);
        pyro_json_member_integer(writer, "impossible", learnt->impossible);
    }
    pyro_json_end_object(writer);
}

int pyro_write_learn_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_learn_report *report = request->learn;
    pyro_json_writer writer;
    size_t count;

    if (report->show)
        return pyro_efficiency_write(report->table, buf, request->error);
    pyro_efficiency_rows(report->table, &count);
    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.learn/1");
    pyro_json_member_string(&writer, "table", report->path);
    pyro_json_member_integer(&writer, "rows", (int64_t)count);
    pyro_json_key(&writer, "files");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < report->file_count; i++)
        write_file_json(&writer, &report->files[i]);
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

static void write_table_csv(pyro_buf *buf, const pyro_learn_report *report)
{
    size_t count;
    const pyro_efficiency_row *rows = pyro_efficiency_rows(report->table, &count);

    pyro_csv_header(buf, "chip,library,kind,form,dtype,m,n,k,flops,bytes,parts,samples,time_ns,"
                         "least_ns,most_ns,compute_share,memory_share");
    for (size_t i = 0; i < count; i++) {
        const pyro_efficiency_row *row = &rows[i];
        shown_row shown = show_row(report->table, row);
        pyro_csv_text(buf, pyro_efficiency_chip(report->table, row->chip), false);
        pyro_csv_text(buf, pyro_efficiency_library(report->table, row->library), false);
        pyro_csv_text(buf, pyro_work_kind_name((pyro_work_kind)row->kind), false);
        pyro_csv_text(buf, pyro_work_form_name((pyro_work_form)row->form), false);
        pyro_csv_text(buf, pyro_efficiency_dtype_name(row->dtype), false);
        for (int s = 0; s < PYRO_SIZE_FLOPS; s++) {
            if (row->sizes[s] == PYRO_SIZE_NONE)
                pyro_csv_text(buf, "", false);
            else
                pyro_csv_integer(buf, mean_size(row, s), false);
        }
        pyro_csv_integer(buf, (int64_t)shown.flops, false);
        pyro_csv_integer(buf, (int64_t)shown.bytes, false);
        pyro_csv_integer(buf, mean_size(row, PYRO_SIZE_PARTS), false);
        pyro_csv_integer(buf, row->samples, false);
        pyro_csv_integer(buf, (int64_t)shown.time_ns, false);
        pyro_csv_integer(buf, row->least_ns, false);
        pyro_csv_integer(buf, row->most_ns, false);
        pyro_csv_number(buf, shown.compute_share, false);
        pyro_csv_number(buf, shown.memory_share, true);
    }
}

int pyro_write_learn_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_learn_report *report = request->learn;

    if (report->show) {
        write_table_csv(buf, report);
        return PYRO_OK;
    }
    pyro_csv_header(buf, "file,is_table,rejected,chip,library,samples,calls,time_ns,all_ns,rows");
    for (size_t i = 0; i < report->file_count; i++) {
        const pyro_learn_file *file = &report->files[i];
        pyro_csv_text(buf, file->file, false);
        pyro_csv_text(buf, file->is_table ? "yes" : "no", false);
        pyro_csv_text(buf, file->rejected, false);
        pyro_csv_text(buf, file->learnt.chip, false);
        pyro_csv_text(buf, file->learnt.library, false);
        pyro_csv_integer(buf, file->learnt.samples, false);
        pyro_csv_integer(buf, file->learnt.calls, false);
        pyro_csv_integer(buf, file->learnt.time_ns, false);
        pyro_csv_integer(buf, file->learnt.all_ns, false);
        pyro_csv_integer(buf, (int64_t)file->rows, true);
    }
    return PYRO_OK;
}
