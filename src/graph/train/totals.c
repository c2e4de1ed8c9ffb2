/* Sums the work of the nodes up into layers, operator types and the whole step. */
#include "base/checked.h"
#include "base/error.h"
#include "graph/train/train.h"

static bool add_row(pyro_train_row *sum, const pyro_train_row *row)
{
    return pyro_work_add(&sum->forward, &row->forward) &&
           pyro_work_add(&sum->backward, &row->backward) &&
           pyro_work_add(&sum->recompute, &row->recompute) &&
           pyro_add_i64(sum->saved_bytes, row->saved_bytes, &sum->saved_bytes);
}

/* The rows of the nodes: the forward is the cost's, and again what a checkpoint repeats. */
static void fill_nodes(pyro_train *train)
{
    const pyro_cost *cost = train->cost;
    for (size_t i = 0; i < train->node_count; i++) {
        pyro_train_row *row = &train->nodes[i];
        row->name = cost->nodes[i].name;
        row->type = cost->nodes[i].type;
        row->forward = cost->nodes[i].work;
        if (train->steps[cost->node_origins[i]].is_recomputed)
            row->recompute = cost->nodes[i].work;
    }
}

static bool sum_layers(pyro_train *train)
{
    const pyro_cost *cost = train->cost;
    for (size_t i = 0; i < cost->layer_count; i++) {
        train->layers[i].name = cost->layers[i].name;
        train->layers[i].type = cost->layers[i].type;
        train->layers[i].forward.params = cost->layers[i].work.params;
    }
    for (size_t i = 0; i < train->node_count; i++) {
        const pyro_cost_row *layer = pyro_cost_layer_of(cost, cost->node_modules[i]);
        if (layer && !add_row(&train->layers[layer - cost->layers], &train->nodes[i]))
            return false;
    }
    return true;
}

static int sum_operators(pyro_train *train, pyro_error *error)
{
    const pyro_cost *cost = train->cost;
    pyro_map row_of = {0};
    int status = PYRO_OK;
    train->operators = pyro_arena_array(&train->arena, cost->operator_count + 1,
                                        sizeof *train->operators);
    if (!train->operators)
        return pyro_fail_memory(error);
    for (size_t i = 0; status == PYRO_OK && i < cost->operator_count; i++) {
        train->operators[i].name = cost->operators[i].name;
        train->operators[i].type = cost->operators[i].type;
        if (!pyro_map_put(&row_of, (uint64_t)(uintptr_t)cost->operators[i].name, (uint32_t)i))
            status = pyro_fail_memory(error);
    }
    for (size_t i = 0; status == PYRO_OK && i < train->node_count; i++) {
        uint32_t row = pyro_map_get(&row_of, (uint64_t)(uintptr_t)cost->nodes[i].type);
        if (row != PYRO_MAP_NONE && !add_row(&train->operators[row], &train->nodes[i]))
            status = pyro_train_too_large(error);
    }
    pyro_map_free(&row_of);
    return status;
}

/* MACs, FLOPs and bytes of the four parts together. */
static bool sum_parts(pyro_train_total *total)
{
    const pyro_work *parts[] = {&total->forward, &total->backward, &total->recompute,
                                &total->optimizer};
    pyro_work sum = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!pyro_work_add(&sum, parts[i]))
            return false;
    total->macs = sum.macs;
    total->flops = sum.flops;
    return pyro_add_i64(sum.activation_read_bytes, sum.weight_read_bytes, &total->memory_bytes) &&
           pyro_add_i64(total->memory_bytes, sum.written_bytes, &total->memory_bytes);
}

int pyro_train_sum(pyro_train *train, pyro_error *error)
{
    pyro_train_total *total = &train->total;
    fill_nodes(train);
    for (size_t i = 0; i < train->node_count; i++)
        if (!pyro_work_add(&total->forward, &train->nodes[i].forward) ||
            !pyro_work_add(&total->backward, &train->nodes[i].backward) ||
            !pyro_work_add(&total->recompute, &train->nodes[i].recompute))
            return pyro_train_too_large(error);
    if (!sum_layers(train) || !sum_parts(total))
        return pyro_train_too_large(error);
    return sum_operators(train, error);
}
