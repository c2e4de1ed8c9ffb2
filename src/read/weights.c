/* Adds stored tensors to a model as parameters, in layers after their dotted names. */
#include "read/weights.h"

#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/text/units.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TENSORS = 1 << 22 };

int pyro_weights_begin(pyro_model *model, pyro_error *error)
{
    model->graph = pyro_model_add_graph(model);
    return model->graph ? PYRO_OK : pyro_fail_memory(error);
}

static bool count_type(pyro_stored_types *types, const pyro_stored *stored, int64_t values)
{
    size_t i = 0, most = sizeof types->rows / sizeof *types->rows;
    while (i < types->count && strcmp(types->rows[i].name, stored->type))
        i++;
    if (i == most)
        i--;
    if (i == types->count)
        snprintf(types->rows[types->count++].name, sizeof types->rows[i].name, "%s", stored->type);
    types->rows[i].tensors++;
    return pyro_add_i64(types->rows[i].values, values, &types->rows[i].values) &&
           pyro_add_i64(types->rows[i].bytes, stored->bytes, &types->rows[i].bytes);
}

bool pyro_weights_count(pyro_stored_types *types, const pyro_stored *stored)
{
    int64_t values = 1;
    for (size_t d = 0; d < stored->rank; d++)
        if (stored->dims[d] < 0 || !pyro_mul_i64(values, stored->dims[d], &values))
            return false;
    return count_type(types, stored, values);
}

/* Statistics of norms and tables of positions are buffers in every framework. */
static pyro_role role_of(const char *name, size_t length)
{
    static const char *const buffers[] = {".running_mean", ".running_var", ".num_batches_tracked",
                                          ".inv_freq", ".position_ids"};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        size_t end = strlen(buffers[i]);
        if (length > end && !memcmp(name + length - end, buffers[i], end))
            return PYRO_ROLE_BUFFER;
    }
    return PYRO_ROLE_PARAMETER;
}

static int add_parameter(pyro_model *model, const pyro_stored *stored, uint32_t value,
                         pyro_error *error)
{
    const char *path = model->graph->values[value].name, *dot = strrchr(path, '.');
    uint32_t id = pyro_intern_add(&model->parameter_paths, path, stored->name_length);
    uint32_t owner = pyro_model_module(model, path, dot ? (size_t)(dot - path) : 0);
    if (id == PYRO_INTERN_NONE || owner == PYRO_NO_VALUE ||
        !pyro_grow(&model->parameters, &model->parameter_capacity, model->parameter_count + 1,
                   sizeof *model->parameters))
        return pyro_fail_memory(error);
    pyro_role role = stored->is_buffer ? PYRO_ROLE_BUFFER
                                       : role_of(stored->name, stored->name_length);
    model->graph->values[value].role = (uint8_t)role;
    model->parameters[model->parameter_count++] = (pyro_parameter){.path = path,
                                                                   .value = value,
                                                                   .module = owner,
                                                                   .role = (uint8_t)role,
                                                                   .tied_to = PYRO_NO_VALUE,
                                                                   .stored_bytes = stored->bytes};
    return PYRO_OK;
}

int pyro_weights_add(pyro_model *model, pyro_stored_types *types, const pyro_stored *stored,
                     pyro_error *error)
{
    pyro_graph *graph = model->graph;
    int64_t values = 1;
    for (size_t d = 0; d < stored->rank; d++)
        if (stored->dims[d] < 0 || !pyro_mul_i64(values, stored->dims[d], &values))
            return pyro_fail(error, PYRO_ERROR_FORMAT,
                             "tensor '%.*s' is too large: its values do not fit in 64 bits",
                             (int)(stored->name_length < 100 ? stored->name_length : 100),
                             stored->name);
    if (model->parameter_count >= MAX_TENSORS)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d tensors", MAX_TENSORS);
    size_t before = graph->value_count;
    uint32_t index = pyro_graph_value(graph, stored->name, stored->name_length);
    if (index == PYRO_NO_VALUE)
        return pyro_fail_memory(error);
    if (index < before)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "tensor '%.100s' is stored twice",
                         graph->values[index].name);
    pyro_size *sizes = pyro_arena_array(&model->arena, stored->rank + 1, sizeof *sizes);
    if (!sizes)
        return pyro_fail_memory(error);
    memcpy(sizes, stored->dims, stored->rank * sizeof *sizes);
    pyro_value *value = &graph->values[index];
    value->kind = PYRO_GRAPH_VALUE_TENSOR;
    value->sizes = sizes;
    value->rank = (uint8_t)stored->rank;
    value->dtype = (uint8_t)stored->dtype;
    value->made = true;
    if (!count_type(types, stored, values))
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the tensors do not fit in 64 bits");
    return add_parameter(model, stored, index, error);
}

int pyro_weights_end(pyro_model *model, const pyro_stored_types *types, pyro_error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < types->count; i++) {
        double bits = types->rows[i].values
                          ? 8 * (double)types->rows[i].bytes / (double)types->rows[i].values
                          : 0;
        char size[PYRO_UNIT_TEXT];
        pyro_format_bytes(size, types->rows[i].bytes);
        good = pyro_model_note(model,
                               "stored as %s: %" PRId64 " tensors, %" PRId64 " values, %s "
                               "(%.4g bits per value)",
                               types->rows[i].name, types->rows[i].tensors, types->rows[i].values,
                               size, bits);
    }
    if (good && !model->graph->node_count)
        good = pyro_model_note(model, "the file has weights but no graph: parameters and bytes are "
                                      "known, MACs and FLOPs are not");
    return good ? PYRO_OK : pyro_fail_memory(error);
}
