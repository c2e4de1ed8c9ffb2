/* Computes the cost of a model: checks the options, walks the graph, rolls up. */
#include "graph/cost/walk.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_RIDGE = 50 };
/* From here on a second thread that populates memory saves more than it costs. */
enum { MANY_NODES = 50000 };

/* The element type of most parameters or, without parameters, of most inputs. */
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
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid convention");
    cost->dtype = prevailing_dtype(cost->model);
    if (!cost->options.dtype)
        return PYRO_OK;
    pyro_dtype dtype = pyro_dtype_from_name(cost->options.dtype);
    if (dtype == PYRO_DTYPE_UNKNOWN)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "unknown element type '%s'; try float32, float16, bfloat16, "
                         "float8_e4m3fn or int8",
                         cost->options.dtype);
    cost->options.dtype = cost->dtype = pyro_dtype_name(dtype);
    return PYRO_OK;
}

static int walk_and_roll_up(pyro_cost *cost, pyro_error *error)
{
    bool is_large = cost->model->graph->node_count >= MANY_NODES;
    pyro_populator *populator = is_large ? pyro_populator_start() : NULL;
    int status = pyro_walk_make_room(cost, cost->model->graph->node_count, populator) &&
                         pyro_cost_make_room(cost, populator)
                     ? PYRO_OK
                     : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_cost_walk(cost, error);
    if (status == PYRO_OK)
        status = pyro_cost_roll_up(cost, error);
    pyro_populator_stop(populator);
    return status;
}

static int compute(pyro_cost *cost, const pyro_cost_options *options, pyro_error *error)
{
    int status = apply_options(cost, options, error);
    if (status == PYRO_OK && cost->model->infer)
        status = cost->model->infer(cost->model, error);
    if (status == PYRO_OK)
        status = pyro_model_check_sizes(cost->model, error);
    for (size_t i = 0; status == PYRO_OK && i < cost->model->note_count; i++)
        if (!pyro_cost_note(cost, cost->model->notes[i]))
            status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = walk_and_roll_up(cost, error);
    if (status == PYRO_OK)
        status = pyro_cost_advise(cost, error);
    return status;
}

static int keep_dtypes(pyro_cost *cost, pyro_error *error)
{
    size_t count = cost->model->graph->value_count;
    if (!cost->hooks || !cost->hooks->value_dtypes)
        return PYRO_OK;
    cost->value_dtypes = pyro_arena_array(&cost->arena, count + 1, sizeof *cost->value_dtypes);
    if (!cost->value_dtypes)
        return pyro_fail_memory(error);
    memcpy(cost->value_dtypes, cost->hooks->value_dtypes, count * sizeof *cost->value_dtypes);
    return PYRO_OK;
}

int pyro_cost_compute(pyro_cost **out, pyro_model *model, const pyro_cost_options *options,
                      pyro_error *error)
{
    return pyro_cost_compute_with(out, model, options, NULL, error);
}

int pyro_cost_compute_with(pyro_cost **out, pyro_model *model, const pyro_cost_options *options,
                           const pyro_cost_hooks *hooks, pyro_error *error)
{
    pyro_cost *cost = calloc(1, sizeof *cost);
    if (!cost)
        return pyro_fail_memory(error);
    pthread_mutex_init(&cost->modules_lock, NULL);
    pyro_arena_init(&cost->arena);
    pyro_intern_init(&cost->types, &cost->arena);
    pyro_intern_init(&cost->reasons, &cost->arena);
    cost->model = model;
    cost->hooks = hooks;
    int status = keep_dtypes(cost, error);
    if (status == PYRO_OK)
        status = compute(cost, options, error);
    cost->hooks = NULL;
    if (status < 0) {
        pyro_error_where(error, model->file, NULL);
        pyro_cost_free(cost);
        return status;
    }
    *out = cost;
    return PYRO_OK;
}
