/* Accessors of the cost of a training step. */
#include "graph/train/train.h"

const pyro_cost *pyro_train_cost(const pyro_train *train)
{
    return train->cost;
}

const pyro_train_options *pyro_train_get_options(const pyro_train *train)
{
    return &train->options;
}

const pyro_train_total *pyro_train_get_total(const pyro_train *train)
{
    return &train->total;
}

const pyro_train_row *pyro_train_layers(const pyro_train *train, size_t *count)
{
    *count = train->cost->layer_count;
    return train->layers;
}

const pyro_train_row *pyro_train_operators(const pyro_train *train, size_t *count)
{
    *count = train->cost->operator_count;
    return train->operators;
}

const pyro_train_row *pyro_train_nodes(const pyro_train *train, size_t *count)
{
    *count = train->node_count;
    return train->nodes;
}

const pyro_memory_step *pyro_train_curve(const pyro_train *train, size_t *count)
{
    *count = train->curve_count;
    return train->curve;
}

size_t pyro_train_peak(const pyro_train *train)
{
    return train->peak;
}

const pyro_memory_item *pyro_train_alive(const pyro_train *train, size_t *count)
{
    *count = train->alive_count;
    return train->alive;
}

const char *const *pyro_train_notes(const pyro_train *train, size_t *count)
{
    *count = train->note_count;
    return train->notes;
}
