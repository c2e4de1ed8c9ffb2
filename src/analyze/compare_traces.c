/*
 * Compares two analyses: matches layers, ops and kernels by name, kernels with other names by their
 * work, and sorts them by change of time.
 */
#include "analyze/renamed_kernels.h"
#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/containers/intern.h"

#include <pyrometer/trace.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct differ {
    pyro_trace_diff diff;
    pyro_arena arena;
} differ;

/* Rows of one table while they are matched; a name's id is its row. */
typedef struct row_matcher {
    pyro_intern names;
    pyro_kernel_change *rows;
    size_t capacity;
} row_matcher;

typedef struct amount {
    const char *name, *short_name, *op, *shapes;
    int64_t ns, calls;
} amount;

static amount layer_amount(const pyro_analysis *analysis, size_t i, bool device)
{
    const pyro_layer_row *row = &analysis->layers[i];
    int64_t host = row->forward_host_self_ns + row->backward_host_self_ns;
    int64_t device_ns = row->forward_device_self_ns + row->backward_device_self_ns;

    const char *name = row->path[0] != '\0' ? row->path : "(model)";
    return (amount){name, name, "", "", device ? device_ns : host, row->calls};
}

static amount op_amount(const pyro_analysis *analysis, size_t i, bool device)
{
    const pyro_op_row *row = &analysis->ops[i];

    return (amount){row->name, row->name, "", "", device ? row->device_self_ns : row->host_self_ns,
                    row->calls};
}

static amount kernel_amount(const pyro_analysis *analysis, size_t i, bool device)
{
    const pyro_kernel_row *row = &analysis->kernels[i];

    (void)device;
    return (amount){row->name, row->short_name, row->op, row->shapes, row->total_ns, row->calls};
}

static size_t count_rows(const pyro_analysis *analysis, pyro_diff_table table)
{
    return table == PYRO_DIFF_LAYERS ? analysis->layer_count
           : table == PYRO_DIFF_OPS  ? analysis->op_count
                                     : analysis->kernel_row_count;
}

static int add_side(row_matcher *m, const pyro_analysis *analysis, pyro_diff_table table,
                    bool device, double units, bool after)
{
    static amount (*const amount_of[])(const pyro_analysis *, size_t,
                                       bool) = {layer_amount, op_amount, kernel_amount};

    for (size_t i = 0; i < count_rows(analysis, table); i++) {
        amount found = amount_of[table](analysis, i, device);
        uint32_t id = pyro_intern_add(&m->names, found.name, strlen(found.name));

        if (id == PYRO_INTERN_NONE || !pyro_grow(&m->rows, &m->capacity, id + 1, sizeof *m->rows))
            return PYRO_ERROR_MEMORY;
        pyro_kernel_change *change = &m->rows[id];
        pyro_diff_row *row = &change->row;
        if (!row->name) {
            row->name = found.name;
            row->short_name = found.short_name;
            change->op = found.op;
            change->shapes = found.shapes;
        }
        *(after ? &row->after_ns : &row->before_ns) += (double)found.ns / units;
        *(after ? &row->after_calls : &row->before_calls) += (double)found.calls / units;
    }
    return PYRO_OK;
}

static int by_change(const void *left, const void *right)
{
    const pyro_diff_row *a = left, *b = right;
    double x = fabs(a->after_ns - a->before_ns), y = fabs(b->after_ns - b->before_ns);

    return x != y ? (x < y ? 1 : -1) : strcmp(a->name, b->name);
}

static int match_table(differ *d, pyro_diff_table table, const pyro_analysis *before,
                       const pyro_analysis *after, pyro_error *error)
{
    size_t most = count_rows(before, table) + count_rows(after, table);
    row_matcher m = {.rows = calloc(most + 1, sizeof *m.rows), .capacity = most + 1};
    int status = m.rows ? PYRO_OK : PYRO_ERROR_MEMORY;

    pyro_intern_init(&m.names, &d->arena);
    if (status == PYRO_OK)
        status = add_side(&m, before, table, d->diff.device, d->diff.before_units, false);
    if (status == PYRO_OK)
        status = add_side(&m, after, table, d->diff.device, d->diff.after_units, true);
    size_t count = 0;
    pyro_diff_row *kept = pyro_arena_array(&d->arena, m.names.count + 1, sizeof *kept);
    if (status == PYRO_OK && table == PYRO_DIFF_KERNELS &&
        !pyro_pair_renamed_kernels(m.rows, m.names.count))
        status = PYRO_ERROR_MEMORY;
    if (status == PYRO_OK && kept) {
        for (size_t i = 0; i < m.names.count; i++)
            if (!m.rows[i].is_paired || m.rows[i].row.before_name)
                kept[count++] = m.rows[i].row;
        qsort(kept, count, sizeof *kept, by_change);
        d->diff.rows[table] = kept;
        d->diff.counts[table] = count;
    }
    pyro_intern_free(&m.names);
    free(m.rows);
    return status == PYRO_OK && kept ? PYRO_OK : pyro_fail_memory(error);
}

/* Steps where both have them, else calls of the outermost layer, else the trace as a whole. */
static void choose_unit(pyro_trace_diff *diff, const pyro_analysis *before,
                        const pyro_analysis *after)
{
    bool steps = before->step_count > 0 && after->step_count > 0 && before->steps[0].number >= 0 &&
                 after->steps[0].number >= 0;
    bool passes = before->layer_count > 0 && after->layer_count > 0 &&
                  before->layers[0].calls > 0 && after->layers[0].calls > 0;

    diff->unit = steps ? "step" : passes ? "pass" : "trace";
    diff->before_units = steps    ? (double)before->step_count
                         : passes ? (double)before->layers[0].calls
                                  : 1;
    diff->after_units = steps    ? (double)after->step_count
                        : passes ? (double)after->layers[0].calls
                                 : 1;
}

int pyro_trace_compare(pyro_trace_diff **out, const pyro_analysis *before,
                       const pyro_analysis *after, pyro_error *error)
{
    differ *d = calloc(1, sizeof *d);
    int status = PYRO_OK;

    *out = NULL;
    if (!d)
        return pyro_fail_memory(error);
    pyro_arena_init(&d->arena);
    d->diff.device = before->device_total_ns > 0 && after->device_total_ns > 0;
    choose_unit(&d->diff, before, after);
    d->diff.before_span_ns = (double)before->span_ns / d->diff.before_units;
    d->diff.after_span_ns = (double)after->span_ns / d->diff.after_units;
    d->diff.before_busy_ns = (double)before->device_busy_ns / d->diff.before_units;
    d->diff.after_busy_ns = (double)after->device_busy_ns / d->diff.after_units;
    for (int table = 0; table < PYRO_DIFF_TABLE_COUNT && status == PYRO_OK; table++)
        status = match_table(d, (pyro_diff_table)table, before, after, error);
    if (status != PYRO_OK) {
        pyro_trace_diff_free(&d->diff);
        return status;
    }
    *out = &d->diff;
    return PYRO_OK;
}

void pyro_trace_diff_free(pyro_trace_diff *diff)
{
    if (!diff)
        return;
    differ *d = (differ *)diff;
    pyro_arena_free(&d->arena);
    free(d);
}
