/* Writes a cost as text: summary, breakdown, bottlenecks, the largest layers. */
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/text/table.h"
#include "base/text/units.h"

#include <stdio.h>

/* The destination and the options of all parts of the text. */
typedef struct text_writer {
    pyro_buf *buf;
    const pyro_cost *cost;
    const pyro_report_options *options;
} text_writer;

/* Writes "  label value" and empties the value for the next field. */
static void write_field(const text_writer *w, const char *label, pyro_buf *value)
{
    pyro_text_field(w->buf, label, value, w->options->width);
    pyro_buf_reset(value);
}

/* "3.64 G (3,638,757,864)", or the number alone where the short form is exact. */
static void add_count(pyro_buf *buf, int64_t value)
{
    char text[PYRO_UNIT_TEXT], exact[PYRO_UNIT_TEXT];

    pyro_buf_adds(buf, pyro_format_count(text, value));
    if (value >= 1000)
        pyro_buf_addf(buf, " (%s)", pyro_format_exact(exact, value));
}

static int write_origin(const text_writer *w, pyro_buf *value, pyro_error *error)
{
    pyro_model *model = pyro_cost_model(w->cost);
    int64_t file_bytes = pyro_model_file_bytes(model);
    char text[PYRO_UNIT_TEXT];
    int status;

    pyro_text_clean(value, pyro_model_name(model));
    pyro_buf_adds(value, " (");
    pyro_text_clean(value, pyro_model_source(model));
    pyro_buf_addc(value, ')');
    write_field(w, "Model:", value);
    if (file_bytes >= 0) {
        pyro_buf_adds(value, pyro_format_bytes(text, file_bytes));
        write_field(w, "File Size:", value);
    }
    status = pyro_text_inputs(value, model, error);
    write_field(w, "Inputs:", value);
    if (status == PYRO_OK)
        status = pyro_text_open_sizes(value, model, error);
    if (value->length > 0)
        write_field(w, "Open Sizes:", value);
    pyro_buf_adds(value, pyro_cost_dtype(w->cost));
    write_field(w, "Data Type:", value);
    return status;
}

static void write_work(const text_writer *w, pyro_buf *value)
{
    const pyro_cost_row *total = pyro_cost_total(w->cost);
    pyro_convention convention = pyro_cost_convention(w->cost);
    char text[PYRO_UNIT_TEXT];

    pyro_buf_addf(value, "%lld", (long long)total->operators);
    write_field(w, "Total Operators:", value);
    add_count(value, total->work.macs);
    write_field(w, "Total MACs:", value);
    add_count(value, total->work.flops);
    write_field(w, "Total FLOPs:", value);
    pyro_buf_addf(value, "convention %s: %s", pyro_convention_name(convention),
                  pyro_convention_summary(convention));
    write_field(w, "", value);
    add_count(value, total->work.params);
    pyro_buf_addf(value, ", %s", pyro_format_bytes(text, pyro_cost_param_bytes(w->cost)));
    if (pyro_cost_buffer_values(w->cost) > 0) {
        pyro_buf_addf(value, "; buffers %s",
                      pyro_format_count(text, pyro_cost_buffer_values(w->cost)));
    }
    write_field(w, "Parameters:", value);
}

static void write_traffic(const text_writer *w, pyro_buf *value)
{
    const pyro_cost_row *total = pyro_cost_total(w->cost);
    char text[PYRO_UNIT_TEXT];

    pyro_buf_addf(value, "%s moved (read and written)",
                  pyro_format_bytes(text, total->memory_bytes));
    write_field(w, "Traffic:", value);
    pyro_buf_adds(value, pyro_format_bytes(text, total->work.activation_read_bytes));
    write_field(w, "  Activations read:", value);
    pyro_buf_adds(value, pyro_format_bytes(text, total->work.weight_read_bytes));
    write_field(w, "  Weights read:", value);
    pyro_buf_adds(value, pyro_format_bytes(text, total->work.written_bytes));
    write_field(w, "  Written:", value);
    pyro_buf_addf(value, "%.1f FLOPs/byte (total FLOPs / traffic)", total->arithmetic_intensity);
    write_field(w, "Arithmetic Intensity:", value);
}

static void write_footprint(const text_writer *w, pyro_buf *value)
{
    char text[PYRO_UNIT_TEXT], tokens[PYRO_UNIT_TEXT];
    pyro_footprint held;

    pyro_cost_footprint(w->cost, &held);
    pyro_buf_addf(value, "%s held (weights%s, no activations)",
                  pyro_format_bytes(text, held.total_bytes),
                  held.cache_bytes >= 0 ? " and KV cache" : "");
    write_field(w, "Footprint:", value);
    if (held.cache_bytes < 0)
        return;
    pyro_buf_adds(value, pyro_format_bytes(text, held.weight_bytes));
    write_field(w, "  Weights:", value);
    pyro_buf_addf(value, "%s (%lld sequence%s of %s tokens)",
                  pyro_format_bytes(text, held.cache_bytes), (long long)held.sequences,
                  held.sequences == 1 ? "" : "s", pyro_format_exact(tokens, held.cache_tokens));
    write_field(w, "  KV cache:", value);
}

/* Writes nothing when the model is not a decoding step. */
static void write_decode(const text_writer *w, pyro_buf *value)
{
    char text[PYRO_UNIT_TEXT], each[PYRO_UNIT_TEXT];
    pyro_decode decode;

    if (!pyro_cost_decode(w->cost, &decode))
        return;
    pyro_buf_addf(value, "1 token of %lld sequence%s over %lld past tokens",
                  (long long)decode.sequences, decode.sequences == 1 ? "" : "s",
                  (long long)decode.past_tokens);
    write_field(w, "Decoding Step:", value);
    pyro_buf_addf(value, "%s read per token (%s for each past token)",
                  pyro_format_bytes(text, decode.cache_read_bytes_per_token),
                  pyro_format_bytes(each, decode.cache_bytes_per_past_token));
    write_field(w, "KV Cache:", value);
}

static int write_summary(const text_writer *w, pyro_error *error)
{
    pyro_buf value = PYRO_BUF_INIT;
    int status;

    pyro_text_heading(w->buf, "\nModel Summary:", w->options->color);
    status = write_origin(w, &value, error);
    if (status == PYRO_OK) {
        write_work(w, &value);
        write_traffic(w, &value);
        write_footprint(w, &value);
        write_decode(w, &value);
    }
    pyro_buf_free(&value);
    return status;
}

static void write_table(const text_writer *w, pyro_table *table)
{
    pyro_table_write(table, w->buf, 2, w->options->width, w->options->color);
    pyro_table_free(table);
}

/* One line of the breakdown. */
static void add_type(const text_writer *w, pyro_table *table, const pyro_cost_row *row)
{
    const pyro_cost_row *total = pyro_cost_total(w->cost);
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, row->name);
    pyro_table_cell(table,
                    pyro_format_share(text, (double)row->work.flops, (double)total->work.flops));
    pyro_table_cellf(table, "%lld", (long long)row->operators);
    pyro_table_cell(table, pyro_format_count(text, row->work.flops));
    pyro_table_cell(table, pyro_format_count(text, row->work.macs));
    pyro_table_cell(table, pyro_format_bytes(text, row->memory_bytes));
    pyro_table_cell(
        table, pyro_format_share(text, (double)row->memory_bytes, (double)total->memory_bytes));
}

/* Below a thousandth of the FLOPs and a hundredth of the bytes. */
static bool is_negligible(const text_writer *w, const pyro_cost_row *row)
{
    const pyro_cost_row *total = pyro_cost_total(w->cost);

    return (double)row->work.flops * 1000 < (double)total->work.flops &&
           (double)row->memory_bytes * 100 < (double)total->memory_bytes;
}

/* The types of operators; where they are many, the negligible ones on one line. */
static void write_breakdown(const text_writer *w)
{
    enum { MANY_TYPES = 12 };
    static const pyro_table_column columns[] = {
        {"Type", false, true},      {"FLOPs %", true, false}, {"Ops", true, false},
        {"FLOPs", true, false},     {"MACs", true, false},    {"Traffic", true, false},
        {"Traffic %", true, false},
    };
    size_t count, others = 0;
    const pyro_cost_row *rows = pyro_cost_operators(w->cost, &count);
    bool gather = !w->options->verbose && count > MANY_TYPES;
    char name[64];
    pyro_cost_row other = {.name = name};
    pyro_table table;

    pyro_text_heading(w->buf, "\nOperation Breakdown:", w->options->color);
    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count; i++) {
        if (!gather || !is_negligible(w, &rows[i])) {
            add_type(w, &table, &rows[i]);
            continue;
        }
        others++;
        other.operators += rows[i].operators;
        other.work.flops += rows[i].work.flops;
        other.work.macs += rows[i].work.macs;
        other.memory_bytes += rows[i].memory_bytes;
    }
    if (others > 0) {
        snprintf(name, sizeof name, "Other (%zu types)", others);
        add_type(w, &table, &other);
    }
    write_table(w, &table);
}

static void write_side(const text_writer *w, const char *label, pyro_row_sum sum, const char *sign)
{
    const pyro_cost_row *total = pyro_cost_total(w->cost);
    char flops[PYRO_UNIT_TEXT], memory[PYRO_UNIT_TEXT];

    pyro_buf_addf(w->buf, "  %-15s %6s of FLOPs, %6s of traffic, %zu layer%s (AI %s %g)\n", label,
                  pyro_format_share(flops, sum.flops, (double)total->work.flops),
                  pyro_format_share(memory, sum.memory_bytes, (double)total->memory_bytes),
                  sum.rows, sum.rows == 1 ? "" : "s", sign, pyro_cost_ridge(w->cost));
}

static void write_bands(const text_writer *w, const pyro_row_sum *sums)
{
    static const pyro_table_column columns[] = {
        {"AI (FLOPs/byte)", false, false}, {"Band", false, false},     {"Layers", true, false},
        {"FLOPs %", true, false},          {"Traffic %", true, false},
    };
    const pyro_cost_row *total = pyro_cost_total(w->cost);
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < PYRO_BAND_COUNT; i++) {
        pyro_table_cell(&table, pyro_bands[i].range);
        pyro_table_cell(&table, pyro_band_name(pyro_bands[i].inside));
        pyro_table_cellf(&table, "%zu", sums[i].rows);
        pyro_table_cell(&table, pyro_format_share(text, sums[i].flops, (double)total->work.flops));
        pyro_table_cell(&table,
                        pyro_format_share(text, sums[i].memory_bytes, (double)total->memory_bytes));
    }
    write_table(w, &table);
}

static void write_bottlenecks(const text_writer *w)
{
    size_t count;
    const pyro_cost_row *layers = pyro_cost_layers(w->cost, &count);
    pyro_row_sums sums = pyro_sum_rows(layers, count);
    size_t unmoved = sums.of_bound[PYRO_BOUND_NONE].rows;

    pyro_text_heading(w->buf, "\nBottleneck Analysis:", w->options->color);
    write_side(w, "Compute-bound:", sums.of_bound[PYRO_BOUND_COMPUTE], ">");
    write_side(w, "Memory-bound:", sums.of_bound[PYRO_BOUND_MEMORY], "<=");
    if (unmoved > 0) {
        pyro_buf_addf(w->buf, "  Neither:        %zu layer%s that move%s nothing\n", unmoved,
                      unmoved == 1 ? "" : "s", unmoved == 1 ? "s" : "");
    }
    pyro_buf_addc(w->buf, '\n');
    write_bands(w, sums.of_band);
}

static void write_remarks(const text_writer *w)
{
    size_t count;
    const char *const *texts = pyro_cost_notes(w->cost, &count);

    pyro_text_list(w->buf, "\nNotes:", texts, count, w->options->width, w->options->color);
    texts = pyro_cost_advice(w->cost, &count);
    pyro_text_list(w->buf, "\nAdvice:", texts, count, w->options->width, w->options->color);
}

int pyro_write_cost_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_cost *cost = request->cost;
    const pyro_report_options *options = request->options;
    text_writer w = {buf, cost, options};
    pyro_buf title = PYRO_BUF_INIT;
    int status;

    pyro_buf_adds(&title, "GRAPH PROFILE: ");
    pyro_text_clean(&title, pyro_model_display_name(pyro_cost_model(cost)));
    pyro_text_banner(buf, pyro_text_part(buf, &title), options->width, options->color);
    pyro_buf_free(&title);
    status = write_summary(&w, request->error);
    if (status != PYRO_OK)
        return status;
    write_breakdown(&w);
    write_bottlenecks(&w);
    if (options->verbose)
        pyro_write_module_tree(buf, cost, options);
    status = pyro_write_layer_table(buf, cost, options, request->error);
    pyro_text_heading(buf, "\nCoverage:", options->color);
    pyro_write_coverage(buf, cost, options->width, options->color);
    if (!options->quiet)
        write_remarks(&w);
    return status;
}
