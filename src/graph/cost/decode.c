/* Finds the inputs of a decoding step that are the cache of past tokens, and their size. */
#include "graph/cost/cost.h"

#include "base/checked.h"
#include "graph/dims.h"
#include <string.h>

int pyro_cache_axis(const pyro_model *model, const pyro_value *value)
{
    if (value->cache_axis)
        return value->cache_axis - 1;
    if (!pyro_dtype_is_floating(value->dtype) || strstr(value->name, "mask"))
        return -1;
    for (size_t axis = 0; axis < value->rank; axis++) {
        const pyro_dim *dim = pyro_model_dim(model, value, axis);
        if (dim && !strcmp(dim->what, "past"))
            return (int)axis;
    }
    return -1;
}

static bool add_bytes(const pyro_cost *cost, const pyro_value *value, int64_t *bytes)
{
    int64_t size = pyro_dtype_bytes(pyro_cost_price_dtype(cost, value->dtype)), dim;
    for (size_t axis = 0; axis < value->rank; axis++)
        if (!pyro_size_value(cost->model, value->sizes[axis], &dim) ||
            !pyro_mul_i64(size, dim, &size))
            return false;
    return pyro_add_i64(*bytes, size, bytes);
}

bool pyro_cost_decode(const pyro_cost *cost, pyro_decode *out)
{
    const pyro_model *model = cost->model;
    *out = (pyro_decode){.sequences = 1};
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        int axis = pyro_cache_axis(model, value);
        int64_t past;
        if (axis < 0 || !pyro_size_value(model, value->sizes[axis], &past))
            continue;
        if (!add_bytes(cost, value, &out->cache_read_bytes))
            return false;
        if (past > out->past_tokens)
            out->past_tokens = past;
        out->cache_inputs++;
    }
    const pyro_value *first = pyro_model_find_input(model, NULL);
    int64_t batch;
    if (first && first->rank > 0 && pyro_size_value(model, first->sizes[0], &batch) && batch > 0)
        out->sequences = batch;
    out->cache_read_bytes_per_token = out->cache_read_bytes / out->sequences;
    if (out->past_tokens > 0)
        out->cache_bytes_per_past_token = out->cache_read_bytes_per_token / out->past_tokens;
    int64_t added;
    return out->cache_inputs > 0 &&
           pyro_mul_i64(out->cache_bytes_per_past_token, out->sequences, &added) &&
           pyro_add_i64(out->cache_read_bytes, added, &out->cache_bytes);
}
