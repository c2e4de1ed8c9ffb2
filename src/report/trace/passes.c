/* Writes layers over several passes as text, JSON and CSV. */
#include "report/csv.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/writers.h"

#include "base/error.h"
#include "base/text/table.h"
#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

static bool has_changed(const pyro_pass_row *row)
{
    return row->shape_sets > 1 || row->op_sets > 1;
}

static const char *change_of(const pyro_pass_row *row)
{
    return row->op_sets > 1 ? (row->shape_sets > 1 ? "ops, shapes" : "ops")
                            : (row->shape_sets > 1 ? "shapes" : "");
}

static int by_median(const void *left, const void *right)
{
    const pyro_pass_row *const *a = left, *const *b = right;
    if ((*a)->median_ns != (*b)->median_ns)
        return (*a)->median_ns > (*b)->median_ns ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static void add_row(pyro_table *table, const pyro_pass_row *row)
{
    char text[PYRO_UNIT_TEXT];
    pyro_buf path = PYRO_BUF_INIT;
    pyro_text_clean(&path, row->path[0] ? row->path : "(model)");
    pyro_table_cell(table, path.data);
    pyro_buf_free(&path);
    pyro_table_cell(table, pyro_format_exact(text, row->passes));
    pyro_table_cell(table, pyro_format_exact(text, row->calls));
    pyro_table_cell(table, pyro_format_duration(text, row->median_ns));
    pyro_table_cell(table, row->p95_ns < 0 ? "-" : pyro_format_duration(text, row->p95_ns));
    pyro_table_cell(table, pyro_format_duration(text, row->max_ns));
    pyro_table_cell(table, change_of(row));
    pyro_buf_reset(&path);
    pyro_text_clean(&path, row->class_name);
    pyro_table_cell(table, path.data);
    pyro_buf_free(&path);
}

static void write_table(pyro_buf *buf, const pyro_pass_row **rows, size_t shown,
                        const pyro_report_options *options)
{
    static const pyro_table_column columns[] = {{"Layer", false, true},    {"Passes", true, false},
                                                {"Calls", true, false},    {"Median", true, false},
                                                {"p95", true, false},      {"Max", true, false},
                                                {"Changed", false, false}, {"Class", false, true}};
    pyro_table table;
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        add_row(&table, rows[i]);
    buf->failed |= table.failed;
    pyro_table_write(&table, buf, 2, options->width ? options->width : PYRO_TEXT_WIDTH,
                     options->color);
    pyro_table_free(&table);
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash && slash[1] ? slash + 1 : file;
}

static void write_notes(pyro_buf *buf, const pyro_pass_summary *summary,
                        const pyro_report_options *options)
{
    int width = options->width ? options->width : PYRO_TEXT_WIDTH;
    size_t changed = 0;
    pyro_buf note = PYRO_BUF_INIT;
    for (size_t i = 0; i < summary->row_count; i++) {
        const pyro_pass_row *row = &summary->rows[i];
        if (!has_changed(row))
            continue;
        if (changed++ == 0)
            pyro_text_heading(buf, "\nChanged between passes:", options->color);
        if (changed > 10)
            continue;
        pyro_buf_reset(&note);
        pyro_buf_adds(&note, "- ");
        pyro_text_clean(&note, row->path[0] ? row->path : "(model)");
        if (row->op_sets > 1)
            pyro_buf_addf(&note, ": %lld different lists of ops", (long long)row->op_sets);
        if (row->shape_sets > 1)
            pyro_buf_addf(&note, "%s %lld different sets of shapes", row->op_sets > 1 ? "," : ":",
                          (long long)row->shape_sets);
        pyro_buf_adds(&note, ", first in ");
        pyro_text_clean(&note, base_name(row->changed_in));
        pyro_text_wrap(buf, pyro_text_part(buf, &note), 2, 4, width);
    }
    if (changed > 10)
        pyro_buf_addf(buf, "  - and %zu more\n", changed - 10);
    pyro_buf_free(&note);
    if (summary->passes_without_ops)
        pyro_buf_addf(
            buf, "\nThe ops of %zu pass%s could not be recorded: %s not compared with others.\n",
            summary->passes_without_ops, summary->passes_without_ops == 1 ? "" : "es",
            summary->passes_without_ops == 1 ? "it is" : "they are");
    if (summary->file_count < PYRO_PASSES_FOR_P95)
        pyro_buf_addf(buf, "\np95 needs %d passes; here %s %zu.\n", PYRO_PASSES_FOR_P95,
                      summary->file_count == 1 ? "is" : "are", summary->file_count);
}

int pyro_write_passes_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_pass_summary *summary = request->passes;
    const pyro_report_options *options = request->options;
    const pyro_pass_row **rows = malloc((summary->row_count + 1) * sizeof *rows);
    pyro_buf title = PYRO_BUF_INIT;
    if (!rows)
        return pyro_fail_memory(request->error);
    for (size_t i = 0; i < summary->row_count; i++)
        rows[i] = &summary->rows[i];
    qsort(rows, summary->row_count, sizeof *rows, by_median);
    size_t shown = pyro_rows_shown(options, summary->row_count);
    pyro_buf_addf(&title, "%zu PASSES: ", summary->file_count);
    pyro_text_clean(&title, base_name(summary->files[0]));
    if (summary->file_count > 1) {
        pyro_buf_adds(&title, " to ");
        pyro_text_clean(&title, base_name(summary->files[summary->file_count - 1]));
    }
    pyro_text_banner(buf, pyro_text_part(buf, &title), options->width, options->color);
    pyro_buf_free(&title);
    pyro_buf_reset(&title);
    if (shown < summary->row_count)
        pyro_buf_addf(&title, "\nLayers (%s time per pass, forward; top %zu of %zu):",
                      summary->on_device ? "device" : "host", shown, summary->row_count);
    else
        pyro_buf_addf(&title, "\nLayers (%s time per pass, forward):",
                      summary->on_device ? "device" : "host");
    pyro_text_heading(buf, pyro_text_part(buf, &title), options->color);
    pyro_buf_free(&title);
    write_table(buf, rows, shown, options);
    if (!options->quiet)
        write_notes(buf, summary, options);
    free(rows);
    return PYRO_OK;
}

static void write_json_row(pyro_json_writer *json, const pyro_pass_row *row)
{
    pyro_json_begin_object_inline(json);
    pyro_json_member_string(json, "path", row->path);
    pyro_json_member_string(json, "class", row->class_name);
    pyro_json_member_integer(json, "passes", row->passes);
    pyro_json_member_integer(json, "calls", row->calls);
    pyro_json_member_integer(json, "total_ns", row->total_ns);
    pyro_json_member_integer(json, "median_ns", row->median_ns);
    pyro_json_member_amount(json, "p95_ns", row->p95_ns);
    pyro_json_member_integer(json, "min_ns", row->min_ns);
    pyro_json_member_integer(json, "max_ns", row->max_ns);
    pyro_json_member_string(json, "shapes", row->shapes);
    pyro_json_member_integer(json, "shape_sets", row->shape_sets);
    pyro_json_member_integer(json, "op_sets", row->op_sets);
    pyro_json_member_boolean(json, "changed", has_changed(row));
    pyro_json_member_string(json, "changed_in", row->changed_in);
    pyro_json_end_object(json);
}

int pyro_write_passes_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_pass_summary *summary = request->passes;
    pyro_json_writer json;
    pyro_json_writer_init(&json, buf, 2);
    pyro_json_begin_object(&json);
    pyro_json_member_string(&json, "schema", "pyrometer.passes/1");
    pyro_json_member_strings(&json, "files", summary->files, summary->file_count);
    pyro_json_member_integer(&json, "passes", (int64_t)summary->file_count);
    pyro_json_member_integer(&json, "passes_without_ops", (int64_t)summary->passes_without_ops);
    pyro_json_member_string(&json, "time", summary->on_device ? "device" : "host");
    pyro_json_member_integer(&json, "passes_for_p95", PYRO_PASSES_FOR_P95);
    pyro_json_key(&json, "layers");
    pyro_json_begin_array(&json);
    for (size_t i = 0; i < summary->row_count; i++)
        write_json_row(&json, &summary->rows[i]);
    pyro_json_end_array(&json);
    pyro_json_end_object(&json);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_passes_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_pass_summary *summary = request->passes;
    pyro_csv_header(buf, "path,class,passes,calls,total_ns,median_ns,p95_ns,min_ns,max_ns,"
                         "shapes,shape_sets,op_sets,changed_in");
    for (size_t i = 0; i < summary->row_count; i++) {
        const pyro_pass_row *row = &summary->rows[i];
        pyro_csv_text(buf, row->path, false);
        pyro_csv_text(buf, row->class_name, false);
        pyro_csv_integer(buf, row->passes, false);
        pyro_csv_integer(buf, row->calls, false);
        pyro_csv_integer(buf, row->total_ns, false);
        pyro_csv_integer(buf, row->median_ns, false);
        if (row->p95_ns < 0)
            pyro_csv_text(buf, "", false);
        else
            pyro_csv_integer(buf, row->p95_ns, false);
        pyro_csv_integer(buf, row->min_ns, false);
        pyro_csv_integer(buf, row->max_ns, false);
        pyro_csv_text(buf, row->shapes, false);
        pyro_csv_integer(buf, row->shape_sets, false);
        pyro_csv_integer(buf, row->op_sets, false);
        pyro_csv_text(buf, row->changed_in, true);
    }
    return PYRO_OK;
}
