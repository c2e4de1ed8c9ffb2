/* Computes the cost of a training step: walks the cost with its hooks, then each part in turn. */
#include "graph/train/train.h"

#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

static bool is_mixed(const pyro_train *train)
{
    return train->options.precision == PYRO_PRECISION_BF16_MIXED ||
           train->options.precision == PYRO_PRECISION_FP8;
}

/* The bytes that are held all the time, and the numbers of parameters. */
static bool count_held(pyro_train *train)
{
    pyro_train_total *total = &train->total;
    for (size_t p = 0; p < train->model->parameter_count; p++) {
        const train_parameter *parameter = &train->parameters[p];
        const pyro_parameter *source = &train->model->parameters[p];
        int64_t low = 0, adapter = 0;
        if (parameter->owner != p)
            continue;
        bool lowered = is_mixed(train) && train->dtypes &&
                       train->dtypes[source->value] != PYRO_DTYPE_FLOAT32 &&
                       pyro_dtype_is_floating(parameter->dtype);
        bool master = is_mixed(train) && source->role == PYRO_ROLE_PARAMETER;
        if (lowered &&
            !pyro_dtype_storage((pyro_dtype)train->dtypes[source->value], parameter->values, &low))
            return false;
        if (!pyro_dtype_storage(parameter->dtype, parameter->adapter_values, &adapter) ||
            !pyro_add_i64(total->weight_bytes, master ? low : parameter->bytes,
                          &total->weight_bytes) ||
            !pyro_add_i64(total->weight_bytes, adapter, &total->weight_bytes) ||
            !pyro_add_i64(total->master_weight_bytes, master ? parameter->bytes : 0,
                          &total->master_weight_bytes))
            return false;
        if (source->role != PYRO_ROLE_PARAMETER)
            continue;
        total->lora_params += parameter->adapter_values;
        if (parameter->is_trainable)
            total->trainable_params += parameter->values;
        else
            total->frozen_params += parameter->values;
    }
    total->trainable_params += total->lora_params;
    for (size_t i = 0; i < train->model->input_count; i++) {
        int64_t bytes;
        if (!pyro_value_bytes(train->cost, train->model->inputs[i], &bytes) ||
            !pyro_add_i64(total->input_bytes, bytes, &total->input_bytes))
            return false;
    }
    return true;
}

static int add_notes(pyro_train *train, pyro_error *error)
{
    const pyro_train_total *total = &train->total;
    bool good = true;
    if (train->assumed) {
        const char *text = pyro_arena_format(
            &train->arena, "%lld operators have no rule for their backward: all inputs are kept",
            (long long)train->assumed);
        good = text && pyro_train_note(train, text);
    }
    if (good && !total->gradient_bytes)
        good = pyro_train_note(train, "no parameter gets a gradient: nothing is learned");
    if (good && train->has_lora && !total->lora_params)
        good = pyro_train_note(train, "lora: no weight of a linear layer matches");
    return good ? PYRO_OK : pyro_fail_memory(error);
}

/* Walks the graph; the visits describe every backward. */
static int walk(pyro_train *train, const pyro_cost_options *options, pyro_error *error)
{
    const pyro_graph *graph = train->model->graph;
    pyro_cost_options changed = options ? *options : (pyro_cost_options){.depth = -1};
    pyro_cost_hooks hooks = {
        .training = true, .value_dtypes = train->dtypes, .visit = pyro_train_visit, .user = train};
    if (train->options.precision == PYRO_PRECISION_FP32)
        changed.dtype = "float32";
    else if (train->options.precision == PYRO_PRECISION_BF16)
        changed.dtype = "bfloat16";
    train->steps = pyro_arena_array(&train->arena, graph->node_count + 1, sizeof *train->steps);
    train->bases = pyro_arena_array(&train->arena, graph->value_count + 1, sizeof *train->bases);
    if (!train->steps || !train->bases)
        return pyro_fail_memory(error);
    for (size_t v = 0; v < graph->value_count; v++)
        train->bases[v] = (uint32_t)v;
    return pyro_cost_compute_with(&train->cost, train->model, &changed, &hooks, error);
}

static int compute(pyro_train *train, const pyro_cost_options *cost_options,
                   const pyro_train_options *options, pyro_error *error)
{
    int status = pyro_train_read_options(train, options, error);
    train->cost_options = cost_options;
    if (status == PYRO_OK && train->model->infer)
        status = train->model->infer(train->model, error);
    if (status == PYRO_OK)
        status = pyro_train_find_parameters(train, error);
    if (status == PYRO_OK && is_mixed(train))
        status = pyro_train_find_dtypes(train, error);
    if (status == PYRO_OK)
        status = walk(train, cost_options, error);
    if (status == PYRO_OK)
        status = pyro_storages_find(&train->storages, train->cost, error);
    if (status == PYRO_OK)
        status = pyro_train_find_flow(train, error);
    if (status == PYRO_OK)
        status = pyro_train_find_segments(train, error);
    if (status == PYRO_OK)
        status = pyro_train_optimize(train, error);
    if (status == PYRO_OK && !count_held(train))
        status = pyro_train_too_large(error);
    if (status == PYRO_OK)
        status = pyro_train_schedule(train, error);
    if (status == PYRO_OK)
        status = pyro_train_sum(train, error);
    return status == PYRO_OK ? add_notes(train, error) : status;
}

int pyro_train_compute(pyro_train **out, pyro_model *model, const pyro_cost_options *cost_options,
                       const pyro_train_options *options, pyro_error *error)
{
    pyro_train *train = calloc(1, sizeof *train);
    if (!train)
        return pyro_fail_memory(error);
    pyro_arena_init(&train->arena);
    train->model = model;
    int status = compute(train, cost_options, options, error);
    train->cost_options = NULL;
    if (status < 0) {
        pyro_train_free(train);
        return status;
    }
    *out = train;
    return PYRO_OK;
}

void pyro_train_free(pyro_train *train)
{
    if (!train)
        return;
    if (train->has_freeze)
        regfree(&train->freeze);
    if (train->has_lora)
        regfree(&train->lora);
    pyro_storages_free(&train->storages);
    pyro_lifetimes_free(&train->lifetimes);
    pyro_map_free(&train->body_of);
    pyro_cost_free(train->cost);
    free(train->bodies);
    free(train->saved);
    free(train->segments);
    free(train->nodes);
    free(train->notes);
    pyro_arena_free(&train->arena);
    free(train);
}
