/* Pricing a model: options in, a result with its accessors out. */
#include "graph/cost.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_RIDGE = 50 };

pyro_dtype pyro_cost_price_dtype(const pyro_cost *cost, pyro_dtype dtype)
{
    if (!cost->options.dtype || !pyro_dtype_is_floating(dtype))
        return dtype;
    return pyro_dtype_from_name(cost->options.dtype);
}

bool pyro_cost_note(pyro_cost *cost, const char *text)
{
    if (!pyro_grow(&cost->notes, &cost->note_capacity, cost->note_count + 1, sizeof *cost->notes))
        return false;
    cost->notes[cost->note_count++] = text;
    return true;
}

/* What most of the parameters are, or the inputs where there are none. */
static const char *prevailing_dtype(const pyro_model *model)
{
    size_t votes[PYRO_DTYPE_COUNT] = {0}, best = PYRO_DTYPE_FLOAT32;
    for (size_t p = 0; p < model->parameter_count; p++)
        votes[model->graph->values[model->parameters[p].value].dtype]++;
    for (size_t i = 0; i < model->input_count; i++)
        votes[model->graph->values[model->inputs[i]].dtype]++;
    bool found = false;
    for (size_t d = 0; d < PYRO_DTYPE_COUNT; d++)
        if (pyro_dtype_is_floating((pyro_dtype)d) && votes[d] &&
            (!found || votes[d] > votes[best])) {
            best = d;
            found = true;
        }
    return pyro_dtype_name((pyro_dtype)best);
}

static int apply_options(pyro_cost *cost, const pyro_cost_options *options, pyro_error *error)
{
    cost->options = options ? *options : (pyro_cost_options){.depth = -1};
    if (cost->options.ridge == 0)
        cost->options.ridge = DEFAULT_RIDGE;
    if (!(cost->options.ridge > 0))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the ridge must be a positive number");
    if ((unsigned)cost->options.convention >= PYRO_CONVENTION_COUNT)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "no such convention");
    cost->dtype = prevailing_dtype(cost->model);
    if (!cost->options.dtype)
        return PYRO_OK;
    pyro_dtype dtype = pyro_dtype_from_name(cost->options.dtype);
    if (dtype == PYRO_DTYPE_UNKNOWN)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "no element type is called '%s'; try float32, float16, bfloat16, "
                         "float8_e4m3fn or int8",
                         cost->options.dtype);
    cost->options.dtype = cost->dtype = pyro_dtype_name(dtype);
    return PYRO_OK;
}

static int compute(pyro_cost *cost, const pyro_cost_options *options, pyro_error *error)
{
    int status = apply_options(cost, options, error);
    if (status == PYRO_OK)
        status = pyro_model_check_sizes(cost->model, error);
    for (size_t i = 0; status == PYRO_OK && i < cost->model->note_count; i++)
        if (!pyro_cost_note(cost, cost->model->notes[i]))
            status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_cost_walk(cost, error);
    if (status == PYRO_OK)
        status = pyro_cost_roll_up(cost, error);
    if (status == PYRO_OK)
        status = pyro_cost_advise(cost, error);
    return status;
}

int pyro_cost_compute(pyro_cost **out, pyro_model *model, const pyro_cost_options *options,
                      pyro_error *error)
{
    pyro_cost *cost = calloc(1, sizeof *cost);
    if (!cost)
        return pyro_fail_memory(error);
    pyro_arena_init(&cost->arena);
    pyro_intern_init(&cost->types, &cost->arena);
    pyro_intern_init(&cost->reasons, &cost->arena);
    cost->model = model;
    int status = compute(cost, options, error);
    if (status < 0) {
        pyro_error_where(error, model->file, NULL);
        pyro_cost_free(cost);
        return status;
    }
    *out = cost;
    return PYRO_OK;
}

void pyro_cost_free(pyro_cost *cost)
{
    if (!cost)
        return;
    free(cost->nodes);
    free(cost->node_modules);
    free(cost->node_types);
    free(cost->node_origins);
    free(cost->uncounted);
    free(cost->notes);
    pyro_map_free(&cost->uncounted_of_key);
    pyro_intern_free(&cost->types);
    pyro_intern_free(&cost->reasons);
    pyro_arena_free(&cost->arena);
    free(cost);
}

pyro_model *pyro_cost_model(const pyro_cost *cost)
{
    return cost->model;
}

pyro_convention pyro_cost_convention(const pyro_cost *cost)
{
    return cost->options.convention;
}

double pyro_cost_ridge(const pyro_cost *cost)
{
    return cost->options.ridge;
}

int pyro_cost_depth(const pyro_cost *cost)
{
    return cost->options.depth;
}

const char *pyro_cost_dtype(const pyro_cost *cost)
{
    return cost->dtype;
}

const pyro_cost_row *pyro_cost_total(const pyro_cost *cost)
{
    return &cost->total;
}

const pyro_cost_row *pyro_cost_layers(const pyro_cost *cost, size_t *count)
{
    *count = cost->layer_count;
    return cost->layers;
}

const pyro_cost_row *pyro_cost_modules(const pyro_cost *cost, size_t *count)
{
    *count = cost->module_count;
    return cost->modules;
}

const pyro_cost_row *pyro_cost_operators(const pyro_cost *cost, size_t *count)
{
    *count = cost->operator_count;
    return cost->operators;
}

const pyro_cost_node *pyro_cost_nodes(const pyro_cost *cost, size_t *count)
{
    *count = cost->node_count;
    return cost->nodes;
}

const pyro_uncounted *pyro_cost_uncounted(const pyro_cost *cost, size_t *count)
{
    *count = cost->uncounted_count;
    return cost->uncounted;
}

double pyro_cost_coverage(const pyro_cost *cost)
{
    if (!cost->node_count)
        return 1;
    return 1 - (double)cost->uncounted_nodes / (double)cost->node_count;
}

int64_t pyro_cost_param_bytes(const pyro_cost *cost)
{
    return cost->param_bytes;
}

int64_t pyro_cost_buffer_values(const pyro_cost *cost)
{
    return cost->buffer_values;
}

const char *const *pyro_cost_advice(const pyro_cost *cost, size_t *count)
{
    *count = cost->advice_count;
    return cost->advice;
}

const char *const *pyro_cost_notes(const pyro_cost *cost, size_t *count)
{
    *count = cost->note_count;
    return cost->notes;
}
