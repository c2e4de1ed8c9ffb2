/* The checks that turn a graph somebody sent into one that can be trusted, and tied weights. */
#include "graph/validate.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>

static int check_use(pyro_graph *graph, const pyro_node *node, uint32_t index, pyro_error *error)
{
    if (index == PYRO_NO_VALUE)
        return PYRO_OK;
    pyro_value *value = &graph->values[index];
    if (!value->made)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, node->offset,
                            "'%.100s' is used by '%.100s' (%.80s) before it is made: the graph is "
                            "cyclic or damaged",
                            value->name, node->name, node->target);
    value->used = true;
    return PYRO_OK;
}

static int check_args(pyro_graph *graph, const pyro_node *node, pyro_error *error)
{
    int status = PYRO_OK;
    for (uint32_t a = 0; status == PYRO_OK && a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        for (uint32_t i = 0; status == PYRO_OK && i < arg->count; i++) {
            if (arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS) {
                status = check_use(graph, node, arg->items.values[i], error);
                uint32_t value = arg->items.values[i];
                if (status == PYRO_OK && value != PYRO_NO_VALUE &&
                    graph->values[value].kind == PYRO_VALUE_UNDESCRIBED)
                    status = pyro_fail_at(error, PYRO_ERROR_FORMAT, node->offset,
                                          "'%.100s' has no shape in the file",
                                          graph->values[value].name);
            } else if (arg->kind == PYRO_ARG_INTEGER || arg->kind == PYRO_ARG_INTEGERS) {
                status = check_use(graph, node, arg->items.integers[i].value, error);
            }
        }
    }
    return status;
}

/* Nodes that do not name their layer are in that of the node around them. */
static void pass_module(const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        if (node->args[a].kind != PYRO_ARG_GRAPH)
            continue;
        const pyro_graph *body = node->args[a].items.graph;
        for (size_t n = 0; n < body->node_count; n++)
            if (body->nodes[n].module == PYRO_NO_VALUE)
                body->nodes[n].module = node->module;
    }
}

/* Weights that are passed into a subgraph are weights inside it as well. */
static void pass_roles(const pyro_graph *graph, const pyro_node *node)
{
    uint32_t last_graph = 0, operand = 0;
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH)
            last_graph = a;
    for (uint32_t a = last_graph + 1; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; i < (arg->count ? arg->count : 1); i++, operand++) {
            if (!tensors || !arg->count || arg->items.values[i] == PYRO_NO_VALUE)
                continue;
            uint8_t role = graph->values[arg->items.values[i]].role;
            for (uint32_t g = 0; g <= last_graph; g++) {
                if (node->args[g].kind != PYRO_ARG_GRAPH)
                    continue;
                const pyro_graph *body = node->args[g].items.graph;
                if (operand < body->input_count && body->inputs[operand] != PYRO_NO_VALUE)
                    body->values[body->inputs[operand]].role = role;
            }
        }
    }
}

static int validate_graph(pyro_graph *graph, pyro_error *error)
{
    for (size_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i] != PYRO_NO_VALUE)
            graph->values[graph->inputs[i]].made = true;
    for (size_t n = 0; n < graph->node_count; n++) {
        pyro_node *node = &graph->nodes[n];
        int status = check_args(graph, node, error);
        if (status < 0)
            return status;
        if (node->module == PYRO_NO_VALUE)
            node->module = 0;
        pass_module(node);
        pass_roles(graph, node);
        for (uint32_t o = 0; o < node->output_count; o++) {
            if (node->outputs[o] == PYRO_NO_VALUE)
                continue;
            pyro_value *value = &graph->values[node->outputs[o]];
            if (value->made)
                return pyro_fail_at(error, PYRO_ERROR_FORMAT, node->offset,
                                    "'%.100s' is made twice", value->name);
            value->made = true;
        }
    }
    return PYRO_OK;
}

/* Passing roles needs outer graphs first; the list has the inner ones, read later, in front. */
static int validate_outermost_first(pyro_graph *graph, pyro_error *error)
{
    pyro_graph *reversed = NULL;
    int status = PYRO_OK;
    for (pyro_graph *next; graph; graph = next) {
        next = graph->next;
        graph->next = reversed;
        reversed = graph;
    }
    for (pyro_graph *next; reversed; reversed = next) {
        next = reversed->next;
        if (status == PYRO_OK)
            status = validate_graph(reversed, error);
        reversed->next = graph;
        graph = reversed;
    }
    return status;
}

int pyro_model_validate(pyro_model *model, pyro_error *error)
{
    for (size_t p = 0; p < model->parameter_count; p++) {
        const pyro_value *value = &model->graph->values[model->parameters[p].value];
        if (value->kind != PYRO_VALUE_TENSOR)
            return pyro_fail(error, PYRO_ERROR_FORMAT, "weight '%.100s' has no shape in the file",
                             model->parameters[p].path);
    }
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        if (value->kind != PYRO_VALUE_TENSOR)
            return pyro_fail(error, PYRO_ERROR_FORMAT, "input '%.100s' has no shape in the file",
                             value->name);
    }
    pyro_exprs_settle(&model->exprs);
    return validate_outermost_first(model->all_graphs, error);
}

static bool same_shape(const pyro_value *a, const pyro_value *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes);
}

/* The parameter that a value is, or PYRO_MAP_NONE. */
static bool map_parameters(const pyro_model *model, pyro_map *parameter_of_value)
{
    for (size_t p = 0; p < model->parameter_count; p++)
        if (!pyro_map_put(parameter_of_value, model->parameters[p].value, (uint32_t)p))
            return false;
    return true;
}

/* Ties the unused parameters of the node's module to what the node uses in their place. */
static bool tie_by_node(pyro_model *model, const pyro_map *parameter_of_value,
                        const pyro_node *node, uint32_t value, const pyro_map *unused_of_module)
{
    uint32_t used = pyro_map_get(parameter_of_value, value);
    uint32_t unused = pyro_map_get(unused_of_module, node->module);
    if (used == PYRO_MAP_NONE || model->parameters[used].module == node->module)
        return true;
    for (; unused != PYRO_MAP_NONE && unused < model->parameter_count; unused++) {
        pyro_parameter *parameter = &model->parameters[unused];
        const pyro_value *values = model->graph->values;
        if (parameter->module != node->module || values[parameter->value].used ||
            parameter->role != PYRO_ROLE_PARAMETER || parameter->tied_to != PYRO_NO_VALUE ||
            !same_shape(&values[parameter->value], &values[value]))
            continue;
        parameter->tied_to = used;
        return pyro_model_note(model, "%s is counted as tied to %s, which its layer uses instead",
                               parameter->path, model->parameters[used].path);
    }
    return true;
}

static const char *leaf_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/*
 * A module with several names runs under one of them. Of a weight that is shared for certain, the
 * parameters that never run and have its shape, type and last name are further names.
 */
static bool tie_further_names(pyro_model *model, const bool *runs)
{
    const pyro_value *values = model->graph->values;
    size_t certain = 0;
    for (size_t p = 0; p < model->parameter_count && certain < 64; p++) {
        uint32_t root = model->parameters[p].tied_to;
        if (root == PYRO_NO_VALUE)
            continue;
        certain++;
        for (size_t q = 0; q < model->parameter_count; q++) {
            pyro_parameter *other = &model->parameters[q];
            if (other->tied_to != PYRO_NO_VALUE || other->role != PYRO_ROLE_PARAMETER ||
                runs[other->module] || values[other->value].used || q == root ||
                strcmp(leaf_name(other->path), leaf_name(model->parameters[p].path)) ||
                !same_shape(&values[other->value], &values[model->parameters[root].value]))
                continue;
            other->tied_to = root;
            if (!pyro_model_note(model, "%s is counted as tied to %s: its layer never runs",
                                 other->path, model->parameters[root].path))
                return false;
        }
    }
    return true;
}

int pyro_model_tie_unused(pyro_model *model, pyro_error *error)
{
    bool *runs = calloc(model->module_count, sizeof *runs);
    pyro_map parameter_of_value = PYRO_MAP_INIT, unused_of_module = PYRO_MAP_INIT;
    bool good = runs && map_parameters(model, &parameter_of_value);
    for (size_t p = model->parameter_count; good && p-- > 0;)
        if (!model->graph->values[model->parameters[p].value].used)
            good = pyro_map_put(&unused_of_module, model->parameters[p].module, (uint32_t)p);
    for (size_t n = 0; good && unused_of_module.count && n < model->graph->node_count; n++) {
        const pyro_node *node = &model->graph->nodes[n];
        runs[node->module] = true;
        for (uint32_t a = 0; a < node->arg_count; a++)
            if (good && node->args[a].kind == PYRO_ARG_TENSOR)
                good = tie_by_node(model, &parameter_of_value, node, node->args[a].items.values[0],
                                   &unused_of_module);
    }
    good = good && tie_further_names(model, runs);
    free(runs);
    pyro_map_free(&parameter_of_value);
    pyro_map_free(&unused_of_module);
    return good ? PYRO_OK : pyro_fail_memory(error);
}
