/* Infers which parameters are the same weight if the file does not say so. */
#include "graph/ties.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>

/* Maximum number of groups: enough for any model, and bounded for hostile files. */
enum { MOST_GROUPS = 64 };

/* A layer has a handful of weights; the limit bounds the time on hostile files. */
enum { MOST_CANDIDATES = 64 };

static bool same_shape(const pyro_value *a, const pyro_value *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes);
}

/* Look-up tables of the search for tied weights. */
typedef struct ties {
    pyro_map parameter_of_value;
    pyro_map unused_of_module; /* the first one; PYRO_MAP_NONE: none */
    uint32_t *next_unused;     /* of the same module, by parameter */
} ties;

static bool prepare_ties(const pyro_model *model, ties *ties)
{
    ties->next_unused = calloc(model->parameter_count + 1, sizeof *ties->next_unused);
    if (!ties->next_unused)
        return false;
    for (size_t p = model->parameter_count; p-- > 0;) {
        const pyro_parameter *parameter = &model->parameters[p];
        if (!pyro_map_put(&ties->parameter_of_value, parameter->value, (uint32_t)p))
            return false;
        if (model->graph->values[parameter->value].used)
            continue;
        ties->next_unused[p] = pyro_map_get(&ties->unused_of_module, parameter->module);
        if (!pyro_map_put(&ties->unused_of_module, parameter->module, (uint32_t)p))
            return false;
    }
    return true;
}

/* Ties the unused parameters of the node's module to those that the node uses instead. */
static bool tie_by_node(pyro_model *model, const ties *ties, const pyro_node *node, uint32_t value)
{
    uint32_t used = pyro_map_get(&ties->parameter_of_value, value);
    uint32_t unused = pyro_map_get(&ties->unused_of_module, node->module);
    if (used == PYRO_MAP_NONE || model->parameters[used].module == node->module)
        return true;
    for (int tried = 0; unused != PYRO_MAP_NONE && tried < MOST_CANDIDATES; tried++) {
        pyro_parameter *parameter = &model->parameters[unused];
        const pyro_value *values = model->graph->values;
        unused = ties->next_unused[unused];
        if (parameter->role != PYRO_ROLE_PARAMETER || parameter->tied_to != PYRO_NO_VALUE ||
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
 * A module with several names runs under one of them. Unused parameters with the shape, type and
 * last name of a weight that is certainly shared are further names of it.
 */
static bool tie_further_names(pyro_model *model, const bool *runs)
{
    const pyro_value *values = model->graph->values;
    size_t certain = 0;
    for (size_t p = 0; p < model->parameter_count && certain < MOST_GROUPS; p++) {
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

/*
 * Ties the table of an embedding and an unused parameter of the same shape and type whose layer
 * never runs: models that share a vocabulary between several stacks give it an extra name.
 */
static bool tie_embeddings(pyro_model *model, const ties *ties, const bool *runs)
{
    const pyro_value *values = model->graph->values;
    size_t tables = 0;
    for (size_t n = 0; n < model->graph->node_count && tables < MOST_GROUPS; n++) {
        const pyro_node *node = &model->graph->nodes[n];
        if (strncmp(node->target, "aten.embedding.", 15) || !node->arg_count ||
            node->args[0].kind != PYRO_ARG_TENSOR)
            continue;
        uint32_t table = pyro_map_get(&ties->parameter_of_value, node->args[0].items.values[0]);
        tables++;
        for (size_t p = 0; table != PYRO_MAP_NONE && p < model->parameter_count; p++) {
            pyro_parameter *parameter = &model->parameters[p];
            if (parameter->tied_to != PYRO_NO_VALUE || parameter->role != PYRO_ROLE_PARAMETER ||
                runs[parameter->module] || values[parameter->value].used || p == table ||
                !same_shape(&values[parameter->value], &values[model->parameters[table].value]))
                continue;
            parameter->tied_to = table;
            if (!pyro_model_note(model,
                                 "%s is counted as tied to %s, a table of the same shape: "
                                 "its layer never runs",
                                 parameter->path, model->parameters[table].path))
                return false;
        }
    }
    return true;
}

static bool has_unused(const pyro_model *model)
{
    for (size_t p = 0; p < model->parameter_count; p++)
        if (!model->graph->values[model->parameters[p].value].used)
            return true;
    return false;
}

int pyro_model_tie_unused(pyro_model *model, pyro_error *error)
{
    if (!has_unused(model))
        return PYRO_OK;
    bool *runs = calloc(model->module_count, sizeof *runs);
    ties ties = {PYRO_MAP_INIT, PYRO_MAP_INIT, NULL};
    bool good = runs && prepare_ties(model, &ties);
    for (size_t n = 0; good && ties.unused_of_module.count && n < model->graph->node_count; n++) {
        const pyro_node *node = &model->graph->nodes[n];
        runs[node->module] = true;
        for (uint32_t a = 0; a < node->arg_count; a++)
            if (good && node->args[a].kind == PYRO_ARG_TENSOR)
                good = tie_by_node(model, &ties, node, node->args[a].items.values[0]);
    }
    good = good && tie_further_names(model, runs) && tie_embeddings(model, &ties, runs);
    free(runs);
    free(ties.next_unused);
    pyro_map_free(&ties.parameter_of_value);
    pyro_map_free(&ties.unused_of_module);
    return good ? PYRO_OK : pyro_fail_memory(error);
}
