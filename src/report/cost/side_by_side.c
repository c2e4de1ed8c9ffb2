/* Writes several models side by side: a table, JSON summaries, or one CSV record per model. */
#include "report/csv.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/text/table.h"
#include "base/text/units.h"

#include <string.h>

/* True when another model has the same name. */
static bool name_is_shared(const pyro_cost *const *costs, size_t count, size_t index)
{
    const char *name = pyro_model_name(pyro_cost_model(costs[index]));

    for (size_t i = 0; i < count; i++)
        if (i != index && strcmp(pyro_model_name(pyro_cost_model(costs[i])), name) == 0)
            return true;
    return false;
}

/* The model's name, with its position behind it where the name is shared. */
static void add_label(pyro_buf *buf, const pyro_cost *const *costs, size_t count, size_t index)
{
    pyro_text_clean(buf, pyro_model_name(pyro_cost_model(costs[index])));
    if (name_is_shared(costs, count, index))
        pyro_buf_addf(buf, " (%zu)", index + 1);
}

/* "2.25x": FLOPs as a multiple of the first model's. */
static void add_ratio(pyro_table *table, double flops, double first_flops)
{
    double ratio = first_flops > 0 ? flops / first_flops : 0;

    if (first_flops <= 0)
        pyro_table_cell(table, "-");
    else if (ratio > 0 && ratio < 0.01)
        pyro_table_cell(table, "<0.01x");
    else
        pyro_table_cellf(table, ratio < 1e4 ? "%.2fx" : "%.3gx", ratio);
}

static void add_model(pyro_table *table, const pyro_cost *const *costs, size_t count, size_t index)
{
    const pyro_cost_row *total = pyro_cost_total(costs[index]);
    pyro_buf label = PYRO_BUF_INIT;
    char text[PYRO_UNIT_TEXT];

    add_label(&label, costs, count, index);
    pyro_table_cell(table, label.data);
    table->failed = table->failed || label.failed;
    pyro_buf_free(&label);
    pyro_table_cell(table, pyro_format_count(text, total->work.params));
    pyro_table_cell(table, pyro_format_count(text, total->work.macs));
    pyro_table_cell(table, pyro_format_count(text, total->work.flops));
    add_ratio(table, (double)total->work.flops, (double)pyro_cost_total(costs[0])->work.flops);
    pyro_table_cell(table, pyro_format_bytes(text, total->memory_bytes));
    pyro_table_cellf(table, "%.1f", total->arithmetic_intensity);
    pyro_table_cell(table, pyro_bound_short(total->bound));
}

static int write_model_inputs(pyro_buf *buf, const pyro_cost *const *costs, size_t count,
                              size_t index, int width, pyro_error *error)
{
    pyro_buf label = PYRO_BUF_INIT, inputs = PYRO_BUF_INIT;
    int status;

    add_label(&label, costs, count, index);
    pyro_buf_addc(&label, ':');
    status = pyro_text_inputs(&inputs, pyro_cost_model(costs[index]), error);
    if (label.length > 21) {
        pyro_buf_addf(buf, "  %s\n", pyro_text_part(buf, &label));
        pyro_buf_reset(&label);
    }
    pyro_text_field(buf, pyro_text_part(buf, &label), &inputs, width);
    pyro_buf_free(&label);
    pyro_buf_free(&inputs);
    return status;
}

static void write_coverages(pyro_buf *buf, const pyro_cost *const *costs, size_t count,
                            const pyro_report_options *options)
{
    size_t incomplete = 0, uncounted;

    pyro_text_heading(buf, "\nCoverage:", options->color);
    for (size_t i = 0; i < count; i++) {
        pyro_cost_uncounted(costs[i], &uncounted);
        if (uncounted == 0)
            continue;
        incomplete++;
        pyro_buf_adds(buf, "  ");
        add_label(buf, costs, count, i);
        pyro_buf_adds(buf, ":\n");
        pyro_write_coverage(buf, costs[i], options->width, options->color);
    }
    if (incomplete == 0)
        pyro_buf_adds(buf, "  all operators of all models priced\n");
}

int pyro_write_side_by_side_text(pyro_buf *buf, const pyro_report_request *request)
{
    static const pyro_table_column columns[] = {
        {"Model", false, true}, {"Params", true, false}, {"MACs", true, false},
        {"FLOPs", true, false}, {"vs 1st", true, false}, {"Traffic", true, false},
        {"AI", true, false},    {"Bound", false, false},
    };
    const pyro_cost *const *costs = request->side_by_side.costs;
    size_t count = request->side_by_side.count;
    const pyro_report_options *options = request->options;
    pyro_convention convention;
    pyro_table table;
    int status = PYRO_OK;

    pyro_text_banner(buf, "MODEL COMPARISON", options->width, options->color);
    pyro_buf_addc(buf, '\n');
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count; i++)
        add_model(&table, costs, count, i);
    pyro_table_write(&table, buf, 2, options->width, options->color);
    pyro_table_free(&table);
    pyro_text_heading(buf, "\nInputs:", options->color);
    for (size_t i = 0; i < count && status == PYRO_OK; i++)
        status = write_model_inputs(buf, costs, count, i, options->width, request->error);
    write_coverages(buf, costs, count, options);
    if (!options->quiet && count > 0) {
        pyro_buf note = PYRO_BUF_INIT;
        convention = pyro_cost_convention(costs[0]);
        pyro_buf_addf(&note,
                      "Convention %s: %s. Traffic is bytes read and written; AI is FLOPs per "
                      "byte of it, compute-bound above %g.",
                      pyro_convention_name(convention), pyro_convention_summary(convention),
                      pyro_cost_ridge(costs[0]));
        pyro_buf_addc(buf, '\n');
        pyro_text_wrap(buf, pyro_text_part(buf, &note), 0, 0, options->width);
        pyro_buf_free(&note);
    }
    return status;
}

int pyro_write_side_by_side_json(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_json_writer writer;
    int status = PYRO_OK;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_key(&writer, "schema");
    pyro_json_string(&writer, "pyrometer.cost.compare/1");
    pyro_json_key(&writer, "models");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < request->side_by_side.count && status == PYRO_OK; i++) {
        pyro_json_begin_object(&writer);
        status = pyro_json_summary(&writer, request->side_by_side.costs[i], request->error);
        pyro_json_end_object(&writer);
    }
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return status;
}

/* The last two fields; empty when the model is not a decoding step. */
static void write_decode_csv(pyro_buf *buf, const pyro_cost *cost)
{
    pyro_decode decode;

    if (pyro_cost_decode(cost, &decode)) {
        pyro_csv_integer(buf, decode.past_tokens, false);
        pyro_csv_integer(buf, decode.cache_read_bytes_per_token, true);
    } else {
        pyro_csv_text(buf, "", false);
        pyro_csv_text(buf, "", true);
    }
}

int pyro_write_side_by_side_csv(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_csv_header(buf, "model,source,convention,dtype,operators,params,param_bytes,total_macs,"
                         "total_flops,total_memory,activation_read_bytes,weight_read_bytes,"
                         "written_bytes,arithmetic_intensity,bottleneck,band,coverage,past_tokens,"
                         "kv_cache_read_bytes_per_token");
    for (size_t i = 0; i < request->side_by_side.count; i++) {
        const pyro_cost *cost = request->side_by_side.costs[i];
        const pyro_cost_row *total = pyro_cost_total(cost);

        pyro_csv_text(buf, pyro_model_name(pyro_cost_model(cost)), false);
        pyro_csv_text(buf, pyro_model_source(pyro_cost_model(cost)), false);
        pyro_csv_text(buf, pyro_convention_name(pyro_cost_convention(cost)), false);
        pyro_csv_text(buf, pyro_cost_dtype(cost), false);
        pyro_csv_integer(buf, total->operators, false);
        pyro_csv_integer(buf, total->work.params, false);
        pyro_csv_integer(buf, pyro_cost_param_bytes(cost), false);
        pyro_csv_integer(buf, total->work.macs, false);
        pyro_csv_integer(buf, total->work.flops, false);
        pyro_csv_integer(buf, total->memory_bytes, false);
        pyro_csv_integer(buf, total->work.activation_read_bytes, false);
        pyro_csv_integer(buf, total->work.weight_read_bytes, false);
        pyro_csv_integer(buf, total->work.written_bytes, false);
        pyro_csv_number(buf, total->arithmetic_intensity, false);
        pyro_csv_text(buf, pyro_bound_name(total->bound), false);
        pyro_csv_text(buf, pyro_row_band(total), false);
        pyro_csv_number(buf, pyro_cost_coverage(cost), false);
        write_decode_csv(buf, cost);
    }
    return PYRO_OK;
}
