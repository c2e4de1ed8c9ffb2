/*
 * Finds the parts of a model that activation checkpointing runs again: the blocks that repeat, as
 * calls of torch.utils.checkpoint around each would.
 */
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/train/train.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Containers are no blocks: what they contain is. */
static bool is_container(const char *class_name)
{
    static const char *const containers[] = {"Sequential", "ModuleList", "ModuleDict"};
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (!strcmp(class_name, containers[i]))
            return true;
    return false;
}

/* "layers.3", "encoder_layer_0" */
static bool is_numbered(const char *path)
{
    size_t length = strlen(path);
    return length > 0 && isdigit((unsigned char)path[length - 1]);
}

/* Marks modules with children that have a sibling of the same class. */
static bool find_repeated(const pyro_model *model, bool numbered, bool *repeated)
{
    pyro_map first_of = {0}; /* parent and class -> module */
    bool *has_child = calloc(model->module_count + 1, sizeof *has_child), found = false;
    bool good = has_child != NULL;
    for (size_t m = 1; good && m < model->module_count; m++)
        has_child[model->modules[m].parent] = true;
    for (uint32_t m = 1; good && m < model->module_count; m++) {
        const pyro_module *module = &model->modules[m];
        repeated[m] = false;
        if (!has_child[m] || is_container(module->class_name) ||
            (numbered && !is_numbered(module->path)))
            continue;
        uint64_t key = 14695981039346656037u;
        for (const char *c = module->class_name; *c; c++)
            key = (key ^ (unsigned char)*c) * 1099511628211u;
        key = (key & 0xffffffff00000000u) | module->parent;
        uint32_t first = pyro_map_get(&first_of, key);
        if (first == PYRO_MAP_NONE)
            good = pyro_map_put(&first_of, key, m);
        else
            repeated[m] = repeated[first] = found = true;
    }
    pyro_map_free(&first_of);
    free(has_child);
    return good && found;
}

/* By module: the outermost repeated one that contains it, or 0. */
static void find_blocks(const pyro_model *model, const bool *repeated, uint32_t *block_of)
{
    for (uint32_t m = 1; m < model->module_count; m++) {
        uint32_t outermost = 0;
        for (uint32_t above = m; above; above = model->modules[above].parent)
            if (repeated[above])
                outermost = above;
        block_of[m] = outermost;
    }
}

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
    bool *repeated = calloc(model->module_count + 1, sizeof *repeated);
    uint32_t *block_of = calloc(model->module_count + 1, sizeof *block_of);
    int status = repeated && block_of ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        bool found = find_repeated(model, true, repeated) || find_repeated(model, false, repeated);
        if (found)
            find_blocks(model, repeated, block_of);
        if ((!found && !pyro_train_note(train, "no repeated blocks were found to checkpoint")) ||
            !cut(train, block_of))
            status = pyro_fail_memory(error);
    }
    free(repeated);
    free(block_of);
    return status;
}
