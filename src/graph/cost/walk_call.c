/* The walk over a graph: turns nodes into calls, with sizes evaluated. */
#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/cost/walk.h"
#include <string.h>

const pyro_op *pyro_walk_op(pyro_walker *w, const char *target)
{
    uint64_t key = (uint64_t)(uintptr_t)target;
    uint32_t found = pyro_map_get(&w->op_of_target, key);
    if (found == PYRO_MAP_NONE) {
        const pyro_op *op = pyro_op_find(&w->index, target);
        found = op ? (uint32_t)(op - pyro_ops) + 1 : 0;
        pyro_map_put(&w->op_of_target, key, found);
    }
    return found ? &pyro_ops[found - 1] : NULL;
}

int pyro_walk_too_large(pyro_walker *w, const pyro_node *node)
{
    return pyro_fail_at(w->error, PYRO_ERROR_LIMIT, node->offset,
                        "'%.100s' (%.80s) is too large: its numbers do not fit in 64 bits",
                        node->name, node->target);
}

/* Appends a value to the scratch. */
static int push_tensor(pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                       uint32_t index)
{
    if (!pyro_grow(&w->tensors, &w->tensor_capacity, w->tensor_count + 1, sizeof *w->tensors))
        return pyro_fail_memory(w->error);
    pyro_tensor *tensor = &w->tensors[w->tensor_count++];
    memset(tensor, 0, sizeof *tensor);
    if (index != PYRO_NO_VALUE && frame->graph->values[index].kind == PYRO_GRAPH_VALUE_UNDESCRIBED)
        w->shapeless = frame->graph->values[index].name;
    if (index == PYRO_NO_VALUE || frame->graph->values[index].kind != PYRO_GRAPH_VALUE_TENSOR)
        return PYRO_OK;
    const pyro_value *value = &frame->graph->values[index];
    int64_t *dims = pyro_arena_array(&w->arena, value->rank + 1u, sizeof *dims);
    if (!dims)
        return pyro_fail_memory(w->error);
    tensor->elements = 1;
    for (size_t d = 0; d < value->rank; d++) {
        if (!pyro_size_value(w->model, value->sizes[d], &dims[d])) {
            const pyro_symbol *symbol = pyro_expr_as_symbol((pyro_exprs *)&w->model->exprs,
                                                            (size_t)~value->sizes[d]);
            w->open_size = symbol ? symbol->name : pyro_size_expr(w->model, value->sizes[d])->text;
            dims[d] = 0;
        }
        if (!pyro_mul_i64(tensor->elements, dims[d], &tensor->elements))
            return pyro_walk_too_large(w, node);
    }
    tensor->dims = dims;
    tensor->rank = value->rank;
    tensor->dtype = (uint8_t)pyro_cost_value_dtype(w->cost, frame->graph, index);
    tensor->id = index;
    tensor->is_weight = value->role >= PYRO_ROLE_PARAMETER;
    tensor->is_strided = frame->strided[index];
    tensor->order = frame->orders[index];
    if (frame->exported.skipped) {
        tensor->is_skipped = frame->exported.skipped[index];
        tensor->repeats = frame->exported.repeats[index];
    }
    int axis = value->role == PYRO_ROLE_INPUT ? pyro_cache_axis(w->model, value) : -1;
    tensor->grows_along = (uint8_t)(axis + 1);
    return PYRO_OK;
}

int pyro_walk_integer(pyro_walker *w, const pyro_frame *frame, const pyro_arg_integer *integer)
{
    if (!pyro_grow(&w->integers, &w->integer_capacity, w->integer_count + 1, sizeof *w->integers))
        return pyro_fail_memory(w->error);
    int64_t value = integer->literal;
    if (integer->value != PYRO_NO_VALUE) {
        const pyro_value *symbolic = &frame->graph->values[integer->value];
        if (symbolic->kind != PYRO_GRAPH_VALUE_SYMBOLIC ||
            !pyro_size_value(w->model, symbolic->sizes[0], &value))
            value = 0;
    }
    w->integers[w->integer_count++] = value;
    return PYRO_OK;
}

/* Pushes everything before taking pointers: the scratch may move while it grows. */
static int push_args(pyro_walker *w, const pyro_frame *frame, const pyro_node *node)
{
    int status = PYRO_OK;
    w->tensor_count = w->integer_count = 0;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        for (uint32_t i = 0; status == PYRO_OK && i < arg->count; i++) {
            if (arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS)
                status = push_tensor(w, frame, node, arg->items.values[i]);
            else if (arg->kind != PYRO_ARG_NUMBERS)
                status = pyro_walk_integer(w, frame, &arg->items.integers[i]);
        }
    }
    for (uint32_t o = 0; status == PYRO_OK && o < node->output_count; o++)
        status = push_tensor(w, frame, node, node->outputs[o]);
    return status;
}

int pyro_walk_call(pyro_walker *w, const pyro_frame *frame, const pyro_node *node, pyro_call *call)
{
    int status = push_args(w, frame, node);
    if (status < 0)
        return status;
    /* Space for at least one: even a node without arguments or outputs points into the scratch. */
    if (!pyro_grow(&w->args, &w->arg_capacity, node->arg_count + 1u, sizeof *w->args) ||
        !pyro_grow(&w->tensors, &w->tensor_capacity, w->tensor_count + 1u, sizeof *w->tensors))
        return pyro_fail_memory(w->error);
    pyro_walk_set_switches(w, node);
    size_t tensor = 0, integer = 0;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        pyro_call_arg *out = &w->args[a];
        *out = (pyro_call_arg){.name = arg->name, .kind = arg->kind, .count = arg->count};
        if (arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS) {
            out->tensors = w->tensors + tensor;
            tensor += arg->count;
        } else if (arg->count && arg->kind != PYRO_ARG_NUMBERS) {
            out->integers = w->integers + integer;
            integer += arg->count;
        } else if (arg->kind == PYRO_ARG_TEXT) {
            out->text = arg->items.text;
        }
    }
    *call = (pyro_call){.op = pyro_walk_op(w, node->target),
                        .args = w->args,
                        .arg_count = node->arg_count,
                        .outputs = w->tensors + tensor,
                        .output_count = node->output_count};
    return PYRO_OK;
}
