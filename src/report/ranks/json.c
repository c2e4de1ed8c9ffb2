/*
 * Writes the report about many ranks as JSON, schema pyrometer.ranks/1 (docs/reference/ranks.md),
 * or one of its tables as CSV.
 */
#include "report/writers.h"

#include "base/error.h"

#define COLUMN(row, member, kind, optional) {#member, kind, offsetof(row, member), optional}
#define TEXT(member) COLUMN(ROW, member, PYRO_COLUMN_TEXT, false)
#define INTEGER(member) COLUMN(ROW, member, PYRO_COLUMN_INTEGER, false)
#define OPTIONAL(member) COLUMN(ROW, member, PYRO_COLUMN_INTEGER, true)
#define NUMBER(member) COLUMN(ROW, member, PYRO_COLUMN_NUMBER, false)
#define OPTIONAL_NUMBER(member) COLUMN(ROW, member, PYRO_COLUMN_NUMBER, true)

#define ROW pyro_rank_row
static const pyro_trace_column rank_columns[] = {
    OPTIONAL(rank),
    TEXT(file),
    TEXT(device),
    INTEGER(files),
    INTEGER(steps),
    INTEGER(step_ns),
    INTEGER(step_min_ns),
    INTEGER(step_max_ns),
    INTEGER(compute_ns),
    INTEGER(communication_ns),
    INTEGER(communication_exposed_ns),
    INTEGER(idle_ns),
    INTEGER(data_loading_ns),
    OPTIONAL(memory_peak_bytes),
    OPTIONAL_NUMBER(flops_per_s),
    INTEGER(collectives),
    INTEGER(matched_collectives),
    INTEGER(late_ns),
    INTEGER(late_total_ns),
    INTEGER(late_collectives),
    INTEGER(wait_ns),
    INTEGER(clock_offset_ns),
    OPTIONAL(clock_residual_ns),
    NUMBER(clock_drift_ppm),
    INTEGER(warnings),
    COLUMN(ROW, straggler, PYRO_COLUMN_BOOLEAN, false),
};
#undef ROW

#define ROW pyro_rank_step_row
static const pyro_trace_column step_columns[] = {
    OPTIONAL(number),   INTEGER(ranks),      INTEGER(min_ns),
    INTEGER(median_ns), INTEGER(max_ns),     OPTIONAL(slowest_rank),
    INTEGER(skew_ns),   OPTIONAL(last_rank), INTEGER(late_ns),
};
#undef ROW

#define ROW pyro_rank_cell_row
static const pyro_trace_column cell_columns[] = {
    OPTIONAL(rank),
    OPTIONAL(number),
    INTEGER(step_ns),
    INTEGER(compute_ns),
    INTEGER(communication_exposed_ns),
    INTEGER(idle_ns),
    INTEGER(data_loading_ns),
    INTEGER(late_ns),
    INTEGER(wait_ns),
};
#undef ROW

#define ROW pyro_rank_group_row
static const pyro_trace_column group_columns[] = {
    TEXT(group),
    TEXT(kind),
    OPTIONAL(group_size),
    INTEGER(ranks),
    INTEGER(calls),
    OPTIONAL(bytes),
    NUMBER(calls_per_step),
    INTEGER(time_ns),
    INTEGER(exposed_ns),
    NUMBER(exposed_share),
    INTEGER(wait_ns),
    INTEGER(matched),
    OPTIONAL(arrival_skew_ns),
    OPTIONAL(last_rank),
    NUMBER(last_share),
    OPTIONAL_NUMBER(bus_gb_per_s),
};
#undef ROW

#define ROW pyro_straggler_row
static const pyro_trace_column straggler_columns[] = {
    OPTIONAL(rank),
    INTEGER(late_ns),
    NUMBER(late_share),
    INTEGER(late_steps),
    INTEGER(steps),
    TEXT(layer),
    {"class", PYRO_COLUMN_TEXT, offsetof(ROW, class_name), false},
    COLUMN(ROW, phase, PYRO_COLUMN_PHASE, false),
    TEXT(op),
    TEXT(where),
    INTEGER(layer_ns),
    INTEGER(others_ns),
    INTEGER(excess_ns),
    NUMBER(explained),
};
#undef ROW

#define TABLE(name, columns, row, counted) \
    {#name, \
     columns, \
     sizeof columns / sizeof *columns, \
     sizeof(row), \
     offsetof(pyro_ranks, name), \
     offsetof(pyro_ranks, counted)}
/* In the order of pyro_ranks_view, which starts with the overview; then those of JSON alone. */
static const pyro_trace_table tables[] = {
    TABLE(ranks, rank_columns, pyro_rank_row, rank_count),
    TABLE(steps, step_columns, pyro_rank_step_row, step_count),
    TABLE(groups, group_columns, pyro_rank_group_row, group_count),
    TABLE(stragglers, straggler_columns, pyro_straggler_row, straggler_count),
    TABLE(cells, cell_columns, pyro_rank_cell_row, cell_count),
};
#define TABLE_COUNT (sizeof tables / sizeof *tables)

static const char *rows_of(const pyro_trace_table *table, const pyro_ranks *ranks, size_t *count)
{
    *count = *(const size_t *)((const char *)ranks + table->count_offset);
    return *(const char *const *)((const char *)ranks + table->rows_offset);
}

int pyro_write_ranks_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_ranks *ranks = request->ranks.ranks;
    pyro_json_writer json;
    pyro_json_writer_init(&json, buf, 2);
    pyro_json_begin_object(&json);
    pyro_json_member_string(&json, "schema", "pyrometer.ranks/1");
    pyro_json_member_amount(&json, "world_size", ranks->world_size);
    pyro_json_member_integer(&json, "missing", ranks->missing);
    pyro_json_member_integer(&json, "step_ns", ranks->step_ns);
    pyro_json_member_integer(&json, "step_skew_ns", ranks->step_skew_ns);
    pyro_json_member_string(&json, "time", ranks->on_device ? "device" : "host");
    pyro_json_member_integer(&json, "collectives", ranks->collectives);
    pyro_json_member_integer(&json, "matched_collectives", ranks->matched_collectives);
    pyro_json_member_integer(&json, "exact_collectives", ranks->exact_collectives);
    pyro_json_member_amount(&json, "host_count", ranks->host_count);
    pyro_json_member_number(&json, "least_late_share", ranks->least_late_share);
    pyro_json_member_amount(&json, "clock_residual_ns", ranks->clock_residual_ns);
    pyro_json_member_strings(&json, "notes", ranks->notes, ranks->note_count);
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        size_t count;
        const char *rows = rows_of(&tables[t], ranks, &count);
        pyro_json_key(&json, tables[t].name);
        pyro_json_begin_array(&json);
        for (size_t i = 0; i < count; i++) {
            pyro_json_begin_object_inline(&json);
            pyro_write_json_row(&json, &tables[t], rows + i * tables[t].row_size);
            pyro_json_end_object(&json);
        }
        pyro_json_end_array(&json);
    }
    pyro_json_end_object(&json);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_ranks_csv(pyro_buf *buf, const pyro_report_request *request)
{
    pyro_ranks_view view = request->ranks.view;
    const pyro_trace_table *table = &tables[view == PYRO_RANKS_OVERVIEW ? 0 : view - 1];
    size_t count;
    const char *rows = rows_of(table, request->ranks.ranks, &count);
    pyro_write_csv_header(buf, table, false);
    for (size_t i = 0; i < count; i++)
        pyro_write_csv_row(buf, table, rows + i * table->row_size);
    return PYRO_OK;
}
