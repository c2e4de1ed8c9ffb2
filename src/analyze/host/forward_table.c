/* Joins the wall times of layers (layer_ops.c) with their device time and work (layers.c). */
#include "analyze/host/forward_table.h"

#include "base/containers/intern.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* FLOPs of a layer include its sublayers: subtracts those of its children. */
static void set_own_amounts(const pyro_forward_table *table, const pyro_intern *paths)
{
    const pyro_analysis *analysis = table->analysis;

    for (size_t i = 0; i < analysis->layer_count; i++) {
        const pyro_layer_row *layer = &analysis->layers[i];
        uint32_t row = pyro_intern_find(paths, layer->path, strlen(layer->path));
        uint32_t parent = PYRO_INTERN_NONE;

        if (row != PYRO_INTERN_NONE) {
            table->rows[row].device_ns += layer->forward_device_self_ns;
            table->rows[row].flops = layer->flops;
        }
        if (layer->parent != PYRO_NO_EVENT) {
            const char *path = analysis->layers[layer->parent].path;
            parent = pyro_intern_find(paths, path, strlen(path));
        }
        if (parent != PYRO_INTERN_NONE && layer->flops > 0)
            table->rows[parent].flops -= layer->flops;
    }
}

static int fill_rows(pyro_forward_table *table, pyro_error *error)
{
    const pyro_layer_ops *ops = table->ops;
    pyro_arena arena;
    pyro_intern paths; /* the id is the row */
    bool ok;

    pyro_arena_init(&arena);
    pyro_intern_init(&paths, &arena);
    table->rows = calloc(ops->layer_count + 1, sizeof *table->rows);
    ok = table->rows != NULL;
    for (size_t i = 0; ok && i < ops->layer_count; i++) {
        const pyro_layer_time_row *time = &ops->layers[i];

        table->rows[table->count++].time = time;
        ok = pyro_intern_add(&paths, time->layer, strlen(time->layer)) != PYRO_INTERN_NONE;
    }
    if (ok)
        set_own_amounts(table, &paths);
    pyro_intern_free(&paths);
    pyro_arena_free(&arena);
    return ok ? PYRO_OK : pyro_fail_memory(error);
}

static void add_up(pyro_forward_table *table)
{
    pyro_layer_time_row *sum = &table->total_time;
    int64_t rows_ns = 0;

    *sum = (pyro_layer_time_row){.layer = "", .wall_ns = table->ops->wall_ns, .shapes = ""};
    table->total = (pyro_forward_row){.time = sum, .flops = -1};
    for (size_t i = 0; i < table->count; i++) {
        const pyro_forward_row *row = &table->rows[i];

        sum->calls += row->time->calls;
        sum->op_ns += row->time->op_ns;
        rows_ns += row->time->wall_ns;
        table->total.device_ns += row->device_ns;
        if (row->flops > 0)
            table->total.flops = (table->total.flops < 0 ? 0 : table->total.flops) + row->flops;
    }
    table->overlap_ns = rows_ns > sum->wall_ns ? rows_ns - sum->wall_ns : 0;
}

int pyro_forward_table_make(pyro_forward_table *out, pyro_trace *trace, pyro_error *error)
{
    pyro_analysis_options options = {
        .step = -1, .threads = 1, .without_stacks = true, .without_gap_causes = true};

    *out = (pyro_forward_table){0};
    int status = pyro_trace_analyze(&out->analysis, trace, &options, error);
    if (status == PYRO_OK)
        status = pyro_trace_layer_ops(&out->ops, trace, &options, error);
    if (status == PYRO_OK)
        status = fill_rows(out, error);
    if (status == PYRO_OK) {
        out->on_device = out->analysis->device_total_ns > 0;
        add_up(out);
    }
    return status;
}

void pyro_forward_table_free(pyro_forward_table *table)
{
    free(table->rows);
    pyro_layer_ops_free(table->ops);
    pyro_analysis_free(table->analysis);
}
