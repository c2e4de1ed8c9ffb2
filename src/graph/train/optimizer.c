/* What an optimizer keeps and computes per parameter. */
#include "base/checked.h"
#include "base/error.h"
#include "graph/train/train.h"

typedef enum scratch { SCRATCH_NONE, SCRATCH_ONE, SCRATCH_ALL } scratch;

static const struct {
    int states;
    bool factored, quantized;
    int flops;
    scratch scratch;
} optimizers[] = {
#define OPTIMIZER(id, name, states, factored, quantized, flops, scratch) \
    [PYRO_OPTIMIZER_##id] = {states, factored, quantized, flops, SCRATCH_##scratch},
#include "graph/train/optimizers.def"
#undef OPTIMIZER
};

enum { BLOCK_VALUES = 256, MIN_QUANTIZED_VALUES = 4096, SCALE_BYTES = 4 };

/* Bytes of one state. */
static bool state_bytes(pyro_optimizer optimizer, pyro_dtype dtype, int64_t values, int64_t *bytes)
{
    if (!optimizers[optimizer].quantized)
        return pyro_dtype_storage(dtype, values, bytes);
    if (values < MIN_QUANTIZED_VALUES)
        return pyro_mul_i64(values, 4, bytes);
    int64_t blocks = values / BLOCK_VALUES + (values % BLOCK_VALUES != 0);
    return pyro_mul_i64(blocks, SCALE_BYTES, bytes) && pyro_add_i64(*bytes, values, bytes);
}

bool pyro_optimizer_bytes(pyro_optimizer optimizer, pyro_dtype dtype, int64_t values, int64_t rows,
                          int64_t columns, int64_t *bytes)
{
    if (optimizers[optimizer].factored) {
        /* One value per row and one per column; a vector keeps one per value. */
        int64_t kept = columns > 0 ? rows : values;
        if (columns > 0 && !pyro_add_i64(rows, columns, &kept))
            return false;
        return pyro_dtype_storage(dtype, kept, bytes);
    }
    return state_bytes(optimizer, dtype, values, bytes) &&
           pyro_mul_i64(*bytes, optimizers[optimizer].states, bytes);
}

/* Values that the factors of a tensor's state have: all but its last, and all but the one before. */
static void find_factors(const pyro_train *train, size_t index, int64_t *rows, int64_t *columns)
{
    const pyro_value *value = &train->model->graph->values[train->model->parameters[index].value];
    int64_t last = 0, before = 0, values = train->parameters[index].values;
    *rows = *columns = 0;
    if (value->rank < 2 || !values ||
        !pyro_size_value(train->model, value->sizes[value->rank - 1], &last) ||
        !pyro_size_value(train->model, value->sizes[value->rank - 2], &before) || last <= 0 ||
        before <= 0)
        return;
    *rows = values / last;
    *columns = values / before;
}

/* Weights, gradients and states are read; weights and states are written. */
static bool update(const pyro_train *train, int64_t values, int64_t bytes, int64_t states,
                   pyro_work *work)
{
    pyro_price price = {.fvcore_flops = 0};
    work->weight_read_bytes = bytes;
    return pyro_mul_i64(values, optimizers[train->options.optimizer].flops, &price.other_flops) &&
           pyro_convention_flops(train->cost->options.convention, &price, &work->flops) &&
           pyro_add_i64(bytes, states, &work->activation_read_bytes) &&
           pyro_add_i64(bytes, states, &work->written_bytes);
}

static bool add_parameter(pyro_train *train, size_t index, int64_t *largest)
{
    train_parameter *parameter = &train->parameters[index];
    pyro_optimizer optimizer = train->options.optimizer;
    int64_t values = parameter->values, rows, columns, bytes;
    find_factors(train, index, &rows, &columns);
    if (parameter->adapter_values && !pyro_dtype_is_floating(parameter->dtype))
        parameter->dtype = PYRO_DTYPE_BFLOAT16; /* adapters of quantised weights */
    if (parameter->adapter_values) { /* two matrices: their factors are their sides */
        values = parameter->adapter_values;
        rows = values / train->lora_rank;
        columns = 2 * train->lora_rank;
    }
    if (!pyro_dtype_storage(parameter->dtype, values, &bytes) ||
        !pyro_optimizer_bytes(optimizer, parameter->dtype, values, rows, columns,
                              &parameter->state_bytes))
        return false;
    parameter->gradient_bytes = bytes;
    *largest = bytes > *largest ? bytes : *largest;
    const pyro_cost_row *layer = pyro_cost_layer_of(train->cost,
                                                    train->model->parameters[index].module);
    pyro_work work = {0};
    if (!update(train, values, bytes, parameter->state_bytes, &work))
        return false;
    if (layer) {
        pyro_train_row *row = &train->layers[layer - train->cost->layers];
        if (!pyro_work_add(&row->optimizer, &work))
            return false;
        row->gradient_bytes += bytes;
        row->state_bytes += parameter->state_bytes;
        row->trainable_params += values;
    }
    pyro_train_total *total = &train->total;
    return pyro_work_add(&total->optimizer, &work) &&
           pyro_add_i64(total->gradient_bytes, bytes, &total->gradient_bytes) &&
           pyro_add_i64(total->optimizer_state_bytes, parameter->state_bytes,
                        &total->optimizer_state_bytes);
}

int pyro_train_optimize(pyro_train *train, pyro_error *error)
{
    int64_t largest = 0;
    train->layers = pyro_arena_array(&train->arena, train->cost->layer_count + 1,
                                     sizeof *train->layers);
    if (!train->layers)
        return pyro_fail_memory(error);
    for (size_t p = 0; p < train->model->parameter_count; p++)
        if (train->parameters[p].owner == p && train->parameters[p].gets_gradient &&
            !add_parameter(train, p, &largest))
            return pyro_train_too_large(error);
    scratch scratch = optimizers[train->options.optimizer].scratch;
    train->total.optimizer_scratch_bytes = scratch == SCRATCH_ALL   ? train->total.gradient_bytes
                                           : scratch == SCRATCH_ONE ? largest
                                                                    : 0;
    return PYRO_OK;
}
