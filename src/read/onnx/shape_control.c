/* Shapes of If, Loop and Scan: their bodies are inferred with the shapes that go in. */
#include "read/onnx/infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_TRIPS (INT64_C(1) << 32)

static onnx_graph *body_of(const onnx_call *call, const char *name)
{
    const pyro_arg *arg = onnx_attribute(call, name);
    return arg && arg->kind == PYRO_ARG_GRAPH ? arg->items.graph->reader_data : NULL;
}

/* Sets an argument that the reader made for it. */
static void set_literal(const onnx_call *call, const char *name, int64_t value)
{
    const pyro_arg *arg = onnx_attribute(call, name);
    if (arg && arg->kind == PYRO_ARG_INTEGER)
        ((pyro_arg_integer *)arg->items.integers)->literal = value;
}

/* How often a body runs. */
static void set_trip_count(const onnx_call *call, int64_t count)
{
    set_literal(call, "trip_count", count);
}

/* A loop that runs for years is no model: its cost would be a number without a meaning. */
static bool check_trip_count(onnx_call *call, int64_t count)
{
    char what[80];
    if (count <= MOST_TRIPS)
        return true;
    snprintf(what, sizeof what, "its body runs %" PRId64 " times, more than 2^32", count);
    return onnx_mismatch(call, what);
}

/* Where two shapes of the same rank differ, the size is open. */
static bool merge(onnx_call *call, const onnx_shape *a, const onnx_shape *b, size_t output)
{
    int64_t dims[PYRO_MAX_RANK];
    if (!a->is_known || !b->is_known || a->rank != b->rank || a->dtype != b->dtype)
        return false;
    for (size_t d = 0; d < a->rank; d++)
        dims[d] = a->dims[d] == b->dims[d] ? a->dims[d] : ONNX_UNKNOWN;
    return onnx_out(call, output, a->dtype, a->rank, dims);
}

bool onnx_shape_branch(onnx_call *call)
{
    onnx_graph *bodies[2] = {body_of(call, "then_branch"), body_of(call, "else_branch")};
    const onnx_values *condition = onnx_in_values(call, 0);
    if (!bodies[0] || !bodies[1])
        return false;
    /* A branch that does not run may not fit its inputs, so only the other one has to. */
    int only = condition && condition->integers && condition->count == 1 &&
                       condition->integers[0] != ONNX_UNKNOWN
                   ? !condition->integers[0]
                   : -1;
    set_literal(call, "branch", only);
    for (int b = 0; b < 2; b++) {
        if (only >= 0 && b != only)
            continue;
        if (!call->inference->infer_body(call, bodies[b]))
            return false;
    }
    for (size_t o = 0; o < call->node->output_count; o++) {
        onnx_shape shapes[2];
        for (int b = 0; b < 2; b++) {
            int from = only >= 0 ? only : b;
            if (o >= bodies[from]->output_count ||
                !onnx_get_value(call->inference, bodies[from], bodies[from]->outputs[o],
                                &shapes[b]))
                return false;
        }
        merge(call, &shapes[0], &shapes[1], o);
    }
    return true;
}

static bool set_input(onnx_call *call, onnx_graph *body, size_t position, const onnx_shape *shape)
{
    if (position >= body->graph->input_count)
        return true;
    uint32_t index = body->graph->inputs[position];
    if (!shape || !shape->is_known) {
        onnx_forget_value(body, index);
        return true;
    }
    return onnx_set_value(call->inference, body, index, shape->dtype, shape->rank, shape->dims);
}

/* A carried value that changes its size from pass to pass has an open size in all of them. */
static bool carry(onnx_call *call, onnx_graph *body, size_t input, size_t output, bool *changed)
{
    onnx_shape before, after;
    int64_t dims[PYRO_MAX_RANK];
    if (output >= body->output_count || input >= body->graph->input_count)
        return true;
    uint32_t index = body->graph->inputs[input];
    if (!onnx_get_value(call->inference, body, index, &before) ||
        !onnx_get_value(call->inference, body, body->outputs[output], &after))
        return false;
    if (!before.is_known || !after.is_known)
        return true;
    if (before.rank != after.rank) {
        onnx_forget_value(body, index);
        *changed = true;
        return true;
    }
    bool differs = false;
    for (size_t d = 0; d < before.rank; d++) {
        bool same = before.dims[d] == after.dims[d] || before.dims[d] < 0;
        dims[d] = same ? before.dims[d] : ONNX_UNKNOWN;
        differs |= !same;
    }
    *changed |= differs;
    return !differs ||
           onnx_set_value(call->inference, body, index, before.dtype, before.rank, dims);
}

/* True if the condition that a body computes is always true: a constant, or the one it was given. */
static bool runs_on(const onnx_call *call, const onnx_graph *body)
{
    if (!body->output_count)
        return true;
    uint32_t index = body->outputs[0];
    const onnx_values *known = body->values[index].known;
    const onnx_values *first = onnx_in_values(call, 1);
    bool starts = !onnx_has_input(call, 1) ||
                  (first && first->integers && first->count && first->integers[0] == 1);
    if (known && known->integers && known->count == 1)
        return known->integers[0] == 1 && starts;
    for (int passes = 0; passes < 4; passes++) {
        if (body->graph->input_count > 1 && index == body->graph->inputs[1])
            return starts;
        uint32_t maker = body->values[index].maker;
        const pyro_node *node = maker == PYRO_NO_VALUE ? NULL : &body->graph->nodes[maker];
        if (!node || strcmp(node->target, "onnx.Identity") || !node->arg_count ||
            node->args[0].kind != PYRO_ARG_TENSOR)
            return false;
        index = node->args[0].items.values[0];
    }
    return false;
}

/* Puts the number of passes in front of what a pass gives. */
static bool stack_outputs(onnx_call *call, onnx_graph *body, size_t from, size_t to, int64_t count,
                          const int64_t *axes, size_t axis_count)
{
    for (size_t i = 0; to + i < call->node->output_count; i++) {
        onnx_shape shape;
        int64_t dims[PYRO_MAX_RANK];
        if (from + i >= body->output_count)
            return true;
        if (!onnx_get_value(call->inference, body, body->outputs[from + i], &shape))
            return false;
        if (!shape.is_known || shape.rank + 1u > PYRO_MAX_RANK)
            continue;
        int axis = onnx_axis(i < axis_count ? axes[i] : 0, shape.rank + 1u);
        axis = axis < 0 ? 0 : axis;
        for (int d = 0, at = 0; d <= shape.rank; d++)
            dims[d] = d == axis ? (count < 0 ? ONNX_UNKNOWN : count) : shape.dims[at++];
        onnx_out(call, to + i, shape.dtype, shape.rank + 1u, dims);
    }
    return true;
}

/* Loop(M, condition, carried...): the body takes (iteration, condition, carried...). */
bool onnx_shape_loop(onnx_call *call)
{
    onnx_graph *body = body_of(call, "body");
    const onnx_values *most = onnx_in_values(call, 0);
    onnx_shape number = {.is_known = true, .dtype = PYRO_DTYPE_INT64};
    onnx_shape truth = {.is_known = true, .dtype = PYRO_DTYPE_BOOL};
    size_t carried = call->input_count > 2 ? call->input_count - 2 : 0;
    set_trip_count(call, -1);
    if (!body)
        return false;
    bool good = set_input(call, body, 0, &number) && set_input(call, body, 1, &truth);
    for (size_t i = 0; good && i < carried; i++)
        good = set_input(call, body, i + 2, onnx_in(call, i + 2));
    for (int pass = 0; good && pass < 2; pass++) {
        bool changed = false;
        if (!call->inference->infer_body(call, body))
            return false;
        for (size_t i = 0; good && i < carried; i++)
            good = carry(call, body, i + 2, i + 1, &changed);
        if (!changed)
            break;
    }
    int64_t count = most && most->integers && most->count == 1 && most->integers[0] >= 0 &&
                            runs_on(call, body)
                        ? most->integers[0]
                        : -1;
    if (!check_trip_count(call, count))
        return false;
    set_trip_count(call, count);
    for (size_t i = 0; good && i < carried && i + 2 < body->graph->input_count; i++) {
        onnx_shape shape;
        good = onnx_get_value(call->inference, body, body->graph->inputs[i + 2], &shape);
        if (good && shape.is_known)
            onnx_out_like(call, i, shape.dtype, &shape);
    }
    return good && stack_outputs(call, body, carried + 1, carried, count, NULL, 0);
}

/* Scan(state..., sequences...): the body takes states and one item of every sequence. */
bool onnx_shape_scan(onnx_call *call)
{
    onnx_graph *body = body_of(call, "body");
    const int64_t *axes = NULL, *output_axes = NULL;
    size_t axis_count = 0, output_axis_count = 0;
    int64_t sequences = onnx_integer(call, "num_scan_inputs", 0), count = -1;
    set_trip_count(call, -1);
    if (!body || sequences < 1 || (size_t)sequences > call->input_count)
        return false;
    size_t states = call->input_count - (size_t)sequences;
    onnx_list(call, "scan_input_axes", SIZE_MAX, &axes, &axis_count);
    onnx_list(call, "scan_output_axes", SIZE_MAX, &output_axes, &output_axis_count);
    bool good = true;
    for (size_t i = 0; good && i < call->input_count; i++) {
        const onnx_shape *input = onnx_in(call, i);
        onnx_shape item;
        int64_t dims[PYRO_MAX_RANK];
        if (i < states || !input || !input->rank) {
            good = set_input(call, body, i, input);
            continue;
        }
        int axis = onnx_axis(i - states < axis_count ? axes[i - states] : 0, input->rank);
        axis = axis < 0 ? 0 : axis;
        for (int d = 0, at = 0; d < input->rank; d++)
            if (d != axis)
                dims[at++] = input->dims[d];
        count = input->dims[axis] >= 0 ? input->dims[axis] : count;
        item = (onnx_shape){true, (uint8_t)(input->rank - 1), input->dtype, dims, NULL};
        good = set_input(call, body, i, &item);
    }
    if (!good || !check_trip_count(call, count) || !call->inference->infer_body(call, body))
        return false;
    set_trip_count(call, count);
    for (size_t i = 0; i < states; i++) {
        const onnx_shape *state = onnx_in(call, i);
        if (state)
            onnx_out_like(call, i, state->dtype, state);
    }
    return stack_outputs(call, body, states, states, count, output_axes, output_axis_count);
}
