/*
 * Finds the parts of a model that activation checkpointing runs again: the blocks that repeat, as
 * calls of torch.utils.checkpoint around each would.
 */
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/train/blocks.h"
#include "graph/train/train.h"
#include <stdlib.h>

static bool add_segment(pyro_train *train, size_t begin, size_t end)
{
    size_t stop = begin;
    for (size_t n = begin; n < end; n++) {
        const train_step *step = &train->steps[n];
        if (!step->runs || (!step->saved_count && !step->extra_bytes))
            continue;
        /* torch stops within the operator that keeps the last tensor: before it runs, unless
         * it keeps something that it makes. */
        bool makes = step->extra_bytes > 0;
        const pyro_node *node = &train->model->graph->nodes[n];
        for (uint32_t o = 0; o < node->output_count; o++)
            for (uint16_t i = 0; i < step->saved_count; i++)
                makes |= train->saved[step->first_saved + i] == node->outputs[o];
        stop = makes ? n + 1 : n;
    }
    if (stop == begin)
        return true;
    if (!pyro_grow(&train->segments, &train->segment_capacity, train->segment_count + 1,
                   sizeof *train->segments))
        return false;
    train->segments[train->segment_count++] = (train_segment){begin, end, stop};
    for (size_t n = begin; n < end; n++) {
        train->steps[n].segment = (uint32_t)train->segment_count;
        train->steps[n].is_recomputed = n < stop;
    }
    return true;
}

/* A run of nodes of one block is a segment; with `full` so is a run between blocks. */
static bool cut(pyro_train *train, const uint32_t *block_of)
{
    const pyro_graph *graph = train->model->graph;
    bool full = train->options.checkpoint == PYRO_CHECKPOINT_FULL;
    size_t begin = 0;
    uint32_t current = PYRO_NO_VALUE;
    for (size_t n = 0; n <= graph->node_count; n++) {
        if (n < graph->node_count && !train->steps[n].needs)
            continue; /* no gradient: it may lie anywhere */
        uint32_t block = n < graph->node_count ? block_of[graph->nodes[n].module] : PYRO_NO_VALUE;
        if (block == current && n < graph->node_count)
            continue;
        if (current != PYRO_NO_VALUE && (current || full) && !add_segment(train, begin, n))
            return false;
        begin = n;
        current = block;
    }
    return true;
}

int pyro_train_find_segments(pyro_train *train, pyro_error *error)
{
    const pyro_model *model = train->model;
    if (train->options.checkpoint == PYRO_CHECKPOINT_NONE)
        return PYRO_OK;
    uint32_t *block_of = calloc(model->module_count + 1, sizeof *block_of);
    bool found = false;
    int status = block_of ? pyro_find_blocks(model, block_of, &found, error)
                          : pyro_fail_memory(error);
    if (status == PYRO_OK &&
        ((!found && !pyro_train_note(train, "no repeated blocks were found to checkpoint")) ||
         !cut(train, block_of)))
        status = pyro_fail_memory(error);
    free(block_of);
    return status;
}
