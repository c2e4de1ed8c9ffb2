/* How much of a parameter one rank holds. Everything here is a formula of docs/reference/fit.md. */
#include "base/checked.h"
#include "fit/fit.h"

int64_t fit_part(int64_t units, int64_t ranks)
{
    return units / ranks + (units % ranks != 0);
}

int64_t fit_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return pyro_add_i64(a, b, &sum) ? sum : INT64_MAX;
}

int64_t fit_scale(int64_t amount, int64_t part, int64_t whole)
{
    if (part == whole || whole <= 0)
        return amount;
    __int128 scaled = ((__int128)amount * part + whole - 1) / whole;
    return scaled > INT64_MAX ? INT64_MAX : (int64_t)scaled;
}

/* The units that one rank of tensor parallelism has, padded as its libraries pad them. */
static int64_t tensor_units(const fit_parameter *parameter, int64_t ranks)
{
    int64_t block = PYRO_FIT_VOCABULARY_MULTIPLE;
    if (parameter->split == FIT_VOCABULARY)
        return fit_part(fit_part(parameter->units, ranks), block) * block;
    if (parameter->other_units)
        return fit_part(parameter->units, ranks) + 2 * fit_part(parameter->other_units, ranks);
    return fit_part(parameter->units, ranks);
}

static bool is_divided_by_experts(const fit_parameter *parameter, const pyro_layout *layout)
{
    return parameter->experts > 0 && layout->expert > 1;
}

static bool is_divided_by_tensors(const fit_parameter *parameter, const pyro_layout *layout)
{
    return parameter->is_parameter && parameter->split != FIT_WHOLE && layout->tensor > 1 &&
           !is_divided_by_experts(parameter, layout);
}

int64_t fit_local_values(const fit_parameter *parameter, const pyro_layout *layout)
{
    if (is_divided_by_experts(parameter, layout))
        return fit_scale(parameter->values, fit_part(parameter->experts, layout->expert),
                         parameter->experts);
    if (!is_divided_by_tensors(parameter, layout))
        return parameter->values;
    return fit_scale(parameter->values, tensor_units(parameter, layout->tensor),
                     parameter->units + 2 * parameter->other_units);
}

/* Of the two matrices of an adapter, the one on the divided side of its weight is divided. */
int64_t fit_local_adapter(const fit_parameter *parameter, const pyro_layout *layout)
{
    int64_t in = parameter->adapter_in, out = parameter->adapter_out;
    int64_t whole = parameter->units + 2 * parameter->other_units;
    if (!is_divided_by_tensors(parameter, layout))
        return in + out;
    int64_t units = tensor_units(parameter, layout->tensor);
    if (parameter->split == FIT_ROWS)
        return fit_scale(in, units, whole) + out;
    return in + fit_scale(out, units, whole);
}

/* Ranks that hold the same part of a parameter. */
static int64_t copies(const fit_parameter *parameter, const pyro_layout *layout)
{
    return is_divided_by_experts(parameter, layout) ? layout->data * layout->tensor / layout->expert
                                                    : layout->data;
}

int64_t fit_sharded_values(const fit_parameter *parameter, const pyro_layout *layout,
                           pyro_sharding sharding)
{
    int64_t local = fit_local_values(parameter, layout), ranks = copies(parameter, layout);
    if (sharding == PYRO_SHARDING_NONE || ranks <= 1 || !parameter->is_parameter)
        return local;
    if (sharding != PYRO_SHARDING_FSDP)
        return fit_part(local, ranks);
    int64_t rows = parameter->rows;
    if (is_divided_by_experts(parameter, layout))
        rows = fit_part(parameter->experts, layout->expert);
    else if (is_divided_by_tensors(parameter, layout) && parameter->along_rows)
        rows = fit_scale(rows, local, parameter->values);
    return fit_scale(local, fit_part(rows, ranks), rows);
}

int64_t fit_sharded_adapter(const fit_parameter *parameter, const pyro_layout *layout,
                            pyro_sharding sharding)
{
    int64_t local = fit_local_adapter(parameter, layout), ranks = copies(parameter, layout);
    return sharding == PYRO_SHARDING_NONE || ranks <= 1 ? local : fit_part(local, ranks);
}
