/* Rows of an analysis as writers want them: rolled up, ranked, named. */
#include "report/trace/rows.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Adds the own time of every layer that is too deep to its parent's, deepest first. */
static void push_up(pyro_layer_row *rows, size_t count, uint32_t depth)
{
    for (size_t i = count; i-- > 0;) {
        pyro_layer_row *row = &rows[i];

        if (row->depth <= depth || row->parent >= i)
            continue;
        rows[row->parent].forward_host_self_ns += row->forward_host_self_ns;
        rows[row->parent].forward_device_self_ns += row->forward_device_self_ns;
        rows[row->parent].backward_host_self_ns += row->backward_host_self_ns;
        rows[row->parent].backward_device_self_ns += row->backward_device_self_ns;
    }
}

/* Closes the holes that dropped rows leave; `places` says where a kept row goes. */
static size_t close_up(pyro_layer_row *rows, size_t count, uint32_t depth, uint32_t *places)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool has_parent = rows[i].parent < i;

        if (rows[i].depth > depth && has_parent)
            continue;
        places[i] = (uint32_t)kept;
        rows[kept] = rows[i];
        if (has_parent)
            rows[kept].parent = places[rows[i].parent];
        kept++;
    }
    return kept;
}

int pyro_analysis_roll_up(pyro_shallow_analysis *out, const pyro_analysis *analysis, int depth,
                          pyro_error *error)
{
    size_t count = analysis->layer_count;
    uint32_t *places;

    out->analysis = *analysis;
    out->layers = NULL;
    if (depth < 0 || count == 0)
        return PYRO_OK;
    places = calloc(count, sizeof *places);
    out->layers = calloc(count, sizeof *out->layers);
    if (places == NULL || out->layers == NULL) {
        free(places);
        return pyro_fail_memory(error);
    }
    memcpy(out->layers, analysis->layers, count * sizeof *out->layers);
    push_up(out->layers, count, (uint32_t)depth);
    out->analysis.layers = out->layers;
    out->analysis.layer_count = close_up(out->layers, count, (uint32_t)depth, places);
    free(places);
    return PYRO_OK;
}

void pyro_shallow_analysis_free(pyro_shallow_analysis *shallow)
{
    free(shallow->layers);
    shallow->layers = NULL;
}

bool pyro_trace_on_host(const pyro_analysis *analysis)
{
    return analysis->device_total_ns == 0;
}

int64_t pyro_layer_self_ns(const pyro_layer_row *row, bool on_host)
{
    return on_host ? row->forward_host_self_ns + row->backward_host_self_ns
                   : row->forward_device_self_ns + row->backward_device_self_ns;
}

int64_t pyro_layer_total_ns(const pyro_layer_row *row, bool on_host)
{
    return on_host ? row->forward_host_ns + row->backward_host_ns
                   : row->forward_device_ns + row->backward_device_ns;
}

int64_t pyro_op_self_ns(const pyro_op_row *row, bool on_host)
{
    return on_host ? row->host_self_ns : row->device_self_ns;
}

int64_t pyro_unattributed_ns(const pyro_unattributed *unattributed)
{
    return unattributed->no_launch_ns + unattributed->outside_layer_ns +
           unattributed->optimizer_ns + unattributed->collective_ns;
}

int64_t pyro_trace_whole_ns(const pyro_analysis *analysis)
{
    int64_t whole = 0;

    if (!pyro_trace_on_host(analysis))
        return analysis->device_total_ns;
    for (size_t i = 0; i < analysis->op_count; i++)
        whole += analysis->ops[i].host_self_ns;
    return whole;
}

const char *pyro_layer_label(const pyro_layer_row *row)
{
    return row->path[0] != '\0' ? row->path : "(model)";
}

/* What is sorted: the time is taken once, because a comparison cannot know which clock counts. */
typedef struct ranked_layer {
    int64_t self_ns;
    const pyro_layer_row *row;
} ranked_layer;

static int by_self_time(const void *left, const void *right)
{
    const ranked_layer *a = left, *b = right;

    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    return a->row < b->row ? -1 : (a->row > b->row ? 1 : 0);
}

const pyro_layer_row **pyro_layers_sorted(const pyro_analysis *analysis, size_t *count)
{
    bool on_host = pyro_trace_on_host(analysis);
    size_t kept = 0, all = analysis->layer_count;
    ranked_layer *ranked = all > 0 ? calloc(all, sizeof *ranked) : NULL;
    const pyro_layer_row **sorted = all > 0 ? calloc(all, sizeof *sorted) : NULL;

    *count = 0;
    if (ranked == NULL || sorted == NULL) {
        free(ranked);
        free(sorted);
        return NULL;
    }
    for (size_t i = 0; i < all; i++) {
        int64_t self_ns = pyro_layer_self_ns(&analysis->layers[i], on_host);

        if (self_ns > 0)
            ranked[kept++] = (ranked_layer){self_ns, &analysis->layers[i]};
    }
    qsort(ranked, kept, sizeof *ranked, by_self_time);
    for (size_t i = 0; i < kept; i++)
        sorted[i] = ranked[i].row;
    *count = kept;
    free(ranked);
    return sorted;
}

const char *pyro_trace_view_table(pyro_trace_view view, const pyro_analysis *analysis)
{
    static const char *const names[] = {
        [PYRO_TRACE_LAYERS] = "layers",
        [PYRO_TRACE_OPS] = "ops",
        [PYRO_TRACE_KERNELS] = "kernels",
        [PYRO_TRACE_STEPS] = "steps",
        [PYRO_TRACE_GAPS] = "gaps",
        [PYRO_TRACE_COPIES] = "copies",
        [PYRO_TRACE_COLLECTIVES] = "collectives",
        [PYRO_TRACE_STACKS] = "stacks",
        [PYRO_TRACE_SHAPES] = "ops_by_shape",
        [PYRO_TRACE_SYNCHRONIZATIONS] = "synchronizations",
        [PYRO_TRACE_MEMORY] = "memory",
        [PYRO_TRACE_FINDINGS] = "findings",
    };

    if (view == PYRO_TRACE_OVERVIEW)
        return analysis->layer_count > 0 ? "layers" : "ops";
    return names[view];
}

const pyro_memory_device *pyro_main_memory(const pyro_analysis *analysis)
{
    const pyro_memory_device *main = NULL;

    for (size_t i = 0; i < analysis->memory_count; i++) {
        const pyro_memory_device *device = &analysis->memory[i];
        bool host = strcmp(device->device, "cpu") == 0;
        bool main_is_host = main != NULL && strcmp(main->device, "cpu") == 0;

        if (main == NULL || (main_is_host && !host) ||
            (main_is_host == host && device->peak_bytes > main->peak_bytes))
            main = device;
    }
    return main;
}
