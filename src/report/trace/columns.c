/* The columns of every table of an analysis: the one place where members of rows are listed. */
#include <pyrometer/tables.h>

#include <string.h>

#define TEXT(row, member) {#member, PYRO_COLUMN_TEXT, offsetof(row, member), false}
#define INTEGER(row, member) {#member, PYRO_COLUMN_INTEGER, offsetof(row, member), false}
#define OPTIONAL(row, member) {#member, PYRO_COLUMN_INTEGER, offsetof(row, member), true}
#define NUMBER(row, member) {#member, PYRO_COLUMN_NUMBER, offsetof(row, member), false}
#define OPTIONAL_NUMBER(row, member) {#member, PYRO_COLUMN_NUMBER, offsetof(row, member), true}
#define BOOLEAN(row, member) {#member, PYRO_COLUMN_BOOLEAN, offsetof(row, member), false}

static const pyro_trace_column step_columns[] = {
    TEXT(pyro_step_row, name),
    OPTIONAL(pyro_step_row, number),
    INTEGER(pyro_step_row, start_ns),
    INTEGER(pyro_step_row, span_ns),
    INTEGER(pyro_step_row, compute_ns),
    INTEGER(pyro_step_row, communication_ns),
    INTEGER(pyro_step_row, communication_exposed_ns),
    INTEGER(pyro_step_row, copy_ns),
    INTEGER(pyro_step_row, copy_exposed_ns),
    INTEGER(pyro_step_row, idle_ns),
    INTEGER(pyro_step_row, host_only_ns),
    INTEGER(pyro_step_row, data_loading_ns),
    INTEGER(pyro_step_row, forward_ns),
    INTEGER(pyro_step_row, backward_ns),
    INTEGER(pyro_step_row, optimizer_ns),
    INTEGER(pyro_step_row, other_ns),
    INTEGER(pyro_step_row, device_total_ns),
    INTEGER(pyro_step_row, kernels),
};

static const pyro_trace_column training_columns[] = {
    INTEGER(pyro_training_step, number),
    INTEGER(pyro_training_step, start_ns),
    INTEGER(pyro_training_step, span_ns),
    INTEGER(pyro_training_step, forward_ns),
    INTEGER(pyro_training_step, backward_ns),
    INTEGER(pyro_training_step, optimizer_ns),
    INTEGER(pyro_training_step, data_ns),
    INTEGER(pyro_training_step, communication_ns),
    INTEGER(pyro_training_step, other_ns),
    INTEGER(pyro_training_step, communication_total_ns),
    OPTIONAL(pyro_training_step, flops),
    OPTIONAL(pyro_training_step, torch_flops),
    TEXT(pyro_training_step, dtype),
    OPTIONAL_NUMBER(pyro_training_step, flops_per_s),
    OPTIONAL_NUMBER(pyro_training_step, peak_flops_per_s),
};

static const pyro_trace_column layer_columns[] = {
    TEXT(pyro_layer_row, path),
    {"class", PYRO_COLUMN_TEXT, offsetof(pyro_layer_row, class_name), false},
    {"parent", PYRO_COLUMN_INDEX, offsetof(pyro_layer_row, parent), true},
    {"depth", PYRO_COLUMN_INDEX, offsetof(pyro_layer_row, depth), false},
    INTEGER(pyro_layer_row, calls),
    INTEGER(pyro_layer_row, backward_calls),
    INTEGER(pyro_layer_row, forward_host_ns),
    INTEGER(pyro_layer_row, forward_host_self_ns),
    INTEGER(pyro_layer_row, forward_device_ns),
    INTEGER(pyro_layer_row, forward_device_self_ns),
    INTEGER(pyro_layer_row, backward_host_ns),
    INTEGER(pyro_layer_row, backward_host_self_ns),
    INTEGER(pyro_layer_row, backward_device_ns),
    INTEGER(pyro_layer_row, backward_device_self_ns),
    INTEGER(pyro_layer_row, kernels),
    OPTIONAL(pyro_layer_row, flops),
    OPTIONAL(pyro_layer_row, bytes),
    TEXT(pyro_layer_row, shapes),
    OPTIONAL(pyro_layer_row, macs),
    OPTIONAL(pyro_layer_row, allocated_bytes),
    TEXT(pyro_layer_row, dtype),
    OPTIONAL_NUMBER(pyro_layer_row, flops_per_s),
    OPTIONAL_NUMBER(pyro_layer_row, peak_share),
};

static const pyro_trace_column op_columns[] = {
    TEXT(pyro_op_row, name),
    TEXT(pyro_op_row, shapes),
    INTEGER(pyro_op_row, calls),
    INTEGER(pyro_op_row, host_total_ns),
    INTEGER(pyro_op_row, host_self_ns),
    INTEGER(pyro_op_row, device_total_ns),
    INTEGER(pyro_op_row, device_self_ns),
    OPTIONAL(pyro_op_row, flops),
    OPTIONAL(pyro_op_row, bytes),
    {"phase", PYRO_COLUMN_PHASE, offsetof(pyro_op_row, phase), false},
};

static const pyro_trace_column kernel_columns[] = {
    TEXT(pyro_kernel_row, name),
    TEXT(pyro_kernel_row, short_name),
    TEXT(pyro_kernel_row, op),
    INTEGER(pyro_kernel_row, calls),
    INTEGER(pyro_kernel_row, total_ns),
    INTEGER(pyro_kernel_row, min_ns),
    INTEGER(pyro_kernel_row, max_ns),
    INTEGER(pyro_kernel_row, median_ns),
    BOOLEAN(pyro_kernel_row, tensor_core),
    OPTIONAL_NUMBER(pyro_kernel_row, occupancy_percent),
    OPTIONAL_NUMBER(pyro_kernel_row, waves),
    INTEGER(pyro_kernel_row, outliers),
};

static const pyro_trace_column gap_columns[] = {
    INTEGER(pyro_gap_row, start_ns),
    INTEGER(pyro_gap_row, duration_ns),
    {"device", PYRO_COLUMN_SMALL, offsetof(pyro_gap_row, device), true},
    {"kind", PYRO_COLUMN_GAP_KIND, offsetof(pyro_gap_row, kind), false},
    TEXT(pyro_gap_row, op),
    TEXT(pyro_gap_row, layer),
    TEXT(pyro_gap_row, line),
    TEXT(pyro_gap_row, sync),
    OPTIONAL(pyro_gap_row, step),
};

static const pyro_trace_column sync_columns[] = {
    TEXT(pyro_sync_row, call), TEXT(pyro_sync_row, op),       TEXT(pyro_sync_row, layer),
    TEXT(pyro_sync_row, line), INTEGER(pyro_sync_row, calls), INTEGER(pyro_sync_row, total_ns),
};

static const pyro_trace_column copy_columns[] = {
    TEXT(pyro_copy_row, kind),
    INTEGER(pyro_copy_row, calls),
    OPTIONAL(pyro_copy_row, bytes),
    INTEGER(pyro_copy_row, total_ns),
    OPTIONAL_NUMBER(pyro_copy_row, gb_per_s),
};

static const pyro_trace_column collective_columns[] = {
    TEXT(pyro_collective_row, kind),
    TEXT(pyro_collective_row, group),
    TEXT(pyro_collective_row, dtype),
    OPTIONAL(pyro_collective_row, group_size),
    INTEGER(pyro_collective_row, calls),
    INTEGER(pyro_collective_row, total_ns),
    INTEGER(pyro_collective_row, exposed_ns),
    OPTIONAL(pyro_collective_row, bytes),
    OPTIONAL_NUMBER(pyro_collective_row, bus_gb_per_s),
    OPTIONAL(pyro_collective_row, message_bytes),
};

static const pyro_trace_column memory_columns[] = {
    TEXT(pyro_memory_device, device),
    INTEGER(pyro_memory_device, peak_bytes),
    OPTIONAL(pyro_memory_device, peak_reserved_bytes),
    INTEGER(pyro_memory_device, peak_time_ns),
    INTEGER(pyro_memory_device, allocations),
    INTEGER(pyro_memory_device, frees),
    INTEGER(pyro_memory_device, allocated_bytes),
    INTEGER(pyro_memory_device, growth_bytes_per_step),
    NUMBER(pyro_memory_device, growth_confidence),
};

static const pyro_trace_column finding_columns[] = {
    TEXT(pyro_finding, id),
    {"severity", PYRO_COLUMN_SEVERITY, offsetof(pyro_finding, severity), false},
    TEXT(pyro_finding, title),
    TEXT(pyro_finding, evidence),
    TEXT(pyro_finding, advice),
    TEXT(pyro_finding, place),
    OPTIONAL(pyro_finding, gain_ns),
};

static const pyro_trace_column stack_columns[] = {
    TEXT(pyro_stack_row, frames),
    INTEGER(pyro_stack_row, device_ns),
    INTEGER(pyro_stack_row, host_self_ns),
};

#define TABLE(name, columns, row, rows, count) \
    {name, \
     columns, \
     sizeof columns / sizeof *columns, \
     sizeof(row), \
     offsetof(pyro_analysis, rows), \
     offsetof(pyro_analysis, count)}

static const pyro_trace_table tables[] = {
    TABLE("steps", step_columns, pyro_step_row, steps, step_count),
    TABLE("training", training_columns, pyro_training_step, training, training_count),
    TABLE("layers", layer_columns, pyro_layer_row, layers, layer_count),
    TABLE("ops", op_columns, pyro_op_row, ops, op_count),
    TABLE("ops_by_shape", op_columns, pyro_op_row, ops_by_shape, op_by_shape_count),
    TABLE("kernels", kernel_columns, pyro_kernel_row, kernels, kernel_row_count),
    TABLE("gaps", gap_columns, pyro_gap_row, gaps, gap_count),
    TABLE("synchronizations", sync_columns, pyro_sync_row, syncs, sync_count),
    TABLE("copies", copy_columns, pyro_copy_row, copies, copy_count),
    TABLE("collectives", collective_columns, pyro_collective_row, collectives, collective_count),
    TABLE("memory", memory_columns, pyro_memory_device, memory, memory_count),
    TABLE("findings", finding_columns, pyro_finding, findings, finding_count),
    TABLE("stacks", stack_columns, pyro_stack_row, stacks, stack_count),
};

const pyro_trace_table *pyro_trace_tables(size_t *count)
{
    *count = sizeof tables / sizeof *tables;
    return tables;
}

const pyro_trace_table *pyro_trace_table_find(const char *name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    return NULL;
}

const void *pyro_trace_table_rows(const pyro_trace_table *table, const pyro_analysis *analysis,
                                  size_t *count)
{
    const char *base = (const char *)analysis;
    const void *rows;

    memcpy(count, base + table->count_offset, sizeof *count);
    memcpy(&rows, base + table->rows_offset, sizeof rows);
    return rows;
}

static const char *enum_name(const char *const *names, size_t count, size_t value)
{
    return value < count ? names[value] : "";
}

const char *pyro_column_text(const pyro_trace_column *column, const void *row)
{
    static const char *const gap_kinds[] = {"host_wait", "kernel_wait", "other"};
    static const char *const severities[] = {"info", "warning", "severe"};
    const char *member = (const char *)row + column->offset;
    const char *text;

    switch (column->kind) {
    case PYRO_COLUMN_TEXT:
        memcpy(&text, member, sizeof text);
        return text != NULL ? text : "";
    case PYRO_COLUMN_PHASE:
        return pyro_phase_name(*(const pyro_phase *)member);
    case PYRO_COLUMN_GAP_KIND:
        return enum_name(gap_kinds, 3, (size_t)*(const pyro_gap_kind *)member);
    case PYRO_COLUMN_SEVERITY:
        return enum_name(severities, 3, (size_t)*(const pyro_severity *)member);
    default:
        return "";
    }
}

bool pyro_column_integer(const pyro_trace_column *column, const void *row, int64_t *value)
{
    const void *member = (const char *)row + column->offset;

    switch (column->kind) {
    case PYRO_COLUMN_INTEGER:
        *value = *(const int64_t *)member;
        break;
    case PYRO_COLUMN_SMALL:
        *value = *(const int *)member;
        break;
    case PYRO_COLUMN_INDEX:
        *value = *(const uint32_t *)member;
        return !column->optional || *value != PYRO_NO_EVENT;
    case PYRO_COLUMN_BOOLEAN:
        *value = *(const bool *)member;
        break;
    default:
        return false;
    }
    return !column->optional || *value != -1;
}

bool pyro_column_number(const pyro_trace_column *column, const void *row, double *value)
{
    *value = *(const double *)(const void *)((const char *)row + column->offset);
    return !column->optional || *value >= 0;
}
