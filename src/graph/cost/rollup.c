/* Rolls nodes up into rows: layers, operator types and the whole model. */
#include "base/checked.h"
#include "base/error.h"
#include "base/pages.h"
#include "graph/cost/rollup.h"
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

bool pyro_cost_add_work(pyro_cost *cost, pyro_work *sum, const pyro_work *work)
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

bool pyro_cost_make_room(pyro_cost *cost, pyro_populator *populator)
{
    size_t modules = cost->model->module_count, nodes = cost->model->total_nodes;
    size_t filled = modules < nodes ? modules : nodes;
    pyro_cost_sums *sums = &cost->sums;
    sums->rows = pyro_arena_array(&cost->arena, modules, sizeof *sums->rows);
    sums->owners = pyro_arena_array(&cost->arena, modules, sizeof *sums->owners);
    sums->row_of = pyro_arena_array(&cost->arena, modules, sizeof *sums->row_of);
    sums->leader = pyro_arena_array(&cost->arena, modules, sizeof *sums->leader);
    pyro_populator_add(populator, sums->row_of, modules * sizeof *sums->row_of);
    pyro_populator_add(populator, sums->rows, filled * sizeof *sums->rows);
    pyro_populator_add(populator, sums->owners, filled * sizeof *sums->owners);
    pyro_populator_add(populator, sums->leader, filled * sizeof *sums->leader);
    return sums->rows && sums->owners && sums->row_of && sums->leader;
}

/* The row of a module. */
static pyro_cost_row *touch(pyro_cost_sums *sums, uint32_t module)
{
    if (!sums->row_of[module]) {
        sums->owners[sums->count] = module;
        sums->row_of[module] = (uint32_t)++sums->count;
    }
    return &sums->rows[sums->row_of[module] - 1];
}

static bool add_nodes(pyro_cost *cost, pyro_cost_sums *sums)
{
    for (size_t n = 0; n < cost->node_count; n++) {
        pyro_cost_row *row = touch(sums, cost->node_modules[n]);
        row->operators++;
        if (!pyro_cost_add_work(cost, &row->work, &cost->nodes[n].work))
            return false;
    }
    return true;
}

/* Names of types as in the layers' rows: "conv2d" for "Conv2D". NULL if memory runs out. */
static const char **lower_types(pyro_cost *cost)
{
    const char **types = calloc(cost->types.count + 1, sizeof *types);
    for (size_t i = 0; types && i < cost->types.count; i++) {
        const pyro_intern_entry *type = &cost->types.entries[i];
        char *copy = pyro_arena_text(&cost->arena, type->text, type->length);
        for (char *c = copy; c && *c; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c - 'A' + 'a');
        types[i] = copy;
        if (!copy) {
            free(types);
            return NULL;
        }
    }
    return types;
}

/* FLOPs and bytes of one type of operator in a module. */
typedef struct type_amount {
    int64_t flops, bytes;
    size_t row; /* 1 + the row that this is about */
} type_amount;

/* Keeps the type with the most FLOPs (then bytes) in front. */
static bool lead(pyro_cost *cost, const char *const *types, type_amount *amounts, size_t row,
                 size_t node)
{
    pyro_cost_sums *sums = &cost->sums;
    const pyro_work *work = &cost->nodes[node].work;
    type_amount *amount = &amounts[cost->node_types[node]];
    int64_t *leader = sums->leader[row];
    if (amount->row != row + 1)
        *amount = (type_amount){.row = row + 1};
    if (!add(cost, &amount->flops, work->flops) ||
        !add(cost, &amount->bytes, work->activation_read_bytes) ||
        !add(cost, &amount->bytes, work->weight_read_bytes) ||
        !add(cost, &amount->bytes, work->written_bytes))
        return false;
    if (!sums->rows[row].type || amount->flops > leader[0] ||
        (amount->flops == leader[0] && amount->bytes > leader[1])) {
        sums->rows[row].type = types[cost->node_types[node]];
        leader[0] = amount->flops;
        leader[1] = amount->bytes;
    }
    return true;
}

/* Looks at the nodes of one row after the other, so that one table of types is enough. */
static bool find_leaders(pyro_cost *cost, const pyro_cost_sums *sums, const char *const *types)
{
    uint32_t *first = pyro_calloc_pages(sums->count + 1,
                                        sizeof *first); /* 1 + a row's first node */
    uint32_t *next = pyro_alloc_pages((cost->node_count + 1) * sizeof *next); /* likewise */
    type_amount *amounts = calloc(cost->types.count + 1, sizeof *amounts);
    bool good = first && next && amounts;
    for (size_t n = good ? cost->node_count : 0; n-- > 0;) {
        size_t row = sums->row_of[cost->node_modules[n]] - 1u;
        next[n] = first[row];
        first[row] = (uint32_t)n + 1;
    }
    for (size_t row = 0; good && row < sums->count; row++)
        for (uint32_t n = first[row]; good && n; n = next[n - 1])
            good = lead(cost, types, amounts, row, n - 1);
    free(first);
    free(next);
    free(amounts);
    return good;
}

static bool add_parameters(pyro_cost *cost, pyro_cost_sums *sums)
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
        if (!add(cost, &touch(sums, parameter->module)->work.params, values) ||
            !add(cost, &cost->param_bytes, bytes))
            return false;
    }
    return true;
}

bool pyro_cost_name_row(pyro_cost *cost, pyro_cost_row *row, uint32_t module)
{
    const pyro_module *source = &cost->model->modules[module];
    row->name = module == 0 ? "(model)" : source->path;
    row->class_name = source->class_name;
    row->depth = source->depth;
    row->type = row->type ? row->type : "";
    return finish_row(cost, row);
}

bool pyro_cost_is_heavier(const int64_t *leader, const int64_t *than)
{
    return leader[0] > than[0] || (leader[0] == than[0] && leader[1] > than[1]);
}

/* Rolls modules beyond the depth up into their ancestors. */
static bool add_to_ancestors(pyro_cost *cost, const pyro_cost_sums *sums, uint32_t *row_of,
                             int64_t (*leader)[2], uint32_t *owners)
{
    bool good = true;
    for (size_t i = 0; good && i < sums->count; i++) {
        const pyro_cost_row *own = &sums->rows[i];
        uint32_t target = row_module(cost, sums->owners[i]);
        if (!row_of[target]) {
            owners[cost->layer_count] = target;
            row_of[target] = (uint32_t)++cost->layer_count;
        }
        size_t at = row_of[target] - 1u;
        pyro_cost_row *row = &cost->layers[at];
        row->operators += own->operators;
        if (own->type && (!row->type || pyro_cost_is_heavier(sums->leader[i], leader[at]))) {
            row->type = own->type;
            memcpy(leader[at], sums->leader[i], sizeof leader[at]);
        }
        good = pyro_cost_add_work(cost, &row->work, &own->work);
    }
    for (size_t i = 0; good && i < cost->layer_count; i++)
        good = pyro_cost_name_row(cost, &cost->layers[i], owners[i]);
    return good;
}

/* Layers: each module alone, or rolled up into its ancestor beyond the depth. */
static bool make_layers(pyro_cost *cost, const pyro_cost_sums *sums)
{
    if (cost->options.depth < 0) {
        bool good = true;
        cost->layers = sums->rows;
        cost->layer_count = sums->count;
        cost->layer_rows = sums->row_of;
        for (size_t i = 0; good && i < sums->count; i++)
            good = pyro_cost_name_row(cost, &sums->rows[i], sums->owners[i]);
        return good;
    }
    uint32_t *row_of = pyro_arena_array(&cost->arena, cost->model->module_count, sizeof *row_of);
    int64_t (*leader)[2] = calloc(sums->count + 1, sizeof *leader);
    uint32_t *owners = calloc(sums->count + 1, sizeof *owners);
    cost->layers = pyro_arena_array(&cost->arena, sums->count, sizeof *cost->layers);
    cost->layer_rows = row_of;
    bool good = row_of && leader && owners && cost->layers &&
                add_to_ancestors(cost, sums, row_of, leader, owners);
    free(leader);
    free(owners);
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

static bool make_operators(pyro_cost *cost, const char *const *types)
{
    cost->operator_count = cost->types.count;
    cost->operators = pyro_arena_array(&cost->arena, cost->operator_count + 1,
                                       sizeof *cost->operators);
    bool good = cost->operators != NULL;
    for (size_t n = 0; good && n < cost->node_count; n++) {
        pyro_cost_row *row = &cost->operators[cost->node_types[n]];
        row->operators++;
        good = pyro_cost_add_work(cost, &row->work, &cost->nodes[n].work);
    }
    for (size_t i = 0; good && i < cost->operator_count; i++) {
        pyro_cost_row *row = &cost->operators[i];
        row->name = pyro_intern_text(&cost->types, (uint32_t)i);
        row->type = types[i];
        row->class_name = "";
        good = finish_row(cost, row);
    }
    if (good)
        qsort(cost->operators, cost->operator_count, sizeof *cost->operators, by_flops);
    return good;
}

/* The sums of all rows. If they fit, so do those of each module with what is in it. */
static bool make_total(pyro_cost *cost, const pyro_cost_sums *sums)
{
    pyro_cost_row *total = &cost->total;
    bool good = true;
    for (size_t i = 0; good && i < sums->count; i++) {
        total->operators += sums->rows[i].operators;
        good = pyro_cost_add_work(cost, &total->work, &sums->rows[i].work);
    }
    if (cost->operator_count)
        total->type = cost->operators[0].type;
    good = good && pyro_cost_name_row(cost, total, 0);
    total->name = pyro_model_name(cost->model);
    return good;
}

int pyro_cost_roll_up(pyro_cost *cost, pyro_error *error)
{
    pyro_cost_sums *sums = &cost->sums;
    const char **types = lower_types(cost);
    int status = PYRO_OK;
    if (!types || !add_nodes(cost, sums) || !find_leaders(cost, sums, types) ||
        !add_parameters(cost, sums) || !make_layers(cost, sums) || !make_operators(cost, types) ||
        !make_total(cost, sums))
        status = cost->overflow ? pyro_fail(error, PYRO_ERROR_LIMIT,
                                            "the totals of the model do not fit in 64 bits")
                                : pyro_fail_memory(error);
    free(types);
    return status;
}
