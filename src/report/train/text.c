/* Writes the cost of a training step as text: its parts, its memory, its largest layers. */
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/error.h"
#include "base/text/table.h"
#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct train_text {
    pyro_buf *buf;
    const pyro_train *train;
    const pyro_train_total *total;
    const pyro_report_options *options;
} train_text;

static void write_field(const train_text *w, const char *label, pyro_buf *value)
{
    pyro_text_field(w->buf, label, value, w->options->width);
    pyro_buf_reset(value);
}

static void write_table(const train_text *w, pyro_table *table)
{
    pyro_table_write(table, w->buf, 2, w->options->width, w->options->color);
    pyro_table_free(table);
}

static void write_setting(const train_text *w, pyro_buf *value)
{
    const pyro_train_options *options = pyro_train_get_options(w->train);

    pyro_buf_addf(value, "optimizer %s, checkpoint %s, precision ",
                  pyro_optimizer_name(options->optimizer),
                  pyro_checkpoint_name(options->checkpoint));
    if (options->precision == PYRO_PRECISION_FILE)
        pyro_buf_addf(value, "%s as in the file", pyro_cost_dtype(pyro_train_cost(w->train)));
    else
        pyro_buf_adds(value, pyro_precision_name(options->precision));
    if (options->freeze) {
        pyro_buf_adds(value, ", frozen: ");
        pyro_text_clean(value, options->freeze);
    }
    if (options->lora) {
        pyro_buf_adds(value, ", LoRA ");
        pyro_text_clean(value, options->lora);
    }
    write_field(w, "Training:", value);
}

static int write_summary(const train_text *w, pyro_error *error)
{
    const pyro_cost *cost = pyro_train_cost(w->train);
    pyro_model *model = pyro_cost_model(cost);
    char text[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    pyro_text_heading(w->buf, "\nModel Summary:", w->options->color);
    pyro_text_clean(&value, pyro_model_name(model));
    pyro_buf_adds(&value, " (");
    pyro_text_clean(&value, pyro_model_source(model));
    pyro_buf_addc(&value, ')');
    write_field(w, "Model:", &value);
    int status = pyro_text_inputs(&value, model, error);
    write_field(w, "Inputs:", &value);
    write_setting(w, &value);
    pyro_buf_addf(&value, "%s trainable", pyro_format_count(text, w->total->trainable_params));
    if (w->total->lora_params)
        pyro_buf_adds(&value, " (all of them in adapters)");
    pyro_buf_addf(&value, ", %s frozen", pyro_format_count(text, w->total->frozen_params));
    write_field(w, "Parameters:", &value);
    pyro_buf_addf(&value, "convention %s: %s", pyro_convention_name(pyro_cost_convention(cost)),
                  pyro_convention_summary(pyro_cost_convention(cost)));
    write_field(w, "FLOPs:", &value);
    pyro_buf_free(&value);
    return status;
}

static void add_part(const train_text *w, pyro_table *table, const char *name, int64_t macs,
                     int64_t flops, int64_t bytes)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, name);
    pyro_table_cell(table, pyro_format_count(text, macs));
    pyro_table_cell(table, pyro_format_count(text, flops));
    pyro_table_cell(table, pyro_format_share(text, (double)flops, (double)w->total->forward.flops));
    pyro_table_cell(table, pyro_format_bytes(text, bytes));
}

static void write_parts(const train_text *w)
{
    static const pyro_table_column columns[] = {
        {"Part", false, false},      {"MACs", true, false},    {"FLOPs", true, false},
        {"Of forward", true, false}, {"Traffic", true, false},
    };
    const struct {
        const char *name;
        const pyro_work *work;
    } parts[] = {{"Forward", &w->total->forward},
                 {"Recompute", &w->total->recompute},
                 {"Backward", &w->total->backward},
                 {"Optimizer", &w->total->optimizer}};
    pyro_table table;

    pyro_text_heading(w->buf, "\nTraining Step:", w->options->color);
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].work != &w->total->recompute || parts[i].work->flops)
            add_part(w, &table, parts[i].name, parts[i].work->macs, parts[i].work->flops,
                     pyro_work_bytes(parts[i].work));
    pyro_table_rule(&table);
    add_part(w, &table, "Step", w->total->macs, w->total->flops, w->total->memory_bytes);
    write_table(w, &table);
}

static void add_bytes(const train_text *w, const char *label, int64_t bytes, const char *remark)
{
    char text[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    pyro_buf_addf(&value, "%s%s", pyro_format_bytes(text, bytes), remark);
    write_field(w, label, &value);
    pyro_buf_free(&value);
}

static void write_peak(const train_text *w)
{
    size_t count;
    const pyro_memory_step *curve = pyro_train_curve(w->train, &count);
    const pyro_memory_step *peak = &curve[pyro_train_peak(w->train)];
    char text[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    pyro_buf_addf(&value, "%s in the %s", pyro_format_bytes(text, w->total->peak_bytes),
                  pyro_train_phase_name(peak->phase));
    if (peak->node[0]) {
        pyro_buf_adds(&value, " of ");
        pyro_text_clean(&value, peak->node);
        pyro_buf_adds(&value, " (");
        pyro_text_clean(&value, peak->layer[0] ? peak->layer : "model");
        pyro_buf_addc(&value, ')');
    }
    pyro_buf_adds(&value, "; without the scratch memory of kernels");
    write_field(w, "Peak:", &value);
    pyro_buf_free(&value);
}

static void write_memory(const train_text *w)
{
    pyro_text_heading(w->buf, "\nMemory:", w->options->color);
    write_peak(w);
    add_bytes(w, "Weights:", w->total->weight_bytes, "");
    if (w->total->master_weight_bytes)
        add_bytes(w, "Master weights:", w->total->master_weight_bytes, " (float32)");
    add_bytes(w, "Gradients:", w->total->gradient_bytes, "");
    add_bytes(w, "Optimizer states:", w->total->optimizer_state_bytes, "");
    add_bytes(w, "Optimizer scratch:", w->total->optimizer_scratch_bytes,
              " (only during its step)");
    add_bytes(w, "Inputs:", w->total->input_bytes, "");
    add_bytes(w, "Saved activations:", w->total->saved_activation_bytes,
              " (kept from the forward to the backward)");
    add_bytes(w, "At the peak:", w->total->peak_activation_bytes,
              " of activations and their gradients");
}

/* The curve in a few lines: the largest value of each part of the step. */
static void write_curve(const train_text *w)
{
    enum { LINES = 16, BAR = 40 };
    size_t count, begin = 0;
    const pyro_memory_step *curve = pyro_train_curve(w->train, &count);
    size_t lines = count < LINES ? count : LINES;
    char text[PYRO_UNIT_TEXT];

    pyro_text_heading(w->buf, "\nMemory over the Step:", w->options->color);
    for (size_t line = 0; line < lines; line++) {
        size_t end = count * (line + 1) / lines, most = begin;
        for (size_t i = begin; i < end; i++)
            most = curve[i].bytes > curve[most].bytes ? i : most;
        int bar = w->total->peak_bytes > 0
                      ? (int)((double)curve[most].bytes * BAR / (double)w->total->peak_bytes)
                      : 0;
        pyro_buf_addf(w->buf, "  %-9s %9s  ", pyro_train_phase_name(curve[most].phase),
                      pyro_format_bytes(text, curve[most].bytes));
        pyro_buf_fill(w->buf, '#', (size_t)bar);
        pyro_buf_adds(w->buf, pyro_train_peak(w->train) >= begin && pyro_train_peak(w->train) < end
                                  ? " peak\n"
                                  : "\n");
        begin = end;
    }
}

static void write_alive(const train_text *w, size_t shown)
{
    static const pyro_table_column columns[] = {
        {"Alive at the peak", false, false},
        {"Name", false, true},
        {"Layer", false, true},
        {"Bytes", true, false},
        {"Share", true, false},
    };
    size_t count;
    const pyro_memory_item *items = pyro_train_alive(w->train, &count);
    char text[PYRO_UNIT_TEXT];
    pyro_table table;
    int64_t rest = 0;

    pyro_buf_addc(w->buf, '\n');
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count; i++) {
        if (i >= shown) {
            rest += items[i].bytes;
            continue;
        }
        pyro_table_cell(&table, items[i].what);
        pyro_table_cell(&table, items[i].name);
        pyro_table_cell(&table, items[i].layer);
        pyro_table_cell(&table, pyro_format_bytes(text, items[i].bytes));
        pyro_table_cell(
            &table, pyro_format_share(text, (double)items[i].bytes, (double)w->total->peak_bytes));
    }
    if (count > shown) {
        pyro_table_cellf(&table, "%zu others", count - shown);
        pyro_table_cell(&table, "");
        pyro_table_cell(&table, "");
        pyro_table_cell(&table, pyro_format_bytes(text, rest));
        pyro_table_cell(&table,
                        pyro_format_share(text, (double)rest, (double)w->total->peak_bytes));
    }
    write_table(w, &table);
}

static int64_t step_flops(const pyro_train_row *row)
{
    return row->forward.flops + row->backward.flops + row->recompute.flops + row->optimizer.flops;
}

static int by_flops(const void *left, const void *right)
{
    const pyro_train_row *a = *(const pyro_train_row *const *)left;
    const pyro_train_row *b = *(const pyro_train_row *const *)right;
    int64_t flops_a = step_flops(a), flops_b = step_flops(b);

    if (flops_a != flops_b)
        return flops_a < flops_b ? 1 : -1;
    return a < b ? -1 : a > b;
}

static void add_layer(pyro_table *table, const pyro_train_row *row)
{
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, row->name);
    pyro_table_cell(table, pyro_format_count(text, row->forward.flops));
    pyro_table_cell(table, pyro_format_count(text, row->backward.flops));
    pyro_table_cell(table, pyro_format_count(text, row->recompute.flops));
    pyro_table_cell(table, pyro_format_bytes(text, row->saved_bytes));
    pyro_table_cell(table, pyro_format_bytes(text, row->gradient_bytes));
    pyro_table_cell(table, pyro_format_bytes(text, row->state_bytes));
}

static int write_layers(const train_text *w, size_t shown, pyro_error *error)
{
    static const pyro_table_column columns[] = {
        {"Layer", false, true},  {"Forward", true, false}, {"Backward", true, false},
        {"Again", true, false},  {"Saved", true, false},   {"Gradients", true, false},
        {"States", true, false},
    };
    static const char *const dropped[] = {"Again", NULL};
    size_t count;
    const pyro_train_row *rows = pyro_train_layers(w->train, &count);
    const pyro_train_row **order = malloc((count + 1) * sizeof *order);
    char heading[80];
    pyro_table table;

    if (!order)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        order[i] = &rows[i];
    qsort(order, count, sizeof *order, by_flops);
    shown = shown < count ? shown : count;
    snprintf(heading, sizeof heading, "\nLayers (%zu of %zu, by FLOPs of the step):", shown, count);
    pyro_text_heading(w->buf, heading, w->options->color);
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < shown; i++)
        add_layer(&table, order[i]);
    if (!w->total->recompute.flops)
        pyro_table_fit(&table, dropped, 2, 0);
    write_table(w, &table);
    free(order);
    return PYRO_OK;
}

int pyro_write_train_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_report_options *options = request->options;
    const pyro_cost *cost = pyro_train_cost(request->train);
    train_text w = {buf, request->train, pyro_train_get_total(request->train), options};
    size_t shown = options->top < 0 || options->verbose ? SIZE_MAX
                   : options->top > 0                   ? (size_t)options->top
                                                        : 10;
    pyro_buf title = PYRO_BUF_INIT;
    size_t count;

    pyro_buf_adds(&title, "TRAINING STEP: ");
    pyro_text_clean(&title, pyro_model_display_name(pyro_cost_model(cost)));
    pyro_text_banner(buf, pyro_text_part(buf, &title), options->width, options->color);
    pyro_buf_free(&title);
    int status = write_summary(&w, request->error);
    if (status != PYRO_OK)
        return status;
    write_parts(&w);
    write_memory(&w);
    write_curve(&w);
    write_alive(&w, shown);
    status = write_layers(&w, shown, request->error);
    pyro_text_heading(buf, "\nCoverage:", options->color);
    pyro_write_coverage(buf, cost, options->width, options->color);
    const char *const *notes = pyro_train_notes(request->train, &count);
    if (!options->quiet)
        pyro_text_list(buf, "\nNotes:", notes, count, options->width, options->color);
    return status;
}
