/* Writes our FLOPs compared with those of other counters: a table with reasons, JSON or CSV. */
#include "report/cost/check.h"

#include "base/json/write.h"
#include "base/text/table.h"
#include "base/text/units.h"
#include "report/csv.h"
#include "report/text.h"
#include "report/writers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double pyro_check_difference(const pyro_check_row *row)
{
    double difference = fabs((double)row->our_flops - (double)row->their_flops);

    if (difference == 0)
        return 0;
    return row->their_flops != 0 ? difference / (double)row->their_flops : INFINITY;
}

bool pyro_check_within(const pyro_check *check, const pyro_check_row *row)
{
    if (row->unpriced > 0)
        return false;
    for (size_t i = 0; i < row->reason_count; i++)
        if (strcmp(row->reasons[i].op, PYRO_CHECK_ROUNDING) == 0)
            return true;
    return !row->error && pyro_check_difference(row) <= check->tolerance;
}

/* 100% only where the two are equal. */
static double accuracy(const pyro_check_row *row)
{
    double difference = pyro_check_difference(row);

    return difference >= 1 ? 0 : 1 - difference;
}

static void add_accuracy(pyro_table *table, const pyro_check_row *row)
{
    double percent = 100 * accuracy(row);

    if (row->unpriced > 0)
        pyro_table_cell(table, "-");
    else if (percent < 100 && percent >= 99.95)
        pyro_table_cell(table, ">99.9%");
    else
        pyro_table_cellf(table, "%.1f%%", percent);
}

/* "vit_b_16", or "vit_b_16 IMAGENET1K_V1" where there are several weights. */
static void add_label(pyro_buf *buf, const pyro_check_row *row)
{
    const char *dot = strrchr(row->detail, '.');

    pyro_text_clean(buf, row->model);
    if (*row->detail)
        pyro_buf_addf(buf, " %s", dot ? dot + 1 : row->detail);
}

static void add_row(pyro_table *table, const pyro_check *check, const pyro_check_row *row)
{
    char text[PYRO_UNIT_TEXT];
    pyro_buf label = PYRO_BUF_INIT;

    add_label(&label, row);
    pyro_table_cell(table, label.data);
    table->failed = table->failed || label.failed;
    pyro_buf_free(&label);
    if (row->error) {
        pyro_table_cell(table, row->our_flops > 0 ? pyro_format_count(text, row->our_flops) : "-");
        for (size_t i = 2; i < 5; i++)
            pyro_table_cell(table, "-");
        pyro_table_cell(table, "not compared");
        return;
    }
    pyro_table_cell(table, pyro_format_count(text, row->our_flops));
    pyro_table_cell(table, pyro_format_count(text, row->their_flops));
    pyro_table_cell(table, pyro_format_count_signed(text, row->our_flops - row->their_flops));
    add_accuracy(table, row);
    pyro_table_cell(table, row->unpriced > 0               ? "incomplete"
                           : pyro_check_within(check, row) ? ""
                                                           : "beyond tolerance");
}

static void write_reason(pyro_buf *buf, const pyro_check_row *row, const char *text, int width)
{
    pyro_buf line = PYRO_BUF_INIT;

    add_label(&line, row);
    pyro_buf_adds(&line, ": ");
    pyro_text_clean(&line, text);
    pyro_text_wrap(buf, pyro_text_part(buf, &line), 2, 4, width);
    pyro_buf_free(&line);
}

/* Reports differences from rounding once for all models. */
static void write_reasons(pyro_buf *buf, const pyro_check *check, const char *counter, int width)
{
    size_t rounded = 0;

    for (size_t i = 0; i < check->count; i++) {
        const pyro_check_row *row = &check->rows[i];

        if (strcmp(row->counter, counter) != 0)
            continue;
        if (row->error)
            write_reason(buf, row, row->error, width);
        for (size_t j = 0; j < row->reason_count; j++)
            if (strcmp(row->reasons[j].op, PYRO_CHECK_ROUNDING) == 0)
                rounded++;
            else
                write_reason(buf, row, row->reasons[j].text, width);
    }
    if (rounded > 0)
        pyro_buf_addf(buf,
                      "  %zu equal to the published value, which has three decimals of GMACs\n",
                      rounded);
}

static bool has_counter(const pyro_check *check, const char *counter)
{
    for (size_t i = 0; i < check->count; i++)
        if (strcmp(check->rows[i].counter, counter) == 0)
            return true;
    return false;
}

static void write_counter(pyro_buf *buf, const pyro_check *check, const char *counter,
                          const pyro_report_options *options)
{
    char title[64], banner[96];
    const pyro_table_column columns[] = {
        {"Model", false, true},      {"Our FLOPs", true, false}, {title, true, false},
        {"Difference", true, false}, {"Accuracy", true, false},  {"", false, false},
    };
    pyro_table table;

    snprintf(title, sizeof title, "%s FLOPs", counter);
    snprintf(banner, sizeof banner, "FLOP COMPARISON: Our Estimator vs %s", counter);
    pyro_text_banner(buf, banner, options->width, options->color);
    pyro_buf_addc(buf, '\n');
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < check->count; i++)
        if (strcmp(check->rows[i].counter, counter) == 0)
            add_row(&table, check, &check->rows[i]);
    pyro_table_write(&table, buf, 0, options->width, options->color);
    pyro_table_free(&table);
    if (!options->quiet) {
        pyro_text_heading(buf, "\nReasons for differences:", options->color);
        size_t before = buf->length;
        write_reasons(buf, check, counter, options->width);
        if (buf->length == before)
            pyro_buf_adds(buf, "  no differences\n");
        pyro_buf_addc(buf, '\n');
    }
}

int pyro_write_check_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_check *check = request->check;
    const pyro_report_options *options = request->options;
    static const char *const counters[] = {"fvcore", "torch", "torchvision"};

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (has_counter(check, counters[i]))
            write_counter(buf, check, counters[i], options);
    if (!options->quiet)
        pyro_buf_addf(buf, "FLOPs here are 2 x MACs on both sides. Tolerance: %g%%.\n",
                      check->tolerance * 100);
    return PYRO_OK;
}

static void write_row_json(pyro_json_writer *writer, const pyro_check *check,
                           const pyro_check_row *row)
{
    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "model", row->model);
    pyro_json_member_string(writer, "counter", row->counter);
    pyro_json_key(writer, "weights");
    pyro_json_string(writer, *row->detail ? row->detail : NULL);
    pyro_json_member_integer(writer, "our_flops", row->our_flops);
    pyro_json_key(writer, "error");
    pyro_json_string(writer, row->error);
    if (!row->error) {
        pyro_json_member_integer(writer, "their_flops", row->their_flops);
        pyro_json_member_integer(writer, "difference", row->our_flops - row->their_flops);
        pyro_json_key(writer, "accuracy");
        if (row->unpriced > 0)
            pyro_json_null(writer);
        else
            pyro_json_number(writer, accuracy(row));
        pyro_json_member_boolean(writer, "within_tolerance", pyro_check_within(check, row));
    }
    pyro_json_member_integer(writer, "unpriced", row->unpriced);
    pyro_json_key(writer, "reasons");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < row->reason_count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "op", row->reasons[i].op);
        pyro_json_member_integer(writer, "flops", row->reasons[i].flops);
        pyro_json_member_string(writer, "text", row->reasons[i].text);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_json_end_object(writer);
}

int pyro_write_check_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_check *check = request->check;
    pyro_json_writer writer;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.check/1");
    pyro_json_member_number(&writer, "tolerance", check->tolerance);
    pyro_json_key(&writer, "rows");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < check->count; i++)
        write_row_json(&writer, check, &check->rows[i]);
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_check_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_check *check = request->check;

    pyro_csv_header(buf, "model,counter,weights,our_flops,their_flops,difference,accuracy,"
                         "within_tolerance,error");
    for (size_t i = 0; i < check->count; i++) {
        const pyro_check_row *row = &check->rows[i];

        pyro_csv_text(buf, row->model, false);
        pyro_csv_text(buf, row->counter, false);
        pyro_csv_text(buf, row->detail, false);
        pyro_csv_integer(buf, row->our_flops, false);
        if (!row->error) {
            pyro_csv_integer(buf, row->their_flops, false);
            pyro_csv_integer(buf, row->our_flops - row->their_flops, false);
            if (row->unpriced > 0)
                pyro_buf_addc(buf, ',');
            else
                pyro_csv_number(buf, accuracy(row), false);
            pyro_csv_text(buf, pyro_check_within(check, row) ? "yes" : "no", false);
        } else {
            pyro_buf_adds(buf, ",,,no,");
        }
        pyro_csv_text(buf, row->error ? row->error : "", true);
    }
    return PYRO_OK;
}
