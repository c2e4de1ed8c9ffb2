/* Sizes of the parameters of a model, and which of them learn. */
#include "base/checked.h"
#include "base/error.h"
#include "graph/train/train.h"
#include <string.h>

static bool count_values(const pyro_train *train, uint32_t value, int64_t *values)
{
    const pyro_value *tensor = &train->model->graph->values[value];
    *values = 1;
    for (size_t d = 0; d < tensor->rank; d++) {
        int64_t size;
        if (!pyro_size_value(train->model, tensor->sizes[d], &size))
            size = 0;
        if (!pyro_mul_i64(*values, size, values))
            return false;
    }
    return true;
}

/* The type that a parameter is stored and updated in. */
static pyro_dtype parameter_dtype(const pyro_train *train, const pyro_cost_options *options,
                                  pyro_dtype dtype)
{
    if (!pyro_dtype_is_floating(dtype))
        return dtype;
    switch (train->options.precision) {
    case PYRO_PRECISION_FP32:
    case PYRO_PRECISION_BF16_MIXED:
    case PYRO_PRECISION_FP8:
        return PYRO_DTYPE_FLOAT32;
    case PYRO_PRECISION_BF16:
        return PYRO_DTYPE_BFLOAT16;
    default:
        return options && options->dtype ? pyro_dtype_from_name(options->dtype) : dtype;
    }
}

static bool matches(bool has, const regex_t *regex, const char *path)
{
    return has && regexec(regex, path, 0, NULL, 0) == 0;
}

static bool read_parameter(pyro_train *train, const pyro_cost_options *options, size_t index)
{
    const pyro_parameter *source = &train->model->parameters[index];
    train_parameter *parameter = &train->parameters[index];
    parameter->owner = source->tied_to != PYRO_NO_VALUE ? source->tied_to : (uint32_t)index;
    parameter->dtype = parameter_dtype(train, options,
                                       train->model->graph->values[source->value].dtype);
    if (!count_values(train, source->value, &parameter->values) ||
        !pyro_dtype_storage(parameter->dtype, parameter->values, &parameter->bytes))
        return false;
    if (source->stored_bytes && train->options.precision == PYRO_PRECISION_FILE &&
        !(options && options->dtype))
        parameter->bytes = source->stored_bytes;
    parameter->is_adapted = source->role == PYRO_ROLE_PARAMETER &&
                            matches(train->has_lora, &train->lora, source->path);
    parameter->is_trainable = source->role == PYRO_ROLE_PARAMETER &&
                              pyro_dtype_is_floating(parameter->dtype) && !train->has_lora &&
                              !matches(train->has_freeze, &train->freeze, source->path);
    train->parameter_of[source->value] = (uint32_t)index + 1;
    return true;
}

int pyro_train_find_parameters(pyro_train *train, pyro_error *error)
{
    const pyro_cost_options *options = train->cost_options;
    const pyro_model *model = train->model;
    train->parameters = pyro_arena_array(&train->arena, model->parameter_count + 1,
                                         sizeof *train->parameters);
    train->parameter_of = pyro_arena_array(&train->arena, model->graph->value_count + 1,
                                           sizeof *train->parameter_of);
    train->needs = pyro_arena_array(&train->arena, model->graph->value_count + 1,
                                    sizeof *train->needs);
    if (!train->parameters || !train->parameter_of || !train->needs)
        return pyro_fail_memory(error);
    for (size_t p = 0; p < model->parameter_count; p++)
        if (!read_parameter(train, options, p))
            return pyro_train_too_large(error);
    for (size_t p = 0; p < model->parameter_count; p++) {
        train_parameter *parameter = &train->parameters[p];
        if (parameter->owner < model->parameter_count)
            parameter->is_trainable = parameter->is_trainable &&
                                      train->parameters[parameter->owner].is_trainable;
        train->needs[model->parameters[p].value] = parameter->is_trainable;
    }
    return PYRO_OK;
}
