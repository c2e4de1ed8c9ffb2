/* Builds the program of a priced model: every node of its main graph with a tensor is a step. */
#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "dataflow/program.h"
#include "dataflow/relation.h"
#include "dataflow/views.h"
#include "graph/cost/cost.h"
#include <stdlib.h>
#include <string.h>

typedef struct translator {
    pyro_program *program;
    const pyro_cost *cost;
    const pyro_model *model;
    pyro_tracker tracker;
    uint32_t *weight_of_value; /* by value of the main graph; PYRO_NONE: no weight */
    uint32_t *outside;         /* by value: its number in the program, if it comes from outside */
    uint32_t *storage;         /* by value: the first value that has its memory */
    uint32_t *same;            /* by value: the value that it passes on; PYRO_NONE: itself */
    int64_t *bytes;            /* by value, once computed */
    uint32_t *call_of_site;    /* by call of the model */
    uint32_t *call_of_module;  /* for files that do not distinguish calls */
    size_t cost_node;          /* next node of the cost */
} translator;

static uint32_t *none_array(size_t count)
{
    uint32_t *items = malloc((count + 1) * sizeof *items);
    for (size_t i = 0; items && i <= count; i++)
        items[i] = PYRO_NONE;
    return items;
}

static bool prepare(translator *t)
{
    size_t values = t->model->graph->value_count;
    t->weight_of_value = none_array(values);
    t->outside = none_array(values);
    t->storage = none_array(values);
    t->same = none_array(values);
    t->bytes = calloc(values + 1, sizeof *t->bytes);
    t->call_of_site = none_array(t->model->call_count);
    t->call_of_module = none_array(t->model->module_count);
    return t->weight_of_value && t->outside && t->storage && t->same && t->bytes &&
           t->call_of_site && t->call_of_module;
}

static bool describe(translator *t, uint32_t index, pyro_graph_tensor *tensor)
{
    const pyro_value *value = &t->model->graph->values[index];
    int64_t dims[PYRO_MAX_RANK];
    pyro_dtype dtype = pyro_cost_price_dtype(t->cost, value->dtype);
    for (size_t d = 0; d < value->rank; d++)
        if (!pyro_size_value(t->model, value->sizes[d], &dims[d]))
            dims[d] = -1;
    tensor->dtype = pyro_dtype_name(dtype);
    return pyro_program_shape(t->program, tensor, dims, value->rank, pyro_dtype_bytes(dtype));
}

static bool add_weights(translator *t)
{
    const pyro_model *model = t->model;
    for (size_t p = 0; p < model->parameter_count; p++) {
        const pyro_parameter *parameter = &model->parameters[p];
        if (parameter->tied_to != PYRO_NO_VALUE)
            continue;
        pyro_graph_tensor tensor;
        if (!describe(t, parameter->value, &tensor))
            return false;
        pyro_flow_weight weight = {
            .name = pyro_program_text(t->program, parameter->path),
            .role = parameter->role == PYRO_ROLE_PARAMETER ? PYRO_WEIGHT_PARAMETER
                                                           : PYRO_WEIGHT_OTHER,
            .values = 1,
            .bytes = tensor.bytes,
        };
        for (size_t d = 0; d < tensor.rank; d++)
            if (tensor.dims[d] < 0 || !pyro_mul_i64(weight.values, tensor.dims[d], &weight.values))
                weight.values = 0;
        uint32_t number = weight.name ? pyro_program_add_weight(t->program, &weight) : PYRO_NONE;
        if (number == PYRO_NONE)
            return false;
        t->weight_of_value[parameter->value] = number;
    }
    for (size_t p = 0; p < model->parameter_count; p++) {
        const pyro_parameter *parameter = &model->parameters[p];
        if (parameter->tied_to != PYRO_NO_VALUE)
            t->weight_of_value[parameter->value] =
                t->weight_of_value[model->parameters[parameter->tied_to].value];
    }
    return true;
}

static uint32_t add_call(translator *t, uint32_t module, uint32_t parent)
{
    const pyro_module *source = &t->model->modules[module];
    pyro_flow_call call = {
        .path = pyro_program_text(t->program, source->path),
        .class_name = pyro_program_text(t->program, source->class_name),
        .parent = parent,
    };
    return call.path && call.class_name ? pyro_program_add_call(t->program, &call) : PYRO_NONE;
}

/* Skips ancestors without a call (a ModuleList is never called). */
static uint32_t enter_site(translator *t, uint32_t site)
{
    uint32_t missing[256];
    size_t count = 0;
    uint32_t parent = 0;
    for (uint32_t at = site; at != PYRO_NO_VALUE && count < 256; at = t->model->calls[at].parent) {
        if (t->model->calls[at].module == 0)
            break;
        if (t->call_of_site[at] != PYRO_NONE) {
            parent = t->call_of_site[at];
            break;
        }
        missing[count++] = at;
    }
    while (count > 0 && parent != PYRO_NONE) {
        uint32_t at = missing[--count];
        parent = t->call_of_site[at] = add_call(t, t->model->calls[at].module, parent);
    }
    return parent;
}

static uint32_t call_of_node(translator *t, const pyro_node *node)
{
    if (node->call != PYRO_NO_VALUE)
        return enter_site(t, node->call);
    if (node->module == 0)
        return 0;
    uint32_t *call = &t->call_of_module[node->module];
    if (*call == PYRO_NONE)
        *call = add_call(t, node->module, 0);
    return *call;
}

/* The bytes of a value in its memory; without strides all of them, or some. */
static pyro_tensor_use make_use(translator *t, uint32_t index, const pyro_graph_tensor *tensor)
{
    const pyro_value *value = &t->model->graph->values[index];
    uint32_t root = t->storage[index];
    pyro_tensor_use seen = {.tensor = index, .storage = root};
    t->bytes[index] = tensor->bytes;
    if (value->strides)
        seen.bytes = pyro_value_region(t->model, value);
    else if (tensor->bytes >= 0 && tensor->bytes == t->bytes[root])
        seen.bytes = pyro_region_run(0, tensor->bytes);
    else
        seen.bytes = pyro_region_somewhere(0, -1);
    return seen;
}

static bool use_outside(translator *t, uint32_t index)
{
    if (t->outside[index] == PYRO_NONE) {
        pyro_flow_value value = {
            .name = pyro_program_text(t->program, t->model->graph->values[index].name),
            .maker = PYRO_NONE,
            .weight = t->weight_of_value[index]};
        if (!value.name || !describe(t, index, &value.tensor))
            return false;
        t->storage[index] = index;
        pyro_tensor_use seen = make_use(t, index, &value.tensor);
        uint32_t number = (uint32_t)t->program->value_count;
        if (!pyro_tracker_make(&t->tracker, &seen, PYRO_MAKES_FRESH, number))
            return false;
        value.memory = pyro_tracker_memory(&t->tracker, seen.storage);
        t->outside[index] = pyro_program_add_value(t->program, &value);
        if (t->outside[index] == PYRO_NONE)
            return false;
    }
    return true;
}

/* The original of a value that is only passed on. */
static uint32_t resolve(const translator *t, uint32_t index)
{
    return index != PYRO_NO_VALUE && t->same[index] != PYRO_NONE ? t->same[index] : index;
}

static bool see(translator *t, uint32_t index, pyro_tensor_use *seen)
{
    pyro_graph_tensor tensor;
    if (!describe(t, index, &tensor))
        return false;
    *seen = make_use(t, index, &tensor);
    return true;
}

static bool use_value(translator *t, uint32_t index)
{
    index = resolve(t, index);
    if (index == PYRO_NO_VALUE || t->model->graph->values[index].kind != PYRO_GRAPH_VALUE_TENSOR)
        return true;
    if (t->storage[index] == PYRO_NONE && !use_outside(t, index))
        return false;
    pyro_tensor_use seen;
    return see(t, index, &seen) && pyro_views_read(t->program, &t->tracker, &seen);
}

/* A node's first tensor, whose memory its views and writes share. */
static uint32_t first_tensor(const translator *t, const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_TENSOR && node->args[a].items.values[0] != PYRO_NO_VALUE)
            return resolve(t, node->args[a].items.values[0]);
    return PYRO_NO_VALUE;
}

/* "aten.add_.Tensor": the name before the overload ends in one underscore. */
static bool is_in_place(const char *target)
{
    const char *first = strchr(target, '.'), *end = first ? strchr(first + 1, '.') : NULL;
    if (!first)
        return false;
    if (!end)
        end = target + strlen(target);
    return end - first > 2 && end[-1] == '_' && end[-2] != '_';
}

static bool is_tensor(const translator *t, uint32_t index)
{
    return index != PYRO_NO_VALUE && t->model->graph->values[index].kind == PYRO_GRAPH_VALUE_TENSOR;
}

/* Relation of a node to its first tensor; the same for all of its outputs. */
typedef struct made_from {
    uint32_t base; /* PYRO_NO_VALUE: none of its inputs */
    pyro_making how;
    bool is_same; /* it returns the base itself */
} made_from;

static made_from how_made(const translator *t, const pyro_node *node, bool is_view, bool moves)
{
    made_from from = {first_tensor(t, node), PYRO_MAKES_FRESH, false};
    uint32_t output = PYRO_NO_VALUE;
    for (uint32_t o = node->output_count; o-- > 0;)
        if (is_tensor(t, node->outputs[o]))
            output = node->outputs[o];
    if (from.base == PYRO_NO_VALUE || !is_tensor(t, from.base))
        return (made_from){PYRO_NO_VALUE, PYRO_MAKES_FRESH, false};
    pyro_relation relation = pyro_node_relation(t->model, node, from.base, output, is_view, moves);
    from.is_same = relation == PYRO_RELATION_SAME;
    if (is_in_place(node->target))
        from.how = PYRO_MAKES_WRITE;
    else if (relation == PYRO_RELATION_VIEW)
        from.how = PYRO_MAKES_VIEW;
    return from;
}

static bool make_value(translator *t, uint32_t index, uint32_t step, made_from from)
{
    pyro_flow_value value = {
        .name = pyro_program_text(t->program, t->model->graph->values[index].name),
        .maker = step,
        .weight = PYRO_NONE};
    if (!value.name || !describe(t, index, &value.tensor))
        return false;
    t->storage[index] = from.how == PYRO_MAKES_FRESH ? index : t->storage[from.base];
    pyro_tensor_use seen = make_use(t, index, &value.tensor), base;
    if (from.how != PYRO_MAKES_FRESH && !see(t, from.base, &base))
        return false;
    if (from.how == PYRO_MAKES_WRITE)
        seen.bytes = base.bytes; /* it writes into it */
    uint32_t number = (uint32_t)t->program->value_count;
    if ((from.how == PYRO_MAKES_VIEW &&
         !pyro_views_show(t->program, &t->tracker, &base, &seen.bytes, &value)) ||
        !pyro_tracker_make(&t->tracker, &seen, from.how, number))
        return false;
    value.memory = pyro_tracker_memory(&t->tracker, seen.storage);
    return pyro_program_add_value(t->program, &value) != PYRO_NONE &&
           pyro_program_add_made(t->program, number);
}

static bool make_values(translator *t, const pyro_node *node, uint32_t step, made_from from)
{
    for (uint32_t o = 0; o < node->output_count; o++) {
        uint32_t index = node->outputs[o];
        if (!is_tensor(t, index))
            continue;
        if (from.is_same)
            t->same[index] = from.base;
        else if (!make_value(t, index, step, from))
            return false;
    }
    return true;
}

/* A node that only makes views uses only the bytes that they show. */
static bool use_values(translator *t, const pyro_node *node, made_from from)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        if (arg->kind != PYRO_ARG_TENSOR && arg->kind != PYRO_ARG_TENSORS)
            continue;
        for (uint32_t i = 0; i < arg->count; i++) {
            uint32_t index = resolve(t, arg->items.values[i]);
            if (index == from.base && from.how == PYRO_MAKES_VIEW && !from.is_same
                    ? t->storage[index] == PYRO_NONE && !use_outside(t, index)
                    : !use_value(t, index))
                return false;
        }
    }
    return true;
}

/* Adds up the node's cost, including what runs inside it; true when it is a view. */
static bool take_price(translator *t, size_t node, pyro_flow_step *step)
{
    const pyro_cost *cost = t->cost;
    bool is_view = false;
    for (; t->cost_node < cost->node_count && cost->node_origins[t->cost_node] == node;
         t->cost_node++) {
        const pyro_cost_node *priced = &cost->nodes[t->cost_node];
        const pyro_work *work = &priced->work;
        is_view |= !strcmp(priced->category, "view");
        if (strcmp(priced->category, "uncounted"))
            step->flops = (step->flops < 0 ? 0 : step->flops) + work->flops;
        step->moved_bytes = (step->moved_bytes < 0 ? 0 : step->moved_bytes) +
                            work->activation_read_bytes + work->weight_read_bytes +
                            work->written_bytes;
    }
    return is_view;
}

static bool makes_tensor(const translator *t, const pyro_node *node)
{
    for (uint32_t o = 0; o < node->output_count; o++)
        if (is_tensor(t, node->outputs[o]))
            return true;
    return false;
}

static bool add_node(translator *t, size_t index)
{
    const pyro_node *node = &t->model->graph->nodes[index];
    pyro_flow_step step = {.flops = -1, .moved_bytes = -1};
    bool is_view = take_price(t, index, &step);
    if (!makes_tensor(t, node))
        return true;
    step.call = call_of_node(t, node);
    step.op = pyro_program_text(t->program, node->target);
    uint32_t number = step.call == PYRO_NONE || !step.op ? PYRO_NONE
                                                         : pyro_program_add_step(t->program, &step);
    made_from from = how_made(t, node, is_view, step.moved_bytes > 0);
    return number != PYRO_NONE && use_values(t, node, from) && make_values(t, node, number, from);
}

static bool translate(translator *t)
{
    t->program->name = pyro_program_text(t->program, pyro_model_name(t->model));
    if (!t->program->name || !prepare(t) || !add_weights(t) || add_call(t, 0, PYRO_NONE) != 0)
        return false;
    /* All inputs in their order, so that an unused one shows as unused. */
    for (size_t i = 0; i < t->model->input_count; i++)
        if (!use_outside(t, t->model->inputs[i]))
            return false;
    for (size_t n = 0; n < t->model->graph->node_count; n++)
        if (!add_node(t, n))
            return false;
    pyro_program_finish(t->program);
    return true;
}

int pyro_program_of_model(pyro_program **out, const pyro_cost *cost, pyro_error *error)
{
    translator t = {.program = pyro_program_new(),
                    .cost = cost,
                    .model = cost->model,
                    .tracker = PYRO_TRACKER_INIT};
    int status = t.program && translate(&t) ? PYRO_OK : pyro_fail_memory(error);
    pyro_tracker_free(&t.tracker);
    free(t.weight_of_value);
    free(t.outside);
    free(t.storage);
    free(t.same);
    free(t.bytes);
    free(t.call_of_site);
    free(t.call_of_module);
    if (status == PYRO_OK)
        *out = t.program;
    else
        pyro_program_free(t.program);
    return status;
}
