/*
 * Writes a trace as JSON, schema pyrometer.trace/1 (docs/reference/trace.md). Unknown values are
 * null.
 */
#include "report/trace/rows.h"
#include "report/writers.h"

#include "trace/trace.h"
#include <pyrometer/recording.h>

#include <string.h>

static void write_value(pyro_json_writer *writer, const pyro_trace_column *column, const void *row)
{
    int64_t integer;
    double number;

    pyro_json_key(writer, column->name);
    switch (column->kind) {
    case PYRO_COLUMN_TEXT:
    case PYRO_COLUMN_PHASE:
    case PYRO_COLUMN_GAP_KIND:
    case PYRO_COLUMN_SEVERITY:
    case PYRO_COLUMN_CAUSE:
        pyro_json_string(writer, pyro_column_text(column, row));
        return;
    case PYRO_COLUMN_NUMBER:
        if (pyro_column_number(column, row, &number))
            pyro_json_number(writer, number);
        else
            pyro_json_null(writer);
        return;
    case PYRO_COLUMN_BOOLEAN:
        pyro_json_boolean(writer, pyro_column_integer(column, row, &integer) && integer != 0);
        return;
    default:
        if (pyro_column_integer(column, row, &integer))
            pyro_json_integer(writer, integer);
        else
            pyro_json_null(writer);
    }
}

void pyro_write_json_row(pyro_json_writer *writer, const pyro_trace_table *table, const void *row)
{
    for (size_t i = 0; i < table->column_count; i++)
        write_value(writer, &table->columns[i], row);
}

static void write_table(pyro_json_writer *writer, const pyro_trace_table *table,
                        const pyro_analysis *analysis, size_t max_rows)
{
    size_t count;
    const char *rows = pyro_trace_table_rows(table, analysis, &count);

    count = max_rows > 0 && count > max_rows ? max_rows : count;
    pyro_json_key(writer, table->name);
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_write_json_row(writer, table, rows + i * table->row_size);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_curve(pyro_json_writer *writer, const pyro_memory_device *device)
{
    pyro_json_key(writer, "curve");
    pyro_json_begin_array_inline(writer);
    for (size_t i = 0; i < device->curve_count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_integer(writer, "time_ns", device->curve[i].time_ns);
        pyro_json_member_amount(writer, "allocated_bytes", device->curve[i].allocated_bytes);
        pyro_json_member_amount(writer, "reserved_bytes", device->curve[i].reserved_bytes);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_holders(pyro_json_writer *writer, const pyro_memory_device *device)
{
    pyro_json_key(writer, "holders");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < device->holder_count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "layer", device->holders[i].layer);
        pyro_json_member_string(writer, "op", device->holders[i].op);
        pyro_json_member_integer(writer, "bytes", device->holders[i].bytes);
        pyro_json_member_integer(writer, "blocks", device->holders[i].blocks);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_memory(pyro_json_writer *writer, const pyro_analysis *analysis)
{
    const pyro_memory_device *main = pyro_main_memory(analysis);
    const pyro_trace_table *table = pyro_trace_table_find("memory");

    pyro_json_key(writer, "memory");
    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "device", main ? main->device : NULL);
    pyro_json_member_amount(writer, "peak_bytes", main ? main->peak_bytes : -1);
    pyro_json_member_amount(writer, "peak_reserved_bytes", main ? main->peak_reserved_bytes : -1);
    pyro_json_key(writer, "devices");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < analysis->memory_count; i++) {
        pyro_json_begin_object(writer);
        pyro_write_json_row(writer, table, &analysis->memory[i]);
        write_holders(writer, &analysis->memory[i]);
        write_curve(writer, &analysis->memory[i]);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_json_end_object(writer);
}

static void write_launch(pyro_json_writer *writer, const pyro_launch_summary *launch)
{
    pyro_json_key(writer, "launch");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "launches", launch->launches);
    pyro_json_member_integer(writer, "launch_total_ns", launch->launch_total_ns);
    pyro_json_member_integer(writer, "launch_median_ns", launch->launch_median_ns);
    pyro_json_member_integer(writer, "graph_launches", launch->graph_launches);
    pyro_json_member_integer(writer, "graph_launch_total_ns", launch->graph_launch_total_ns);
    pyro_json_member_integer(writer, "executed_ns", launch->executed_ns);
    pyro_json_member_integer(writer, "delay_median_ns", launch->delay_median_ns);
    pyro_json_member_integer(writer, "delay_p95_ns", launch->delay_p95_ns);
    pyro_json_member_integer(writer, "short_kernels", launch->short_kernels);
    pyro_json_member_integer(writer, "short_kernel_total_ns", launch->short_kernel_total_ns);
    pyro_json_member_integer(writer, "slow_launches", launch->slow_launches);
    pyro_json_member_integer(writer, "late_kernels", launch->late_kernels);
    pyro_json_member_integer(writer, "max_queue", launch->max_queue);
    pyro_json_member_number(writer, "mean_queue", launch->mean_queue);
    pyro_json_end_object(writer);
}

static void write_data_loading(pyro_json_writer *writer, const pyro_data_loading *loading)
{
    pyro_json_key(writer, "data_loading");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "calls", loading->calls);
    pyro_json_member_integer(writer, "total_ns", loading->total_ns);
    pyro_json_member_integer(writer, "uncovered_ns", loading->uncovered_ns);
    pyro_json_member_number(writer, "share_of_steps", loading->share_of_steps);
    pyro_json_end_object(writer);
}

static void write_startup(pyro_json_writer *writer, const pyro_startup *startup)
{
    pyro_json_key(writer, "startup");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "span_ns", startup->span_ns);
    pyro_json_member_integer(writer, "import_ns", startup->import_ns);
    pyro_json_member_integer(writer, "compile_ns", startup->compile_ns);
    pyro_json_member_integer(writer, "runtime_ns", startup->runtime_ns);
    pyro_json_member_integer(writer, "loading_ns", startup->loading_ns);
    pyro_json_member_integer(writer, "ops_ns", startup->ops_ns);
    pyro_json_member_integer(writer, "other_ns", startup->other_ns);
    pyro_json_member_integer(writer, "first_step_ns", startup->first_step_ns);
    pyro_json_end_object(writer);
}

static void write_profiler_cost(pyro_json_writer *writer, const pyro_profiler_cost *cost)
{
    pyro_json_key(writer, "profiler_cost");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "time_ns", cost->time_ns);
    pyro_json_member_number(writer, "share", cost->share);
    pyro_json_member_integer(writer, "step_ns", cost->step_ns);
    pyro_json_member_integer(writer, "step_without_ns", cost->step_without_ns);
    pyro_json_member_integer(writer, "step_without_low_ns", cost->step_without_low_ns);
    pyro_json_member_integer(writer, "step_without_high_ns", cost->step_without_high_ns);
    pyro_json_member_integer(writer, "op_ns", cost->op_ns);
    pyro_json_member_integer(writer, "memory_ns", cost->memory_ns);
    pyro_json_member_integer(writer, "frame_ns", cost->frame_ns);
    pyro_json_member_integer(writer, "builtin_ns", cost->builtin_ns);
    pyro_json_member_integer(writer, "call_ns", cost->call_ns);
    pyro_json_member_string(writer, "source", pyro_cost_source_name(cost->source));
    pyro_json_end_object(writer);
}

static void write_least_time(pyro_json_writer *writer, const pyro_least_time *least)
{
    pyro_json_key(writer, "least_time");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "known_ns", least->known_ns);
    pyro_json_member_integer(writer, "least_ns", least->least_ns);
    pyro_json_member_integer(writer, "lost_ns", least->lost_ns);
    pyro_json_end_object(writer);
}

static void write_known(pyro_json_writer *writer, double number)
{
    if (number < 0)
        pyro_json_null(writer);
    else
        pyro_json_number(writer, number);
}

static void write_serving_summary(pyro_json_writer *writer, const pyro_serving_summary *summary)
{
    pyro_json_key(writer, "serving_summary");
    pyro_json_begin_object(writer);
    pyro_json_member_string(writer, "engine",
                            summary->engine && summary->engine[0] ? summary->engine : NULL);
    pyro_json_member_amount(writer, "heads", summary->heads);
    pyro_json_member_amount(writer, "kv_heads", summary->kv_heads);
    pyro_json_member_amount(writer, "head_size", summary->head_size);
    pyro_json_member_amount(writer, "layers", summary->layers);
    pyro_json_member_string(writer, "shapes_from",
                            summary->shapes_from && summary->shapes_from[0] ? summary->shapes_from
                                                                            : NULL);
    pyro_json_member_integer(writer, "steady_steps", summary->steady_steps);
    pyro_json_member_amount(writer, "steady_first", summary->steady_first);
    pyro_json_member_amount(writer, "steady_last", summary->steady_last);
    pyro_json_key(writer, "steady_tokens_per_s");
    write_known(writer, summary->steady_tokens_per_s);
    pyro_json_key(writer, "steady_generation_tokens_per_s");
    write_known(writer, summary->steady_generation_tokens_per_s);
    pyro_json_end_object(writer);
}

static void write_known_member(pyro_json_writer *writer, const char *name, double number)
{
    pyro_json_key(writer, name);
    write_known(writer, number);
}

static void write_power_summary(pyro_json_writer *writer, const pyro_power_summary *summary)
{
    pyro_json_key(writer, "power_summary");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "devices", summary->devices);
    pyro_json_member_integer(writer, "samples", summary->samples);
    pyro_json_member_string(writer, "sensor",
                            summary->sensor && summary->sensor[0] ? summary->sensor : NULL);
    pyro_json_member_amount(writer, "interval_ns", summary->interval_ns);
    pyro_json_member_amount(writer, "update_ns", summary->update_ns);
    write_known_member(writer, "mean_power_w", summary->mean_power_w);
    write_known_member(writer, "max_power_w", summary->max_power_w);
    write_known_member(writer, "energy_j", summary->energy_j);
    write_known_member(writer, "energy_error_j", summary->energy_error_j);
    write_known_member(writer, "energy_per_step_j", summary->energy_per_step_j);
    write_known_member(writer, "joules_per_token", summary->joules_per_token);
    write_known_member(writer, "min_clock_mhz", summary->min_clock_mhz);
    write_known_member(writer, "max_clock_mhz", summary->max_clock_mhz);
    write_known_member(writer, "heat_share", summary->heat_share);
    write_known_member(writer, "throttled_share", summary->throttled_share);
    write_known_member(writer, "power_cap_share", summary->power_cap_share);
    pyro_json_member_integer(writer, "throttled_steps", summary->throttled_steps);
    pyro_json_end_object(writer);
}

static void write_unattributed(pyro_json_writer *writer, const pyro_unattributed *unattributed)
{
    pyro_json_key(writer, "unattributed");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "no_launch_ns", unattributed->no_launch_ns);
    pyro_json_member_integer(writer, "outside_layer_ns", unattributed->outside_layer_ns);
    pyro_json_member_integer(writer, "optimizer_ns", unattributed->optimizer_ns);
    pyro_json_member_integer(writer, "collective_ns", unattributed->collective_ns);
    pyro_json_end_object(writer);
}

static void write_gap_totals(pyro_json_writer *writer, const int64_t totals[3])
{
    pyro_json_key(writer, "gap_totals");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "host_wait_ns", totals[PYRO_GAP_HOST_WAIT]);
    pyro_json_member_integer(writer, "kernel_wait_ns", totals[PYRO_GAP_KERNEL_WAIT]);
    pyro_json_member_integer(writer, "other_ns", totals[PYRO_GAP_OTHER]);
    pyro_json_end_object(writer);
}

static void write_note(pyro_json_writer *writer, const pyro_trace *trace, const char *key)
{
    const char *text = pyro_trace_note_text(trace, key);
    pyro_json_member_string(writer, key, text[0] != '\0' ? text : NULL);
}

static void write_head(pyro_json_writer *writer, const pyro_trace *trace,
                       const pyro_analysis *analysis)
{
    size_t warning_count;
    const char *const *warnings = pyro_trace_warnings(trace, &warning_count);

    pyro_json_member_string(writer, "schema", "pyrometer.trace/1");
    pyro_json_member_string(writer, "file", pyro_trace_file(trace));
    pyro_json_member_integer(writer, "events", pyro_trace_event_count(trace));
    pyro_json_member_strings(writer, "warnings", warnings, warning_count);
    pyro_json_member_strings(writer, "notes", analysis->notes, analysis->note_count);
    write_note(writer, trace, PYRO_PROPERTY_TRIGGER);
    write_note(writer, trace, PYRO_PROPERTY_TRIGGER_TEXT);
    pyro_json_member_string(writer, "device",
                            analysis->device_name[0] != '\0' ? analysis->device_name : NULL);
    pyro_json_member_boolean(writer, "device_known", analysis->device_known);
    pyro_json_member_string(writer, "peaks_from",
                            analysis->peaks_from && analysis->peaks_from[0] ? analysis->peaks_from
                                                                            : NULL);
    pyro_json_member_amount(writer, "rank", trace->rank);
    pyro_json_member_amount(writer, "world_size", trace->world_size);
    pyro_json_member_boolean(writer, "has_layers", analysis->has_layers);
    pyro_json_member_boolean(writer, "has_shapes", analysis->has_shapes);
    pyro_json_member_boolean(writer, "has_stacks", analysis->has_stacks);
    pyro_json_member_boolean(writer, "has_memory", analysis->has_memory);
    pyro_json_member_integer(writer, "start_ns", analysis->start_ns);
    pyro_json_member_integer(writer, "span_ns", analysis->span_ns);
    pyro_json_member_integer(writer, "device_total_ns", analysis->device_total_ns);
    pyro_json_member_integer(writer, "device_busy_ns", analysis->device_busy_ns);
    pyro_json_member_integer(writer, "kernel_count", analysis->kernel_count);
    write_unattributed(writer, &analysis->unattributed);
    pyro_json_member_string(writer, "step_source", pyro_step_source_name(analysis->step_source));
    pyro_json_member_boolean(writer, "steps_inferred",
                             pyro_steps_are_inferred(analysis->step_source));
    pyro_json_member_boolean(writer, "steps_on_device", analysis->steps_on_device);
    write_startup(writer, &analysis->startup);
    write_profiler_cost(writer, &analysis->profiler_cost);
    write_least_time(writer, &analysis->least_time);
}

/* Members that follow some tables and are not plain tables, such as memory. */
static void write_behind(pyro_json_writer *writer, const char *table, const pyro_analysis *analysis)
{
    if (strcmp(table, "gaps") == 0) {
        write_gap_totals(writer, analysis->gap_total_ns);
        write_memory(writer, analysis);
        write_launch(writer, &analysis->launch);
    } else if (strcmp(table, "copies") == 0) {
        write_data_loading(writer, &analysis->data_loading);
    } else if (strcmp(table, "serving") == 0) {
        write_serving_summary(writer, &analysis->serving_summary);
    } else if (strcmp(table, "power") == 0) {
        write_power_summary(writer, &analysis->power_summary);
    }
}

/* Stacks would be most of the file, so only --verbose writes them. */
static bool is_plain(const pyro_trace_table *table, bool verbose)
{
    return strcmp(table->name, "memory") != 0 && (verbose || strcmp(table->name, "stacks") != 0);
}

/* The tables that have more rows than were written, with the number of all. */
static void write_cut(pyro_json_writer *writer, const pyro_analysis *analysis, size_t max_rows)
{
    size_t count, rows;
    const pyro_trace_table *tables = pyro_trace_tables(&count);

    pyro_json_key(writer, "cut");
    pyro_json_begin_object(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_trace_table_rows(&tables[i], analysis, &rows);
        if (rows > max_rows)
            pyro_json_member_integer(writer, tables[i].name, (int64_t)rows);
    }
    pyro_json_end_object(writer);
}

int pyro_write_trace_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_analysis *analysis = request->trace.analysis;
    size_t max_rows = request->trace.options ? request->trace.options->max_rows : 0;
    pyro_json_writer writer;
    size_t count;
    const pyro_trace_table *tables = pyro_trace_tables(&count);

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    write_head(&writer, request->trace.trace, analysis);
    for (size_t i = 0; i < count; i++) {
        if (is_plain(&tables[i], request->options->verbose))
            write_table(&writer, &tables[i], analysis, max_rows);
        write_behind(&writer, tables[i].name, analysis);
    }
    if (max_rows > 0)
        write_cut(&writer, analysis, max_rows);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}
