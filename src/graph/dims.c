/* Describes in words which sizes of a model may change, and writes the errors for invalid ones. */
#include "graph/dims.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <inttypes.h>
#include <string.h>

/* A file names a size once, at the first input that has it; others share its expression. */
static bool is_same_size(const pyro_model *model, const pyro_dim *dim, pyro_size size)
{
    const pyro_value *value = size < 0 ? pyro_model_find_input(model, dim->input) : NULL;
    return value && dim->axis < value->rank && value->sizes[dim->axis] == size;
}

const pyro_dim *pyro_model_dim(const pyro_model *model, const pyro_value *value, size_t axis)
{
    for (size_t i = 0; i < model->facts.dim_count; i++) {
        const pyro_dim *dim = &model->facts.dims[i];
        if (dim->axis == axis && !strcmp(dim->input, value->name))
            return dim;
    }
    for (size_t i = 0; i < model->facts.dim_count; i++)
        if (is_same_size(model, &model->facts.dims[i], value->sizes[axis]))
            return &model->facts.dims[i];
    return NULL;
}

static void add_range(pyro_buf *buf, const pyro_dim *dim)
{
    if (dim->multiple > 1)
        pyro_buf_addf(buf, "a multiple of %" PRId64 ", ", dim->multiple);
    if (dim->max == INT64_MAX)
        pyro_buf_addf(buf, "%" PRId64 " or more", dim->min);
    else if (dim->max == dim->min)
        pyro_buf_addf(buf, "%" PRId64, dim->min);
    else
        pyro_buf_addf(buf, "%" PRId64 " to %" PRId64, dim->min, dim->max);
}

/* "[batch, 3, height, 224] (batch 1 or more; height a multiple of 32, 64 or more)". */
static void describe_shape(pyro_buf *buf, const pyro_model *model, const pyro_value *value)
{
    size_t open = 0;
    pyro_buf_addc(buf, '[');
    for (size_t axis = 0; axis < value->rank; axis++) {
        const pyro_dim *dim = pyro_model_dim(model, value, axis);
        int64_t size = 0;
        pyro_buf_adds(buf, axis ? ", " : "");
        if (dim)
            pyro_buf_adds(buf, dim->what);
        else if (pyro_size_value(model, value->sizes[axis], &size))
            pyro_buf_addf(buf, "%" PRId64, size);
        else
            pyro_buf_addc(buf, '?');
    }
    pyro_buf_addc(buf, ']');
    for (size_t axis = 0; axis < value->rank; axis++) {
        const pyro_dim *dim = pyro_model_dim(model, value, axis);
        if (!dim)
            continue;
        pyro_buf_addf(buf, "%s%s ", open++ ? "; " : " (", dim->what);
        add_range(buf, dim);
    }
    pyro_buf_adds(buf, open ? ")" : "");
}

int pyro_dim_check(const pyro_model *model, const pyro_value *value, size_t axis, int64_t wanted,
                   pyro_error *error)
{
    const pyro_dim *dim = pyro_model_dim(model, value, axis);
    if (!dim || (wanted >= dim->min && wanted <= dim->max && wanted % dim->multiple == 0))
        return PYRO_OK;
    pyro_buf shape = PYRO_BUF_INIT, range = PYRO_BUF_INIT;
    describe_shape(&shape, model, value);
    add_range(&range, dim);
    int64_t nearest = wanted - wanted % dim->multiple;
    if (nearest < dim->min)
        nearest += dim->multiple;
    if (nearest != wanted && nearest >= dim->min && nearest <= dim->max)
        pyro_buf_addf(&range, " (such as %" PRId64 ")", nearest);
    int status = pyro_fail(
        error, PYRO_ERROR_ARGUMENT,
        "input '%.60s': %.40s cannot be %" PRId64 ": it must be %s; valid shapes are %.250s",
        value->name, dim->what, wanted, range.data ? range.data : "", shape.data ? shape.data : "");
    pyro_buf_free(&shape);
    pyro_buf_free(&range);
    return status;
}

int pyro_dim_fixed(const pyro_model *model, const pyro_value *value, size_t axis, int64_t wanted,
                   int64_t fixed, pyro_error *error)
{
    pyro_buf shape = PYRO_BUF_INIT;
    describe_shape(&shape, model, value);
    int status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "input '%.60s': dim %zu is fixed at %" PRId64 ", not %" PRId64
                           "; valid shapes are %.200s%s%.150s",
                           value->name, axis, fixed, wanted, shape.data ? shape.data : "",
                           *model->facts.variants ? "; models for other sizes: " : "",
                           model->facts.variants);
    pyro_buf_free(&shape);
    return status;
}
