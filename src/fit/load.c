/* Reads a model at its current sizes: bytes of its parameters, lives of its tensors, its blocks. */
#include "base/checked.h"
#include "base/error.h"
#include "fit/fit.h"
#include "graph/train/blocks.h"
#include <stdlib.h>
#include <string.h>

static int too_large(pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_LIMIT, "the memory of the model does not fit in 64 bits");
}

/* Bytes of a parameter in inference: in its type, or in that of the options. */
static bool inference_bytes(const fit_load *load, const pyro_parameter *source,
                            fit_parameter *parameter)
{
    pyro_dtype stored = load->model->graph->values[source->value].dtype;
    pyro_dtype dtype = pyro_cost_price_dtype(load->cost, stored);
    if (source->stored_bytes && dtype == stored) {
        parameter->weight_bytes = source->stored_bytes;
        return true;
    }
    return pyro_dtype_storage(dtype, parameter->values, &parameter->weight_bytes);
}

static bool training_bytes(const fit_load *load, size_t index, fit_parameter *parameter)
{
    const pyro_train *train = load->train;
    const pyro_parameter *source = &load->model->parameters[index];
    const train_parameter *trained = &train->parameters[index];
    bool mixed = train->options.precision == PYRO_PRECISION_BF16_MIXED ||
                 train->options.precision == PYRO_PRECISION_FP8;
    parameter->weight_bytes = trained->bytes;
    if (mixed && source->role == PYRO_ROLE_PARAMETER) {
        bool lowered = train->dtypes && train->dtypes[source->value] != PYRO_DTYPE_FLOAT32 &&
                       pyro_dtype_is_floating(trained->dtype);
        parameter->master_bytes = trained->bytes;
        parameter->weight_bytes = 0;
        if (lowered && !pyro_dtype_storage((pyro_dtype)train->dtypes[source->value],
                                           trained->values, &parameter->weight_bytes))
            return false;
    }
    parameter->gradient_bytes = trained->gets_gradient ? trained->gradient_bytes : 0;
    parameter->state_bytes = trained->gets_gradient ? trained->state_bytes : 0;
    if (trained->adapter_values && parameter->rows > 0) {
        parameter->adapter_rank = train->lora_rank;
        parameter->adapter_out = train->lora_rank * parameter->rows;
        parameter->adapter_in = trained->adapter_values - parameter->adapter_out;
        return pyro_dtype_storage(trained->dtype, trained->adapter_values,
                                  &parameter->adapter_weight_bytes);
    }
    return true;
}

static bool read_parameter(fit_load *load, size_t index)
{
    const pyro_parameter *source = &load->model->parameters[index];
    const pyro_value *value = &load->model->graph->values[source->value];
    fit_parameter *parameter = &load->parameters[index];
    parameter->first_node = parameter->last_node = FIT_NONE;
    parameter->is_parameter = source->role == PYRO_ROLE_PARAMETER;
    parameter->block = load->block_of[source->module];
    load->values[source->value].parameter = source->tied_to != PYRO_NO_VALUE ? source->tied_to
                                                                             : (uint32_t)index;
    if (source->tied_to != PYRO_NO_VALUE)
        return true; /* its bytes are those of its owner */
    if (!pyro_value_elements(load->cost, source->value, &parameter->values))
        return false;
    parameter->rows = 1;
    if (value->rank > 0 && !pyro_size_value(load->model, value->sizes[0], &parameter->rows))
        parameter->rows = 1;
    parameter->rows = parameter->rows > 0 ? parameter->rows : 1;
    return load->train ? training_bytes(load, index, parameter)
                       : inference_bytes(load, source, parameter);
}

static bool read_inputs(fit_load *load)
{
    const pyro_model *model = load->model;
    const pyro_value *first = pyro_model_find_input(model, NULL);
    for (size_t i = 0; i < model->input_count; i++) {
        int64_t bytes;
        if (!pyro_value_bytes(load->cost, model->inputs[i], &bytes) ||
            !pyro_add_i64(load->input_bytes, bytes, &load->input_bytes))
            return false;
    }
    if (first && first->rank > 0)
        pyro_size_value(model, first->sizes[0], &load->batch);
    if (first && first->rank == 2 && !pyro_dtype_is_floating(first->dtype))
        pyro_size_value(model, first->sizes[1], &load->sequence);
    load->cache_values_per_token = model->cache_values_per_token;
    load->generates = load->cache_values_per_token > 0 && load->sequence > 0;
    load->element_bytes = pyro_dtype_bytes(pyro_dtype_from_name(pyro_cost_dtype(load->cost)));
    return true;
}

/* Numbers the blocks in order of their first nodes; a node outside goes with the block before. */
static int order_blocks(fit_load *load, pyro_error *error)
{
    const pyro_graph *graph = load->model->graph;
    uint32_t *order = calloc(load->model->module_count + 1, sizeof *order), current = 1;
    load->block_of_node = pyro_arena_array(&load->arena, graph->node_count + 1,
                                           sizeof *load->block_of_node);
    if (!order || !load->block_of_node) {
        free(order);
        return pyro_fail_memory(error);
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        uint32_t module = graph->nodes[n].module;
        uint32_t block = module < load->model->module_count ? load->block_of[module] : 0;
        if (block && !order[block])
            order[block] = (uint32_t)++load->block_count;
        /* Outside of blocks, what needs no block (positions, masks) comes first. */
        current = block ? order[block] : current;
        load->block_of_node[n] = current;
    }
    free(order);
    return PYRO_OK;
}

static void note_uses(fit_load *load)
{
    const pyro_graph *graph = load->model->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        for (uint32_t a = 0; a < node->arg_count; a++) {
            const pyro_arg *arg = &node->args[a];
            bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
            for (uint32_t i = 0; tensors && i < arg->count; i++) {
                uint32_t value = arg->items.values[i];
                uint32_t index = value == PYRO_NO_VALUE ? FIT_NONE : load->values[value].parameter;
                if (index == FIT_NONE)
                    continue;
                fit_parameter *parameter = &load->parameters[index];
                if (parameter->first_node == FIT_NONE)
                    parameter->first_node = n;
                parameter->last_node = n;
            }
        }
    }
}

static int read_graph(fit_load *load, pyro_error *error)
{
    const pyro_model *model = load->model;
    bool found;
    load->parameters = pyro_arena_array(&load->arena, model->parameter_count + 1,
                                        sizeof *load->parameters);
    load->values = pyro_arena_array(&load->arena, model->graph->value_count + 1,
                                    sizeof *load->values);
    load->block_of = pyro_arena_array(&load->arena, model->module_count + 1,
                                      sizeof *load->block_of);
    if (!load->parameters || !load->values || !load->block_of)
        return pyro_fail_memory(error);
    int status = pyro_find_blocks(model, load->block_of, &found, error);
    for (size_t v = 0; v < model->graph->value_count; v++)
        load->values[v].parameter = load->values[v].producer = FIT_NONE;
    for (size_t p = 0; status == PYRO_OK && p < model->parameter_count; p++)
        if (!read_parameter(load, p))
            status = too_large(error);
    if (status == PYRO_OK && !read_inputs(load))
        status = too_large(error);
    if (status == PYRO_OK)
        status = order_blocks(load, error);
    if (status == PYRO_OK)
        note_uses(load);
    return status;
}

int fit_load_read(fit_load *out, pyro_model *model, const pyro_cost_options *cost,
                  const pyro_train_options *train, pyro_error *error)
{
    int status;
    *out = (fit_load){.model = model};
    pyro_arena_init(&out->arena);
    if (train) {
        status = pyro_train_compute(&out->train, model, cost, train, error);
        if (status == PYRO_OK) {
            out->cost = out->train->cost;
            out->pieces = &out->train->lifetimes;
            out->step_count = out->train->curve_count;
        }
    } else {
        status = pyro_cost_compute(&out->cost, model, cost, error);
        if (status == PYRO_OK)
            status = pyro_cost_lifetimes(out->cost, &out->lifetimes, error);
        out->pieces = &out->lifetimes;
        out->step_count = model->graph->node_count;
    }
    if (status == PYRO_OK)
        status = read_graph(out, error);
    return status == PYRO_OK ? fit_find_splits(out, error) : status;
}

void fit_load_free(fit_load *load)
{
    if (!load->train)
        pyro_cost_free(load->cost);
    pyro_train_free(load->train);
    pyro_lifetimes_free(&load->lifetimes);
    free(load->transfers);
    pyro_arena_free(&load->arena);
    *load = (fit_load){0};
}
