/* Describes the backward of every node, while the walk of the cost shows them one by one. */
#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/call.h"
#include "graph/train/train.h"
#include <stdlib.h>
#include <string.h>

/* Which values of a graph need a gradient: of the main graph, or of a body. */
static bool *needs_of(pyro_train *train, const pyro_graph *graph, pyro_error *error)
{
    if (graph == train->model->graph)
        return train->needs;
    uint32_t known = pyro_map_get(&train->body_of, (uint64_t)(uintptr_t)graph);
    if (known != PYRO_MAP_NONE)
        return train->bodies[known];
    bool *needs = pyro_arena_array(&train->arena, graph->value_count + 1, sizeof *needs);
    if (!needs ||
        !pyro_grow(&train->bodies, &train->body_capacity, train->body_count + 1,
                   sizeof *train->bodies) ||
        !pyro_map_put(&train->body_of, (uint64_t)(uintptr_t)graph, (uint32_t)train->body_count)) {
        pyro_fail_memory(error);
        return NULL;
    }
    train->bodies[train->body_count++] = needs;
    return needs;
}

/* The inputs of a body need gradients if those of the node do. */
static int enter_bodies(pyro_train *train, const pyro_node *node, bool wanted, pyro_error *error)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        if (node->args[a].kind != PYRO_ARG_GRAPH)
            continue;
        const pyro_graph *body = node->args[a].items.graph;
        bool *needs = needs_of(train, body, error);
        if (!needs)
            return PYRO_ERROR_MEMORY;
        for (size_t i = 0; i < body->input_count; i++)
            if (body->inputs[i] != PYRO_NO_VALUE)
                needs[body->inputs[i]] = wanted && pyro_dtype_is_floating(
                                                       body->values[body->inputs[i]].dtype);
    }
    return PYRO_OK;
}

static void mark_inputs(const pyro_visit *visit, const bool *needs)
{
    for (size_t i = 0; i < visit->tensor_count; i++) {
        pyro_tensor *tensor = &visit->tensors[i];
        tensor->needs_gradient = tensor->dims && needs[tensor->id] &&
                                 pyro_dtype_is_floating(tensor->dtype);
    }
    for (size_t o = 0; o < visit->call->output_count; o++)
        ((pyro_tensor *)visit->call->outputs)[o].needs_gradient = false;
}

/* A write in place makes its target need a gradient too, and what it is a view of. */
static void mark_outputs(pyro_train *train, const pyro_visit *visit, bool *needs)
{
    const pyro_node *node = visit->node;
    const pyro_tensor *first = pyro_call_first_tensor(visit->call);
    bool main = visit->graph == train->model->graph;
    bool in_place = pyro_writes_in_place(node->target);
    for (uint32_t o = 0; o < node->output_count; o++) {
        uint32_t out = node->outputs[o];
        if (out == PYRO_NO_VALUE)
            continue;
        needs[out] = pyro_dtype_is_floating(visit->graph->values[out].dtype);
        if (main && first && (visit->price->is_free || in_place))
            train->bases[out] = train->bases[first->id];
    }
    if (main && first && in_place)
        needs[first->id] = needs[train->bases[first->id]] = true;
}

/* Views that need no gradient still lead to the memory that a later write changes. */
static void note_bases(pyro_train *train, const pyro_visit *visit)
{
    const pyro_tensor *first = pyro_call_first_tensor(visit->call);
    if (visit->graph != train->model->graph || !first || !visit->price->is_free)
        return;
    for (uint32_t o = 0; o < visit->node->output_count; o++)
        if (visit->node->outputs[o] != PYRO_NO_VALUE)
            train->bases[visit->node->outputs[o]] = train->bases[first->id];
}

/* The bytes per value of the copy that mixed precision keeps of a tensor; 0: no copy. */
static int64_t copied_bytes(const pyro_train *train, const pyro_visit *visit,
                            const pyro_tensor *tensor)
{
    const pyro_op *op = visit->call->op;
    if (visit->graph != train->model->graph || !train->lowered || !op ||
        !train->lowered[visit->origin] || tensor->is_weight ||
        !pyro_dtype_is_floating(tensor->dtype))
        return 0;
    if (train->options.precision == PYRO_PRECISION_FP8 && op->category == PYRO_CATEGORY_MATMUL)
        return 1;
    return tensor->dtype == PYRO_DTYPE_FLOAT32 ? 2 : 0;
}

static int keep_saved(pyro_train *train, const pyro_visit *visit, const pyro_gradient *gradient,
                      pyro_error *error)
{
    train_step *step = &train->steps[visit->origin];
    bool main = visit->graph == train->model->graph;
    int64_t extra = gradient->extra_bytes;
    if (main)
        step->first_saved = train->saved_count;
    for (size_t i = 0; i < gradient->saved_count; i++) {
        const pyro_tensor *tensor = gradient->saved[i];
        if (!main && !tensor->is_weight) {
            extra = pyro_plus(visit->call, extra, pyro_tensor_bytes(visit->call, tensor));
        } else if (copied_bytes(train, visit, tensor)) { /* the copy is what is kept */
            extra = pyro_plus(
                visit->call, extra,
                pyro_times(visit->call, tensor->elements, copied_bytes(train, visit, tensor)));
        } else if (main) {
            if (!pyro_grow(&train->saved, &train->saved_capacity, train->saved_count + 1,
                           sizeof *train->saved))
                return pyro_fail_memory(error);
            train->saved[train->saved_count++] = (uint32_t)tensor->id;
            step->saved_count++;
        }
    }
    extra = pyro_times(visit->call, extra, visit->times);
    step->extra_bytes = pyro_plus(visit->call, step->extra_bytes, extra);
    if (gradient->scratch_bytes > step->scratch_bytes)
        step->scratch_bytes = gradient->scratch_bytes;
    return PYRO_OK;
}

/* Read: the gradients of the outputs and what was kept; written: the gradients of the inputs. */
static void count_bytes(const pyro_visit *visit, const pyro_gradient *gradient, pyro_work *work)
{
    pyro_call *call = visit->call;
    int64_t outputs = pyro_output_elements(call);
    if (gradient->flow == PYRO_FLOW_ALIAS || gradient->flow == PYRO_FLOW_NONE)
        return;
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++) {
            const pyro_tensor *tensor = &call->args[a].tensors[i];
            bool passes = gradient->flow == PYRO_FLOW_PASS && tensor->elements == outputs;
            if (tensor->needs_gradient && !passes)
                work->written_bytes = pyro_plus(call, work->written_bytes,
                                                pyro_tensor_bytes(call, tensor));
        }
    if (work->written_bytes == 0)
        return;
    for (size_t o = 0; o < call->output_count; o++)
        if (pyro_dtype_is_floating(call->outputs[o].dtype))
            work->activation_read_bytes = pyro_plus(call, work->activation_read_bytes,
                                                    pyro_tensor_bytes(call, &call->outputs[o]));
    for (size_t i = 0; i < gradient->saved_count; i++) {
        const pyro_tensor *tensor = gradient->saved[i];
        int64_t *sum = tensor->is_weight ? &work->weight_read_bytes : &work->activation_read_bytes;
        *sum = pyro_plus(call, *sum, pyro_tensor_bytes(call, tensor));
    }
    work->activation_read_bytes = pyro_plus(call, work->activation_read_bytes,
                                            gradient->extra_bytes);
}

static bool count_work(pyro_train *train, const pyro_visit *visit, const pyro_gradient *gradient)
{
    pyro_work *work = &train->nodes[visit->index].backward;
    pyro_price price = {.macs = gradient->macs,
                        .torch_macs = gradient->torch_macs,
                        .fvcore_flops = gradient->macs,
                        .other_flops = gradient->other_flops};
    pyro_work once = {.macs = gradient->macs};
    count_bytes(visit, gradient, &once);
    if (!pyro_convention_flops(train->cost_options ? train->cost_options->convention
                                                   : PYRO_CONVENTION_FULL,
                               &price, &once.flops))
        return false;
    int64_t *amounts[] = {&once.macs, &once.flops, &once.activation_read_bytes,
                          &once.weight_read_bytes, &once.written_bytes};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (!pyro_mul_i64(*amounts[i], visit->times, amounts[i]))
            return false;
    return pyro_work_add(work, &once);
}

/* Control flow: the bodies follow as nodes of their own. */
static void describe_control(const pyro_visit *visit, pyro_gradient *gradient)
{
    *gradient = (pyro_gradient){.flow = PYRO_FLOW_NONE};
    for (size_t i = 0; i < visit->tensor_count; i++)
        if (visit->tensors[i].needs_gradient)
            gradient->flow = PYRO_FLOW_NEW;
}

static void describe(pyro_train *train, const pyro_visit *visit, pyro_gradient *gradient)
{
    if (visit->is_control) {
        describe_control(visit, gradient);
        return;
    }
    pyro_call call = *visit->call;
    if (!visit->is_priced)
        call.op = NULL;
    pyro_op_gradient(&call, visit->price, gradient);
    visit->call->overflow |= call.overflow;
    if (visit->price->is_skipped)
        *gradient = (pyro_gradient){.flow = gradient->flow};
    train->assumed += gradient->is_assumed;
}

int pyro_train_visit(void *user, const pyro_visit *visit, pyro_error *error)
{
    pyro_train *train = user;
    pyro_gradient gradient;
    bool *needs = needs_of(train, visit->graph, error);
    if (!needs ||
        !pyro_grow(&train->nodes, &train->node_capacity, visit->index + 1, sizeof *train->nodes))
        return pyro_fail_memory(error);
    for (; train->node_count <= visit->index; train->node_count++)
        train->nodes[train->node_count] = (pyro_train_row){0};
    mark_inputs(visit, needs);
    describe(train, visit, &gradient);
    int status = pyro_train_adapt(train, visit, &gradient, error);
    if (status == PYRO_OK && visit->is_control)
        status = enter_bodies(train, visit->node, gradient.flow != PYRO_FLOW_NONE, error);
    if (status < 0)
        return status;
    note_bases(train, visit);
    if (gradient.flow == PYRO_FLOW_NONE)
        return PYRO_OK;
    if (visit->graph == train->model->graph) {
        train->steps[visit->origin].flow = (uint8_t)gradient.flow;
        train->steps[visit->origin].needs = true;
    }
    mark_outputs(train, visit, needs);
    status = keep_saved(train, visit, &gradient, error);
    if (status == PYRO_OK && !count_work(train, visit, &gradient))
        status = pyro_train_too_large(error);
    return status;
}
