/* Stages of a pipeline: blocks in order, as even as possible; the rest goes with its neighbours. */
#include "base/error.h"
#include "fit/fit.h"
#include <stdlib.h>

int64_t fit_stage_of(const fit_load *load, uint32_t node, int64_t stages)
{
    if (stages <= 1 || !load->block_count || node == FIT_NONE)
        return 0;
    int64_t block = (int64_t)load->block_of_node[node] - 1;
    return block * stages / (int64_t)load->block_count;
}

/* The last stage that reads each value. */
static void find_last_stages(const fit_load *load, int64_t stages, int64_t *last)
{
    const pyro_graph *graph = load->model->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        int64_t stage = fit_stage_of(load, n, stages);
        for (uint32_t a = 0; a < node->arg_count; a++) {
            const pyro_arg *arg = &node->args[a];
            bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
            for (uint32_t i = 0; tensors && i < arg->count; i++)
                if (arg->items.values[i] != PYRO_NO_VALUE && stage > last[arg->items.values[i]])
                    last[arg->items.values[i]] = stage;
        }
    }
}

int fit_boundary_bytes(const fit_load *load, int64_t stages, int64_t *bytes, pyro_error *error)
{
    const pyro_graph *graph = load->model->graph;
    const pyro_cost *cost = load->cost;
    int64_t *last = calloc(graph->value_count + 1, sizeof *last);
    int64_t *crossing = calloc((size_t)stages + 1, sizeof *crossing);
    int status = last && crossing ? PYRO_OK : pyro_fail_memory(error);
    *bytes = 0;
    if (status == PYRO_OK) {
        find_last_stages(load, stages, last);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            int64_t stage = fit_stage_of(load, n, stages), size;
            for (uint32_t o = 0; o < graph->nodes[n].output_count; o++) {
                uint32_t value = graph->nodes[n].outputs[o];
                /* A value goes from stage to stage until the last that reads it. */
                if (value != PYRO_NO_VALUE && last[value] > stage &&
                    pyro_dtype_is_floating(graph->values[value].dtype) &&
                    pyro_value_bytes(cost, value, &size))
                    for (int64_t s = stage; s < last[value]; s++)
                        crossing[s] = fit_sum(crossing[s], size);
            }
        }
        for (int64_t s = 0; s < stages; s++)
            if (crossing[s] > *bytes)
                *bytes = crossing[s];
    }
    free(last);
    free(crossing);
    return status;
}
