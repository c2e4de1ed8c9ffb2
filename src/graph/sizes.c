/* Sets the sizes of a model: finds the symbol, checks the file's constraints, updates all sizes. */
#include "graph/model.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/dims.h"
#include "graph/embedding_bounds.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unknown_input(const pyro_model *model, const char *name, pyro_error *error)
{
    pyro_buf names = PYRO_BUF_INIT;
    for (size_t i = 0; i < model->input_count && names.length < 200; i++) {
        pyro_buf_adds(&names, i ? ", " : "");
        pyro_buf_adds(&names, model->graph->values[model->inputs[i]].name);
    }
    int status = name
                     ? pyro_fail(error, PYRO_ERROR_ARGUMENT, "unknown input '%s'; the model has %s",
                                 name, names.length ? names.data : "no tensor inputs")
                     : pyro_fail(error, PYRO_ERROR_ARGUMENT, "the model has no tensor inputs");
    pyro_buf_free(&names);
    return status;
}

/* The first layer that reads a value: where its size became fixed. */
static const char *first_reader(const pyro_model *model, const pyro_value *value, const char **op)
{
    uint32_t index = (uint32_t)(value - model->graph->values);
    for (size_t n = 0; n < model->graph->node_count; n++) {
        const pyro_node *node = &model->graph->nodes[n];
        if (!strncmp(node->target, "aten.sym_", 9))
            continue; /* a size query does not fix the size */
        for (uint32_t a = 0; a < node->arg_count; a++) {
            const pyro_arg *arg = &node->args[a];
            if (arg->kind != PYRO_ARG_TENSOR && arg->kind != PYRO_ARG_TENSORS)
                continue;
            for (uint32_t i = 0; i < arg->count; i++)
                if (arg->items.values[i] == index) {
                    *op = node->target;
                    return model->modules[node->module].path;
                }
        }
    }
    *op = NULL;
    return "";
}

static int fixed_size(const pyro_model *model, const pyro_value *value, size_t dim, int64_t wanted,
                      int64_t fixed, pyro_error *error)
{
    if (model->facts.dims)
        return pyro_dim_fixed(model, value, dim, wanted, fixed, error);
    const char *op, *layer = first_reader(model, value, &op);
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "input '%s': dim %zu is fixed at %" PRId64 " in the file, not %" PRId64
                     "%s%s%s%s%s; export the model with dynamic_shapes to change it",
                     value->name, dim, fixed, wanted, op ? " (first used by " : "", op ? op : "",
                     op && *layer ? " in " : "", op ? layer : "", op ? ")" : "");
}

static int set_symbol(const pyro_value *value, size_t dim, pyro_symbol *symbol, int64_t wanted,
                      bool pin, pyro_error *error)
{
    char place[160] = "";
    if (value)
        snprintf(place, sizeof place, "input '%.100s': dim %zu: ", value->name, dim);
    /* Export never allows 1 where it saw 2 (0/1 specialisation), though the graph is the same. */
    int64_t least = symbol->min == 2 ? 1 : symbol->min;
    if (wanted < least || wanted > symbol->max) {
        char range[96];
        if (symbol->max == INT64_MAX)
            snprintf(range, sizeof range, "at least %" PRId64, least);
        else if (least == INT64_MIN)
            snprintf(range, sizeof range, "at most %" PRId64, symbol->max);
        else
            snprintf(range, sizeof range, "%" PRId64 " to %" PRId64, least, symbol->max);
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "%ssize %s must be %s, not %" PRId64 " (range constraint in the file)",
                         place, symbol->name, range, wanted);
    }
    if (symbol->pinned && symbol->value != wanted)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "%s%" PRId64 " contradicts another size: the file ties both to %s, which "
                         "is %" PRId64 " already",
                         place, wanted, symbol->name, symbol->value);
    symbol->value = wanted;
    symbol->known = true;
    symbol->pinned |= pin;
    return PYRO_OK;
}

static int set_dim(pyro_model *model, const pyro_value *value, size_t dim, int64_t wanted, bool pin,
                   pyro_error *error)
{
    pyro_size size = value->sizes[dim];
    if (wanted < 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "input '%s': dim %zu cannot be %" PRId64 ": sizes are 0 or more",
                         value->name, dim, wanted);
    if (size >= 0)
        return size == wanted ? PYRO_OK : fixed_size(model, value, dim, wanted, size, error);
    int status = pyro_dim_check(model, value, dim, wanted, error);
    if (status < 0)
        return status;
    pyro_symbol *symbol = pyro_expr_as_symbol(&model->exprs, (size_t)~size);
    int64_t solution = wanted;
    if (!symbol && !pyro_expr_solve(&model->exprs, (size_t)~size, wanted, &symbol, &solution)) {
        int64_t current;
        pyro_exprs_evaluate(&model->exprs);
        if (pyro_size_value(model, size, &current) && current == wanted)
            return PYRO_OK;
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "input '%s': dim %zu cannot be %" PRId64 ": it must be of the form %.200s",
                         value->name, dim, wanted, pyro_size_expr(model, size)->text);
    }
    return set_symbol(value, dim, symbol, solution, pin, error);
}

/* Copies all symbols for end_wish; NULL if memory runs out. */
static pyro_symbol *begin_wish(const pyro_model *model)
{
    const pyro_exprs *exprs = &model->exprs;
    pyro_symbol *saved = malloc((exprs->symbol_count + 1) * sizeof *saved);
    if (saved && exprs->symbol_count)
        memcpy(saved, exprs->symbols, exprs->symbol_count * sizeof *saved);
    return saved;
}

/* Restores every size if the request failed half-way. */
static int end_wish(pyro_model *model, pyro_symbol *saved, int status)
{
    pyro_exprs *exprs = &model->exprs;
    if (status < 0 && exprs->symbol_count)
        memcpy(exprs->symbols, saved, exprs->symbol_count * sizeof *saved);
    free(saved);
    pyro_exprs_evaluate(exprs);
    return status;
}

pyro_symbol *pyro_model_save_sizes(const pyro_model *model)
{
    return begin_wish(model);
}

void pyro_model_restore_sizes(pyro_model *model, const pyro_symbol *saved, bool open)
{
    pyro_exprs *exprs = &model->exprs;
    for (size_t i = 0; i < exprs->symbol_count; i++) {
        exprs->symbols[i] = saved[i];
        if (open)
            exprs->symbols[i].pinned = false;
    }
    pyro_exprs_evaluate(exprs);
}

static int set_dims(pyro_model *model, const pyro_value *value, const int64_t *dims, size_t rank,
                    bool pin, pyro_error *error)
{
    /* Plain symbols come first: they make the expressions of the other dims solvable. */
    for (int plain = 1; plain >= 0; plain--)
        for (size_t d = 0; d < rank; d++) {
            pyro_size size = value->sizes[d];
            bool is_plain = size >= 0 || pyro_expr_as_symbol(&model->exprs, (size_t)~size);
            int status = is_plain == plain ? set_dim(model, value, d, dims[d], pin, error) : 0;
            if (status < 0)
                return status;
        }
    return PYRO_OK;
}

static int set_shape(pyro_model *model, const char *input, const int64_t *dims, size_t rank,
                     bool pin, pyro_error *error)
{
    const pyro_value *value = pyro_model_find_input(model, input);
    if (!value)
        return unknown_input(model, input, error);
    if (value->rank != rank)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "input '%s' has %u dims in the file, not %zu",
                         value->name, value->rank, rank);
    pyro_symbol *saved = begin_wish(model);
    if (!saved)
        return pyro_fail_memory(error);
    return end_wish(model, saved, set_dims(model, value, dims, rank, pin, error));
}

int pyro_model_set_shape(pyro_model *model, const char *input, const int64_t *dims, size_t rank,
                         pyro_error *error)
{
    return set_shape(model, input, dims, rank, true, error);
}

int pyro_model_default_shape(pyro_model *model, const char *input, const int64_t *dims, size_t rank,
                             pyro_error *error)
{
    return set_shape(model, input, dims, rank, false, error);
}

static int set_batch(pyro_model *model, int64_t batch, pyro_error *error)
{
    const pyro_value *first = NULL;
    int64_t old_batch = -1;
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        int64_t size;
        if (value->rank == 0 || !pyro_size_value(model, value->sizes[0], &size))
            continue;
        if (!first) {
            first = value;
            old_batch = size;
        }
        /* Inputs that agree with the first in dim 0 are batched with it; others are not. */
        if (size != old_batch || (value != first && value->sizes[0] >= 0))
            continue;
        int status = set_dim(model, value, 0, batch, true, error);
        if (status < 0)
            return status;
    }
    if (!first)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "no input of the model has a batch dim");
    return PYRO_OK;
}

int pyro_model_set_batch(pyro_model *model, int64_t batch, pyro_error *error)
{
    pyro_symbol *saved = begin_wish(model);
    if (!saved)
        return pyro_fail_memory(error);
    return end_wish(model, saved, set_batch(model, batch, error));
}

int pyro_model_set_size(pyro_model *model, const char *symbol, int64_t size, pyro_error *error)
{
    uint32_t id = pyro_intern_find(&model->exprs.symbol_names, symbol, strlen(symbol));
    if (id == PYRO_INTERN_NONE || id >= model->exprs.symbol_count) {
        pyro_buf names = PYRO_BUF_INIT;
        for (size_t i = 0; i < model->exprs.symbol_count && names.length < 200; i++)
            pyro_buf_addf(&names, "%s%s", i ? ", " : "", model->exprs.symbols[i].name);
        int status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "unknown size '%s'; the model has: %s",
                               symbol, names.length ? names.data : "none");
        pyro_buf_free(&names);
        return status;
    }
    int status = set_symbol(NULL, 0, &model->exprs.symbols[id], size, true, error);
    if (status == PYRO_OK)
        pyro_exprs_evaluate(&model->exprs);
    return status;
}

/* If the file does not name the sequence, a matrix of integers is taken as tokens. */
static int set_plain_sequence(pyro_model *model, int64_t size, pyro_error *error)
{
    const pyro_value *value = pyro_model_find_input(model, NULL);
    if (!value || value->rank != 2 || pyro_dtype_is_floating(value->dtype))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "the file does not name the sequence length; give the shape of the input "
                         "instead");
    return set_dim(model, value, 1, size, true, error);
}

static int set_kind(pyro_model *model, const char *what, int64_t size, pyro_error *error)
{
    size_t found = 0;
    for (size_t i = 0; i < model->facts.dim_count; i++) {
        const pyro_dim *dim = &model->facts.dims[i];
        if (strcmp(dim->what, what))
            continue;
        const pyro_value *value = pyro_model_find_input(model, dim->input);
        if (!value || dim->axis >= value->rank)
            return pyro_fail(error, PYRO_ERROR_FORMAT, "no dim %zu of input '%.100s'", dim->axis,
                             dim->input);
        int status = set_dim(model, value, dim->axis, size, true, error);
        if (status < 0)
            return status;
        found++;
    }
    if (!found && !model->facts.dims && !strcmp(what, "sequence"))
        return set_plain_sequence(model, size, error);
    if (!found)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the model has no variable %.40s length",
                         what);
    return PYRO_OK;
}

int pyro_model_set_kind(pyro_model *model, const char *what, int64_t size, pyro_error *error)
{
    pyro_symbol *saved = begin_wish(model);
    if (!saved)
        return pyro_fail_memory(error);
    return end_wish(model, saved, set_kind(model, what, size, error));
}

/* Fails for an assertion node whose condition is false at these sizes. */
static int check_assertion(const pyro_model *model, const pyro_graph *graph, const pyro_node *node,
                           pyro_error *error)
{
    if (strncmp(node->target, "aten._assert_scalar", 19) || !node->arg_count ||
        node->args[0].kind != PYRO_ARG_INTEGER)
        return PYRO_OK;
    uint32_t index = node->args[0].items.integers[0].value;
    if (index == PYRO_NO_VALUE || graph->values[index].kind != PYRO_GRAPH_VALUE_SYMBOLIC)
        return PYRO_OK;
    pyro_size size = graph->values[index].sizes[0];
    const pyro_expr *expr = pyro_size_expr(model, size);
    if (!expr || expr->state != PYRO_EXPR_KNOWN || expr->value != 0 || !model->exprs.changed)
        return PYRO_OK;
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "these sizes break a condition of the model: %.200s (asserted in layer '%s')",
                     expr->text, model->modules[node->module].path);
}

static int check_value(const pyro_model *model, const char *layer, const pyro_value *value,
                       pyro_error *error)
{
    for (size_t d = 0; value->kind == PYRO_GRAPH_VALUE_TENSOR && d < value->rank; d++) {
        const pyro_expr *expr = pyro_size_expr(model, value->sizes[d]);
        if (!expr)
            continue;
        if (expr->state == PYRO_EXPR_OPAQUE || expr->state == PYRO_EXPR_OVERFLOW)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                             "dim %zu of '%s' cannot be computed at these sizes: %.200s", d,
                             value->name, expr->text);
        if (expr->state == PYRO_EXPR_KNOWN && expr->value < 0)
            return pyro_fail(
                error, PYRO_ERROR_ARGUMENT,
                "the input is too small: dim %zu of '%s' (layer '%s') would be %" PRId64, d,
                value->name, layer, expr->value);
    }
    return PYRO_OK;
}

static int check_graph(const pyro_model *model, const pyro_graph *graph, pyro_error *error)
{
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < graph->input_count; i++)
        if (graph->inputs[i] != PYRO_NO_VALUE)
            status = check_value(model, "", &graph->values[graph->inputs[i]], error);
    for (size_t n = 0; status == PYRO_OK && n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        const char *layer = model->modules[node->module].path;
        status = check_assertion(model, graph, node, error);
        for (uint32_t o = 0; status == PYRO_OK && o < node->output_count; o++)
            if (node->outputs[o] != PYRO_NO_VALUE)
                status = check_value(model, layer, &graph->values[node->outputs[o]], error);
    }
    return status;
}

static int check_guards(const pyro_model *model, pyro_error *error)
{
    for (size_t i = 0; i < model->guard_count; i++)
        if (pyro_expr_is_broken(&model->exprs, model->guards[i]))
            return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                             "at these sizes the model would run other operators than those in the "
                             "file, which requires %.300s",
                             model->exprs.items[model->guards[i]].text);
    return PYRO_OK;
}

int pyro_model_check_sizes(const pyro_model *model, pyro_error *error)
{
    int status = check_guards(model, error);
    for (const pyro_graph *graph = model->all_graphs; graph && status == PYRO_OK;
         graph = graph->next)
        status = check_graph(model, graph, error);
    return status == PYRO_OK ? pyro_model_check_indices(model, error) : status;
}
