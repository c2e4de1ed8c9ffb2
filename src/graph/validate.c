/* Validates an untrusted graph after reading. */
#include "graph/validate.h"

#include "base/error.h"

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

static int no_shape(const pyro_node *node, const pyro_value *value, pyro_error *error)
{
    return pyro_fail_at(error, PYRO_ERROR_FORMAT, node->offset, "'%.100s' has no shape in the file",
                        value->name);
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
                    graph->values[value].kind == PYRO_GRAPH_VALUE_UNDESCRIBED)
                    status = no_shape(node, &graph->values[value], error);
            } else if (arg->kind == PYRO_ARG_INTEGER || arg->kind == PYRO_ARG_INTEGERS) {
                status = check_use(graph, node, arg->items.integers[i].value, error);
            }
        }
    }
    return status;
}

/* Nodes without a layer belong to that of the enclosing node. */
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

/* Copies the roles of the operands (the arguments from `a` on) to the inputs of a body. */
static void pass_roles_into(const pyro_graph *graph, const pyro_node *node, uint32_t a,
                            const pyro_graph *body)
{
    for (size_t operand = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; i < (arg->count ? arg->count : 1); i++, operand++) {
            if (operand >= body->input_count)
                return;
            if (tensors && i < arg->count && arg->items.values[i] != PYRO_NO_VALUE &&
                body->inputs[operand] != PYRO_NO_VALUE)
                body->values[body->inputs[operand]].role = graph->values[arg->items.values[i]].role;
        }
    }
}

/* Weights that are passed into a subgraph are weights inside it too. */
static void pass_roles(const pyro_graph *graph, const pyro_node *node)
{
    uint32_t operands = node->arg_count;
    while (operands > 0 && node->args[operands - 1].kind != PYRO_ARG_GRAPH)
        operands--;
    for (uint32_t g = 0; g < operands; g++)
        if (node->args[g].kind == PYRO_ARG_GRAPH)
            pass_roles_into(graph, node, operands, node->args[g].items.graph);
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
            if (value->kind == PYRO_GRAPH_VALUE_UNDESCRIBED)
                return no_shape(node, value, error);
            value->made = true;
        }
    }
    return PYRO_OK;
}

/* Roles pass from outer to inner graphs; the list has the inner ones, read later, in front. */
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
        if (value->kind != PYRO_GRAPH_VALUE_TENSOR)
            return pyro_fail(error, PYRO_ERROR_FORMAT, "weight '%.100s' has no shape in the file",
                             model->parameters[p].path);
    }
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        if (value->kind != PYRO_GRAPH_VALUE_TENSOR)
            return pyro_fail(error, PYRO_ERROR_FORMAT, "input '%.100s' has no shape in the file",
                             value->name);
    }
    pyro_exprs_settle(&model->exprs);
    return validate_outermost_first(model->all_graphs, error);
}
