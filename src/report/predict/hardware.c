/* Writes chips: a list, or the figures of a few side by side. */
#include "report/predict/hardware.h"

#include "base/text/table.h"
#include "base/text/units.h"
#include "hardware/hardware.h"
#include "report/csv.h"
#include "report/text.h"
#include "report/writers.h"

#include <stdio.h>

#define SCHEMA "pyrometer.hardware/1"

/* Up to this many chips are columns. */
enum { MOST_COLUMNS = 4 };

typedef struct figure {
    const char *key, *title, *unit;
    size_t offset;
} figure;

static const figure figures[] = {
    {"fp64_tflops", "fp64", "TFLOP/s", offsetof(pyro_chip, fp64_tflops)},
    {"fp32_tflops", "fp32", "TFLOP/s", offsetof(pyro_chip, fp32_tflops)},
    {"tf32_tflops", "tf32", "TFLOP/s", offsetof(pyro_chip, tf32_tflops)},
    {"fp16_tflops", "fp16", "TFLOP/s", offsetof(pyro_chip, fp16_tflops)},
    {"bf16_tflops", "bf16", "TFLOP/s", offsetof(pyro_chip, bf16_tflops)},
    {"fp8_tflops", "fp8", "TFLOP/s", offsetof(pyro_chip, fp8_tflops)},
    {"fp4_tflops", "fp4", "TFLOP/s", offsetof(pyro_chip, fp4_tflops)},
    {"int8_tops", "int8", "TOP/s", offsetof(pyro_chip, int8_tops)},
    {"bandwidth_gb_per_s", "memory", "GB/s", offsetof(pyro_chip, bandwidth_gb_per_s)},
    {"power_watts", "power", "W", offsetof(pyro_chip, power_watts)},
};
enum { FIGURE_COUNT = sizeof figures / sizeof *figures };

static double value_of(const pyro_chip *chip, const figure *f)
{
    return *(const double *)(const void *)((const char *)chip + f->offset);
}

static double ridge_of(const pyro_chip *chip)
{
    return pyro_chip_peak_flops_per_s(chip, PYRO_DTYPE_BFLOAT16) / pyro_chip_bytes_per_s(chip);
}

static void cell_number(pyro_table *table, double value)
{
    if (value > 0)
        pyro_table_cellf(table, "%.4g", value);
    else
        pyro_table_cell(table, "-");
}

static void write_table(pyro_buf *buf, pyro_table *table, const pyro_report_options *options)
{
    pyro_table_write(table, buf, 0, options->width, options->color);
    buf->failed |= table->failed;
    pyro_table_free(table);
}

static void write_list(pyro_buf *buf, const pyro_hardware_report *report,
                       const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {{"Chip", false, false},     {"fp32", true, false},
                                                {"tf32", true, false},      {"bf16", true, false},
                                                {"fp8", true, false},       {"GB/s", true, false},
                                                {"GiB", true, false},       {"L2 MiB", true, false},
                                                {"Link GB/s", true, false}, {"W", true, false}};
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < report->count; i++) {
        const pyro_chip *chip = report->chips[i];
        pyro_table_cell(&table, chip->name);
        cell_number(&table, chip->fp32_tflops);
        cell_number(&table, chip->tf32_tflops);
        cell_number(&table, chip->bf16_tflops);
        cell_number(&table, chip->fp8_tflops);
        cell_number(&table, chip->bandwidth_gb_per_s);
        cell_number(&table, (double)chip->memory_bytes / 1073741824.0);
        cell_number(&table, (double)chip->cache_bytes / 1048576.0);
        cell_number(&table, chip->link_bytes_per_s / 1e9);
        cell_number(&table, chip->power_watts);
    }
    write_table(buf, &table, options);
    pyro_buf_adds(buf, "\nTFLOP/s are dense peaks; links are one direction. 'pyrometer hardware "
                       "NAME...' shows all figures and their sources.\n");
}

/* A row of numbers, and how the others compare with the first chip. */
static void add_comparison(pyro_table *table, const pyro_hardware_report *report, const char *title,
                           const char *unit, const double values[])
{
    pyro_table_cellf(table, "%s, %s", title, unit);
    for (size_t i = 0; i < report->count; i++) {
        if (values[i] <= 0)
            pyro_table_cell(table, "-");
        else if (i == 0 || values[0] <= 0)
            pyro_table_cellf(table, "%.5g", values[i]);
        else
            pyro_table_cellf(table, "%.5g (%.2fx)", values[i], values[i] / values[0]);
    }
}

static void write_comparison(pyro_buf *buf, const pyro_hardware_report *report,
                             const pyro_report_options *options)
{
    pyro_table_column columns[MOST_COLUMNS + 1] = {{"", false, false}};
    double values[MOST_COLUMNS];
    pyro_table table;

    for (size_t i = 0; i < report->count; i++)
        columns[i + 1] = (pyro_table_column){report->chips[i]->name, true, false};
    pyro_table_init(&table, columns, report->count + 1);
    for (size_t f = 0; f < FIGURE_COUNT; f++) {
        for (size_t i = 0; i < report->count; i++)
            values[i] = value_of(report->chips[i], &figures[f]);
        add_comparison(&table, report, figures[f].title, figures[f].unit, values);
    }
    for (size_t i = 0; i < report->count; i++)
        values[i] = (double)report->chips[i]->memory_bytes / 1073741824.0;
    add_comparison(&table, report, "memory size", "GiB", values);
    for (size_t i = 0; i < report->count; i++)
        values[i] = (double)report->chips[i]->cache_bytes / 1048576.0;
    add_comparison(&table, report, "last cache", "MiB", values);
    for (size_t i = 0; i < report->count; i++)
        values[i] = report->chips[i]->link_bytes_per_s / 1e9;
    add_comparison(&table, report, "link, one direction", "GB/s", values);
    for (size_t i = 0; i < report->count; i++)
        values[i] = ridge_of(report->chips[i]);
    add_comparison(&table, report, "ridge of bf16", "FLOP/byte", values);
    write_table(buf, &table, options);
    pyro_buf_adds(buf, "\nPeaks are dense. Sources:\n");
    for (size_t i = 0; i < report->count; i++)
        pyro_buf_addf(buf, "  %s: %s\n", report->chips[i]->name, report->chips[i]->source);
}

int pyro_write_hardware_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_hardware_report *report = request->hardware;
    if (report->is_chosen && report->count <= MOST_COLUMNS)
        write_comparison(buf, report, request->options);
    else
        write_list(buf, report, request->options);
    return PYRO_OK;
}

static void json_figure(pyro_json_writer *w, const char *key, double value)
{
    if (value > 0)
        pyro_json_member_number(w, key, value);
    else
        pyro_json_key(w, key), pyro_json_null(w);
}

int pyro_write_hardware_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_hardware_report *report = request->hardware;
    pyro_json_writer w;

    pyro_json_writer_init(&w, buf, 2);
    pyro_json_begin_object(&w);
    pyro_json_member_string(&w, "schema", SCHEMA);
    pyro_json_key(&w, "chips");
    pyro_json_begin_array(&w);
    for (size_t i = 0; i < report->count; i++) {
        const pyro_chip *chip = report->chips[i];
        pyro_json_begin_object(&w);
        pyro_json_member_string(&w, "name", chip->name);
        for (size_t f = 0; f < FIGURE_COUNT; f++)
            json_figure(&w, figures[f].key, value_of(chip, &figures[f]));
        json_figure(&w, "memory_bytes", (double)chip->memory_bytes);
        json_figure(&w, "cache_bytes", (double)chip->cache_bytes);
        json_figure(&w, "link_bytes_per_s", chip->link_bytes_per_s);
        json_figure(&w, "bf16_ridge", ridge_of(chip));
        pyro_json_member_string(&w, "source", chip->source);
        pyro_json_end_object(&w);
    }
    pyro_json_end_array(&w);
    pyro_json_end_object(&w);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_hardware_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_hardware_report *report = request->hardware;

    pyro_csv_header(buf, "name,fp64_tflops,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops,"
                         "fp8_tflops,fp4_tflops,int8_tops,bandwidth_gb_per_s,power_watts,"
                         "memory_bytes,cache_bytes,link_bytes_per_s,source");
    for (size_t i = 0; i < report->count; i++) {
        const pyro_chip *chip = report->chips[i];
        pyro_csv_text(buf, chip->name, false);
        for (size_t f = 0; f < FIGURE_COUNT; f++)
            pyro_csv_number(buf, value_of(chip, &figures[f]), false);
        pyro_csv_integer(buf, chip->memory_bytes, false);
        pyro_csv_integer(buf, chip->cache_bytes, false);
        pyro_csv_number(buf, chip->link_bytes_per_s, false);
        pyro_csv_text(buf, chip->source, true);
    }
    return PYRO_OK;
}
