/* Rolls nodes up into rows: layers, the module tree, operator types and the whole model. */
#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/pages.h"
#include "graph/cost/cost.h"
#include <stdlib.h>
#include <string.h>

/* Adds two amounts. Records an overflow, to distinguish it from a lack of memory. */
static bool add(pyro_cost *cost, int64_t *sum, int64_t amount)
{
    if (pyro_add_i64(*sum, amount, sum))
        return true;
    cost->overflow = true;
    return false;
}

static bool add_work(pyro_cost *cost, pyro_work *sum, const pyro_work *work)
{
    return add(cost, &sum->macs, work->macs) && add(cost, &sum->flops, work->flops) &&
           add(cost, &sum->activation_read_bytes, work->activation_read_bytes) &&
           add(cost, &sum->weight_read_bytes, work->weight_read_bytes) &&
           add(cost, &sum->written_bytes, work->written_bytes) &&
           add(cost, &sum->params, work->params);
}

/* Computes the figures that follow from the sums. */
static bool finish_row(pyro_cost *cost, pyro_cost_row *row)
{
    const pyro_work *work = &row->work;
    row->memory_bytes = work->activation_read_bytes;
    if (!add(cost, &row->memory_bytes, work->weight_read_bytes) ||
        !add(cost, &row->memory_bytes, work->written_bytes))
        return false;
    if (row->memory_bytes > 0)
        row->arithmetic_intensity = (double)work->flops / (double)row->memory_bytes;
    if (row->memory_bytes == 0)
        row->bound = PYRO_BOUND_NONE;
    else
        row->bound = row->arithmetic_intensity >= cost->options.ridge ? PYRO_BOUND_COMPUTE
                                                                      : PYRO_BOUND_MEMORY;
    return true;
}

/* Parameter values and bytes of one parameter; false on overflow. */
static bool parameter_size(pyro_cost *cost, const pyro_parameter *parameter, int64_t *values,
                           int64_t *bytes)
{
    const pyro_value *value = &cost->model->graph->values[parameter->value];
    *values = 1;
    for (size_t d = 0; d < value->rank; d++) {
        int64_t size;
        if (!pyro_size_value(cost->model, value->sizes[d], &size))
            size = 0;
        cost->overflow |= !pyro_mul_i64(*values, size, values);
    }
    cost->overflow |= !pyro_dtype_storage(pyro_cost_price_dtype(cost, value->dtype), *values,
                                          bytes);
    if (parameter->stored_bytes && !cost->options.dtype)
        *bytes = parameter->stored_bytes;
    return !cost->overflow;
}

/* The module whose row gets a module's work. */
static uint32_t row_module(const pyro_cost *cost, uint32_t module)
{
    const pyro_module *modules = cost->model->modules;
    while (cost->options.depth >= 0 && modules[module].depth > (uint32_t)cost->options.depth)
        module = modules[module].parent;
    return module;
}

/* What a module itself does, without the modules in it. */
typedef struct module_sum {
    pyro_work work;
    int64_t operators;
    const char *type; /* the leading one; NULL: it has no nodes */
} module_sum;

/* Sums of nodes and parameters, one per module, and the leading type of each. */
typedef struct sums {
    module_sum *self; /* by module, disjoint */
    bool *present;
    uint32_t *order; /* modules in the order of their first node */
    size_t order_count;
    int64_t (*leader)[2]; /* by module: FLOPs and bytes of its leading type */
    const char **types;   /* names of the types in lower case */
} sums;

static void touch(sums *sums, uint32_t module)
{
    if (sums->present[module])
        return;
    sums->present[module] = true;
    sums->order[sums->order_count++] = module;
}

static bool add_nodes(pyro_cost *cost, sums *sums)
{
    for (size_t n = 0; n < cost->node_count; n++) {
        uint32_t module = cost->node_modules[n];
        touch(sums, module);
        sums->self[module].operators++;
        if (!add_work(cost, &sums->self[module].work, &cost->nodes[n].work))
            return false;
    }
    return true;
}

/* Writes types as in the layers' rows: "conv2d" for "Conv2D". */
static bool lower_types(pyro_cost *cost, sums *sums)
{
    sums->types = calloc(cost->types.count + 1, sizeof *sums->types);
    bool good = sums->types != NULL;
    for (size_t i = 0; good && i < cost->types.count; i++) {
        const pyro_intern_entry *type = &cost->types.entries[i];
        char *copy = pyro_arena_text(&cost->arena, type->text, type->length);
        for (char *c = copy; c && *c; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c - 'A' + 'a');
        sums->types[i] = copy;
        good = copy != NULL;
    }
    return good;
}

/* FLOPs and bytes of one type of operator in a module. */
typedef struct type_amount {
    int64_t flops, bytes;
    uint32_t module; /* 1 + the module that this is about */
} type_amount;

/* Keeps the type with the most FLOPs (then bytes) in front. */
static bool lead(pyro_cost *cost, sums *sums, type_amount *amounts, uint32_t module, size_t node)
{
    const pyro_work *work = &cost->nodes[node].work;
    type_amount *amount = &amounts[cost->node_types[node]];
    int64_t *leader = sums->leader[module];
    if (amount->module != module + 1)
        *amount = (type_amount){.module = module + 1};
    if (!add(cost, &amount->flops, work->flops) ||
        !add(cost, &amount->bytes, work->activation_read_bytes) ||
        !add(cost, &amount->bytes, work->weight_read_bytes) ||
        !add(cost, &amount->bytes, work->written_bytes))
        return false;
    if (!sums->self[module].type || amount->flops > leader[0] ||
        (amount->flops == leader[0] && amount->bytes > leader[1])) {
        sums->self[module].type = sums->types[cost->node_types[node]];
        leader[0] = amount->flops;
        leader[1] = amount->bytes;
    }
    return true;
}

/* Looks at the nodes of one module after the other, so that one table of types is enough. */
static bool find_leaders(pyro_cost *cost, sums *sums)
{
    size_t modules = cost->model->module_count;
    uint32_t *first = pyro_calloc_pages(modules, sizeof *first); /* by module: 1 + its first node */
    uint32_t *next = malloc((cost->node_count + 1) * sizeof *next); /* by node, likewise */
    type_amount *amounts = calloc(cost->types.count + 1, sizeof *amounts);
    bool good = first && next && amounts;
    for (size_t n = good ? cost->node_count : 0; n-- > 0;) {
        next[n] = first[cost->node_modules[n]];
        first[cost->node_modules[n]] = (uint32_t)n + 1;
    }
    for (size_t i = 0; good && i < sums->order_count; i++)
        for (uint32_t n = first[sums->order[i]]; good && n; n = next[n - 1])
            good = lead(cost, sums, amounts, sums->order[i], n - 1);
    free(first);
    free(next);
    free(amounts);
    return good;
}

static bool add_parameters(pyro_cost *cost, sums *sums)
{
    const pyro_model *model = cost->model;
    for (size_t p = 0; p < model->parameter_count; p++) {
        const pyro_parameter *parameter = &model->parameters[p];
        int64_t values, bytes;
        if (parameter->tied_to != PYRO_NO_VALUE)
            continue;
        if (!parameter_size(cost, parameter, &values, &bytes))
            return false;
        if (parameter->role != PYRO_ROLE_PARAMETER) {
            if (!add(cost, &cost->buffer_values, values))
                return false;
            continue;
        }
        touch(sums, parameter->module);
        pyro_work work = {.params = values};
        if (!add_work(cost, &sums->self[parameter->module].work, &work) ||
            !add(cost, &cost->param_bytes, bytes))
            return false;
    }
    return true;
}

static bool name_row(pyro_cost *cost, pyro_cost_row *row, uint32_t module)
{
    const pyro_module *source = &cost->model->modules[module];
    row->name = module == 0 ? "(model)" : source->path;
    row->class_name = source->class_name;
    row->depth = source->depth;
    row->type = row->type ? row->type : "";
    return finish_row(cost, row);
}

static bool is_heavier(const sums *sums, uint32_t module, const int64_t *than)
{
    const int64_t *leader = sums->leader[module];
    return leader[0] > than[0] || (leader[0] == than[0] && leader[1] > than[1]);
}

/* Layers: each module alone, or rolled up into its ancestor beyond the depth. */
static bool make_layers(pyro_cost *cost, const sums *sums)
{
    size_t modules = cost->model->module_count;
    uint32_t *row_of = pyro_arena_array(&cost->arena, modules, sizeof *row_of);
    int64_t (*leader)[2] = pyro_calloc_pages(modules, sizeof *leader);
    uint32_t *owner = calloc(modules, sizeof *owner);
    bool good = row_of && leader && owner;
    cost->layers = good ? pyro_arena_array(&cost->arena, modules, sizeof *cost->layers) : NULL;
    good = good && cost->layers;
    for (size_t i = 0; good && i < sums->order_count; i++) {
        uint32_t module = sums->order[i], target = row_module(cost, module);
        if (!row_of[target]) {
            owner[cost->layer_count] = target;
            row_of[target] = (uint32_t)++cost->layer_count;
        }
        pyro_cost_row *row = &cost->layers[row_of[target] - 1];
        row->operators += sums->self[module].operators;
        if (sums->self[module].type && (!row->type || is_heavier(sums, module, leader[target]))) {
            row->type = sums->self[module].type;
            memcpy(leader[target], sums->leader[module], sizeof leader[target]);
        }
        good = add_work(cost, &row->work, &sums->self[module].work);
    }
    for (size_t i = 0; good && i < cost->layer_count; i++)
        good = name_row(cost, &cost->layers[i], owner[i]);
    cost->layer_rows = row_of;
    free(leader);
    free(owner);
    return good;
}

/* Parents before children, children in the order of their first node. */
static uint32_t *tree_order(const pyro_cost *cost, const sums *sums, size_t *count)
{
    size_t modules = cost->model->module_count;
    const pyro_module *tree = cost->model->modules;
    uint32_t *first_child = malloc(modules * sizeof *first_child);
    uint32_t *last_child = malloc(modules * sizeof *last_child);
    uint32_t *sibling = malloc(modules * sizeof *sibling);
    uint32_t *order = malloc(modules * sizeof *order);
    bool *linked = calloc(modules, sizeof *linked);
    if (first_child && last_child && sibling && order && linked) {
        for (size_t m = 0; m < modules; m++)
            first_child[m] = last_child[m] = sibling[m] = PYRO_NO_VALUE;
        linked[0] = true;
        for (size_t i = 0; i < sums->order_count; i++) {
            for (uint32_t m = sums->order[i]; !linked[m]; m = tree[m].parent) {
                linked[m] = true;
                uint32_t parent = tree[m].parent;
                if (first_child[parent] == PYRO_NO_VALUE)
                    first_child[parent] = m;
                else
                    sibling[last_child[parent]] = m;
                last_child[parent] = m;
            }
        }
        *count = 0;
        for (uint32_t m = 0; m != PYRO_NO_VALUE;) {
            order[(*count)++] = m;
            if (first_child[m] != PYRO_NO_VALUE) {
                m = first_child[m];
                continue;
            }
            while (m != 0 && sibling[m] == PYRO_NO_VALUE)
                m = tree[m].parent;
            m = m == 0 ? PYRO_NO_VALUE : sibling[m];
        }
    } else {
        free(order);
        order = NULL;
    }
    free(first_child);
    free(last_child);
    free(sibling);
    free(linked);
    return order;
}

/* Every module with its descendants; its type is the heaviest one of any module in it. */
static bool make_modules(pyro_cost *cost, const sums *sums)
{
    size_t count = 0;
    uint32_t *order = tree_order(cost, sums, &count);
    uint32_t *row_of = calloc(cost->model->module_count, sizeof *row_of);
    bool good = order && row_of;
    cost->modules = good ? pyro_arena_array(&cost->arena, count, sizeof *cost->modules) : NULL;
    good = good && cost->modules;
    for (size_t i = 0; good && i < count; i++) {
        row_of[order[i]] = (uint32_t)i;
        cost->modules[i].type = sums->self[order[i]].type;
        cost->modules[i].work = sums->self[order[i]].work;
        cost->modules[i].operators = sums->self[order[i]].operators;
    }
    /* Children come after their parents: in reverse, each is complete when added to its parent. */
    for (size_t i = good ? count : 0; good && i-- > 1;) {
        uint32_t above = cost->model->modules[order[i]].parent;
        pyro_cost_row *parent = &cost->modules[row_of[above]];
        parent->operators += cost->modules[i].operators;
        if (is_heavier(sums, order[i], sums->leader[above])) {
            parent->type = cost->modules[i].type;
            memcpy(sums->leader[above], sums->leader[order[i]], sizeof sums->leader[above]);
        }
        good = add_work(cost, &parent->work, &cost->modules[i].work);
    }
    for (size_t i = 0; good && i < count; i++)
        good = name_row(cost, &cost->modules[i], order[i]);
    cost->module_count = count;
    free(order);
    free(row_of);
    return good;
}

const pyro_cost_row *pyro_cost_layer_of(const pyro_cost *cost, uint32_t module)
{
    uint32_t row = cost->layer_rows[row_module(cost, module)];
    return row ? &cost->layers[row - 1] : NULL;
}

static int by_flops(const void *left, const void *right)
{
    const pyro_cost_row *a = left, *b = right;
    if (a->work.flops != b->work.flops)
        return a->work.flops < b->work.flops ? 1 : -1;
    if (a->memory_bytes != b->memory_bytes)
        return a->memory_bytes < b->memory_bytes ? 1 : -1;
    return strcmp(a->name, b->name);
}

static bool make_operators(pyro_cost *cost, const sums *sums)
{
    cost->operator_count = cost->types.count;
    cost->operators = pyro_arena_array(&cost->arena, cost->operator_count + 1,
                                       sizeof *cost->operators);
    bool good = cost->operators != NULL;
    for (size_t n = 0; good && n < cost->node_count; n++) {
        pyro_cost_row *row = &cost->operators[cost->node_types[n]];
        row->operators++;
        good = add_work(cost, &row->work, &cost->nodes[n].work);
    }
    for (size_t i = 0; good && i < cost->operator_count; i++) {
        pyro_cost_row *row = &cost->operators[i];
        row->name = pyro_intern_text(&cost->types, (uint32_t)i);
        row->type = sums->types[i];
        row->class_name = "";
        good = finish_row(cost, row);
    }
    if (good)
        qsort(cost->operators, cost->operator_count, sizeof *cost->operators, by_flops);
    return good;
}

static void make_total(pyro_cost *cost)
{
    cost->total = cost->modules[0];
    cost->total.name = pyro_model_name(cost->model);
    if (cost->operator_count)
        cost->total.type = cost->operators[0].type;
}

int pyro_cost_roll_up(pyro_cost *cost, pyro_error *error)
{
    size_t modules = cost->model->module_count;
    sums sums = {.self = pyro_calloc_pages(modules, sizeof *sums.self),
                 .present = calloc(modules, sizeof *sums.present),
                 .order = calloc(modules, sizeof *sums.order),
                 .leader = pyro_calloc_pages(modules, sizeof *sums.leader)};
    int status = PYRO_OK;
    if (!sums.self || !sums.present || !sums.order || !sums.leader)
        status = pyro_fail_memory(error);
    else if (!add_nodes(cost, &sums) || !lower_types(cost, &sums) || !find_leaders(cost, &sums) ||
             !add_parameters(cost, &sums) || !make_layers(cost, &sums) ||
             !make_modules(cost, &sums) || !make_operators(cost, &sums))
        status = cost->overflow ? pyro_fail(error, PYRO_ERROR_LIMIT,
                                            "the totals of the model do not fit in 64 bits")
                                : pyro_fail_memory(error);
    if (status == PYRO_OK)
        make_total(cost);
    free(sums.self);
    free(sums.present);
    free(sums.order);
    free(sums.leader);
    free(sums.types);
    return status;
}
