/* Writes the changes between two costs: text, JSON (pyrometer.diff/1) and CSV. */
#include "report/csv.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/text/table.h"
#include "base/text/units.h"

#include <string.h>

/* An amount that both models have. */
typedef struct diff_field {
    const char *label; /* in text */
    const char *key;   /* in JSON and CSV */
    int64_t (*get)(const pyro_cost_row *row);
    bool is_bytes;
} diff_field;

static int64_t get_flops(const pyro_cost_row *row)
{
    return row->work.flops;
}

static int64_t get_macs(const pyro_cost_row *row)
{
    return row->work.macs;
}

static int64_t get_memory(const pyro_cost_row *row)
{
    return row->memory_bytes;
}

static int64_t get_params(const pyro_cost_row *row)
{
    return row->work.params;
}

static int64_t get_operators(const pyro_cost_row *row)
{
    return row->operators;
}

static const diff_field diff_fields[] = {
    {"MACs", "macs", get_macs, false},
    {"FLOPs", "flops", get_flops, false},
    {"Traffic", "memory", get_memory, true},
    {"Parameters", "params", get_params, false},
    {"Operators", "operators", get_operators, false},
};
enum { FIELD_COUNT = sizeof diff_fields / sizeof diff_fields[0] };

static int64_t get(const diff_field *field, const pyro_cost_row *row)
{
    return row ? field->get(row) : 0;
}

/* "+12.3%", "new" where there was nothing before. */
static void add_percent(pyro_table *table, double before, double after)
{
    if (before == after)
        pyro_table_cell(table, "0%");
    else if (before == 0)
        pyro_table_cell(table, "new");
    else
        pyro_table_cellf(table, "%+.1f%%", 100 * (after - before) / before);
}

static void add_total(pyro_table *table, const diff_field *field, const pyro_cost_row *before,
                      const pyro_cost_row *after)
{
    char *(*format)(char *, int64_t) = field->is_bytes ? pyro_format_bytes : pyro_format_count;
    char *(*format_signed)(char *, int64_t) = field->is_bytes ? pyro_format_bytes_signed
                                                              : pyro_format_count_signed;
    int64_t old = field->get(before), new = field->get(after);
    char text[PYRO_UNIT_TEXT];

    pyro_table_cell(table, field->label);
    pyro_table_cell(table, format(text, old));
    pyro_table_cell(table, format(text, new));
    pyro_table_cell(table, format_signed(text, pyro_change_i64(old, new)));
    add_percent(table, (double)old, (double)new);
}

static void finish_table(pyro_table *table, pyro_buf *buf, const pyro_report_options *options)
{
    pyro_table_write(table, buf, 2, options->width, options->color);
    pyro_table_free(table);
}

static void write_totals(pyro_buf *buf, const pyro_cost *before, const pyro_cost *after,
                         const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {{"Total", false, false},
                                                {"Before", true, false},
                                                {"After", true, false},
                                                {"Change", true, false},
                                                {"", true, false}};
    const pyro_cost_row *old = pyro_cost_total(before), *new = pyro_cost_total(after);
    pyro_table table;

    pyro_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        add_total(&table, &diff_fields[i], old, new);
    pyro_table_cell(&table, "FLOPs/byte");
    pyro_table_cellf(&table, "%.1f", old->arithmetic_intensity);
    pyro_table_cellf(&table, "%.1f", new->arithmetic_intensity);
    pyro_table_cellf(&table, "%+.1f", new->arithmetic_intensity - old->arithmetic_intensity);
    add_percent(&table, old->arithmetic_intensity, new->arithmetic_intensity);
    finish_table(&table, buf, options);
}

/* The shown changes, and the space left for their names. */
typedef struct change_table {
    const pyro_layer_change *items;
    size_t count;
    size_t name_room;
    bool with_params; /* dropped first where the names need space */
} change_table;

static void fit(change_table *shown, int width)
{
    /* Widest indent, gaps and other columns. */
    enum { OTHER_COLUMNS = 53, PARAMS_COLUMN = 10 };
    size_t room = width > OTHER_COLUMNS + 10 ? (size_t)width - OTHER_COLUMNS : 10;
    size_t longest = 0;

    for (size_t i = 0; i < shown->count; i++) {
        size_t length = strlen(pyro_change_name(&shown->items[i]));
        longest = length > longest ? length : longest;
    }
    shown->with_params = longest + PARAMS_COLUMN <= room;
    shown->name_room = room;
}

static void add_change(pyro_table *table, const pyro_layer_change *change,
                       const change_table *shown)
{
    pyro_buf name = PYRO_BUF_INIT;
    const pyro_cost_row *old = change->before, *new = change->after;
    int64_t old_memory = old ? old->memory_bytes : 0;
    int64_t new_memory = new ? new->memory_bytes : 0;
    int64_t old_params = old ? old->work.params : 0;
    int64_t new_params = new ? new->work.params : 0;
    char text[PYRO_UNIT_TEXT];

    pyro_text_path(&name, pyro_change_name(change), shown->name_room);
    pyro_table_cell(table, name.data);
    table->failed = table->failed || name.failed;
    pyro_buf_free(&name);
    pyro_table_cell(table, pyro_change_kind(change));
    pyro_table_cell(table, old ? pyro_format_count(text, old->work.flops) : "-");
    pyro_table_cell(table, new ? pyro_format_count(text, new->work.flops) : "-");
    pyro_table_cell(table,
                    pyro_format_count_signed(text, pyro_change_i64(old ? old->work.flops : 0,
                                                                   new ? new->work.flops : 0)));
    pyro_table_cell(table, pyro_format_bytes_signed(text, pyro_change_i64(old_memory, new_memory)));
    if (shown->with_params)
        pyro_table_cell(table,
                        pyro_format_count_signed(text, pyro_change_i64(old_params, new_params)));
}

static void write_change_rows(pyro_buf *buf, const change_table *shown,
                              const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {
        {"Layer", false, true},  {"", false, false},      {"Before", true, false},
        {"After", true, false},  {"Change", true, false}, {"Traffic", true, false},
        {"Params", true, false},
    };
    size_t column_count = sizeof columns / sizeof columns[0];
    pyro_table table;

    pyro_buf_addf(buf, "  FLOPs before and after; change of FLOPs%s\n\n",
                  shown->with_params ? ", traffic and parameters" : " and traffic");
    pyro_table_init(&table, columns, shown->with_params ? column_count : column_count - 1);
    for (size_t i = 0; i < shown->count; i++)
        add_change(&table, &shown->items[i], shown);
    finish_table(&table, buf, options);
}

static void write_changes(pyro_buf *buf, const pyro_layer_changes *changes,
                          const pyro_report_options *options)
{
    bool all = options->verbose && options->top == 0;
    change_table shown = {.items = changes->items};
    pyro_buf heading = PYRO_BUF_INIT;

    if (changes->count == 0) {
        pyro_buf_addf(buf, "\nNo layer changed: all %zu are identical.\n", changes->identical);
        return;
    }
    shown.count = all ? changes->count : pyro_rows_shown(options, changes->count);
    fit(&shown, options->width);
    pyro_buf_addf(&heading, "\nLayers: %zu changed, %zu added, %zu removed, %zu identical",
                  changes->changed, changes->added, changes->removed, changes->identical);
    if (shown.count < changes->count)
        pyro_buf_addf(&heading, " (top %zu of %zu)", shown.count, changes->count);
    pyro_buf_addc(&heading, ':');
    pyro_text_heading(buf, pyro_text_part(buf, &heading), options->color);
    pyro_buf_free(&heading);
    write_change_rows(buf, &shown, options);
    if (shown.count < changes->count && !options->quiet)
        pyro_buf_addf(buf, "  and %zu more; --top 0 shows all\n", changes->count - shown.count);
}

static void write_incomplete(pyro_buf *buf, const pyro_cost *cost, const char *label,
                             const pyro_report_options *options)
{
    size_t count;

    pyro_cost_uncounted(cost, &count);
    if (count > 0) {
        pyro_text_heading(buf, label, options->color);
        pyro_write_coverage(buf, cost, options->width, options->color);
    }
}

int pyro_write_diff_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_cost *before = request->diff.before, *after = request->diff.after;
    const pyro_report_options *options = request->options;
    pyro_convention convention = pyro_cost_convention(after);
    pyro_buf line = PYRO_BUF_INIT;

    pyro_buf_adds(&line, "GRAPH DIFF: ");
    pyro_text_clean(&line, pyro_model_display_name(pyro_cost_model(before)));
    pyro_buf_adds(&line, " -> ");
    pyro_text_clean(&line, pyro_model_display_name(pyro_cost_model(after)));
    pyro_text_banner(buf, pyro_text_part(buf, &line), options->width, options->color);
    pyro_buf_addc(buf, '\n');
    write_totals(buf, before, after, options);
    write_changes(buf, request->diff.changes, options);
    write_incomplete(buf, before, "\nCoverage before:", options);
    write_incomplete(buf, after, "\nCoverage after:", options);
    if (!options->quiet) {
        pyro_buf_reset(&line);
        pyro_buf_addf(&line, "Convention %s: %s.", pyro_convention_name(convention),
                      pyro_convention_summary(convention));
        pyro_buf_addc(buf, '\n');
        pyro_text_wrap(buf, pyro_text_part(buf, &line), 0, 0, options->width);
    }
    pyro_buf_free(&line);
    return PYRO_OK;
}

static void key_value(pyro_json_writer *writer, const char *key, const char *suffix, int64_t value)
{
    char name[64];
    size_t length = strlen(key);

    memcpy(name, key, length);
    strcpy(name + length, suffix);
    pyro_json_key(writer, name);
    pyro_json_integer(writer, value);
}

/* "flops_before", "flops_after", "flops_change" and so on for every field. */
static void json_fields(pyro_json_writer *writer, const pyro_cost_row *before,
                        const pyro_cost_row *after)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const diff_field *field = &diff_fields[i];
        int64_t old = get(field, before), new = get(field, after);

        key_value(writer, field->key, "_before", old);
        key_value(writer, field->key, "_after", new);
        key_value(writer, field->key, "_change", pyro_change_i64(old, new));
    }
}

static void json_layer(pyro_json_writer *writer, const pyro_layer_change *change)
{
    pyro_json_begin_object_inline(writer);
    pyro_json_key(writer, "name");
    pyro_json_string(writer, pyro_change_name(change));
    pyro_json_key(writer, "change");
    pyro_json_string(writer, pyro_change_kind(change));
    pyro_json_key(writer, "class_before");
    pyro_json_string(writer, change->before ? change->before->class_name : NULL);
    pyro_json_key(writer, "class_after");
    pyro_json_string(writer, change->after ? change->after->class_name : NULL);
    json_fields(writer, change->before, change->after);
    pyro_json_end_object(writer);
}

static int json_model(pyro_json_writer *writer, const char *key, const pyro_cost *cost,
                      pyro_error *error)
{
    int status;

    pyro_json_key(writer, key);
    pyro_json_begin_object(writer);
    status = pyro_json_summary(writer, cost, error);
    pyro_json_end_object(writer);
    return status;
}

int pyro_write_diff_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_cost *before = request->diff.before, *after = request->diff.after;
    const pyro_layer_changes *changes = request->diff.changes;
    pyro_json_writer writer;
    int status;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_key(&writer, "schema");
    pyro_json_string(&writer, "pyrometer.diff/1");
    status = json_model(&writer, "before", before, request->error);
    if (status == PYRO_OK)
        status = json_model(&writer, "after", after, request->error);
    pyro_json_key(&writer, "total");
    pyro_json_begin_object_inline(&writer);
    json_fields(&writer, pyro_cost_total(before), pyro_cost_total(after));
    pyro_json_end_object(&writer);
    pyro_json_key(&writer, "layer_counts");
    pyro_json_begin_object_inline(&writer);
    key_value(&writer, "changed", "", (int64_t)changes->changed);
    key_value(&writer, "added", "", (int64_t)changes->added);
    key_value(&writer, "removed", "", (int64_t)changes->removed);
    key_value(&writer, "identical", "", (int64_t)changes->identical);
    pyro_json_end_object(&writer);
    pyro_json_key(&writer, "layers");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < changes->count; i++)
        json_layer(&writer, &changes->items[i]);
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return status;
}

int pyro_write_diff_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_layer_changes *changes = request->diff.changes;

    pyro_buf_adds(buf, "name,change,class_before,class_after");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *key = diff_fields[i].key;
        pyro_buf_addf(buf, ",%s_before,%s_after,%s_change", key, key, key);
    }
    pyro_buf_addc(buf, '\n');
    for (size_t i = 0; i < changes->count; i++) {
        const pyro_layer_change *change = &changes->items[i];

        pyro_csv_text(buf, pyro_change_name(change), false);
        pyro_csv_text(buf, pyro_change_kind(change), false);
        pyro_csv_text(buf, change->before ? change->before->class_name : "", false);
        pyro_csv_text(buf, change->after ? change->after->class_name : "", false);
        for (size_t j = 0; j < FIELD_COUNT; j++) {
            int64_t old = get(&diff_fields[j], change->before);
            int64_t new = get(&diff_fields[j], change->after);

            pyro_csv_integer(buf, old, false);
            pyro_csv_integer(buf, new, false);
            pyro_csv_integer(buf, pyro_change_i64(old, new), j + 1 == FIELD_COUNT);
        }
    }
    return PYRO_OK;
}
