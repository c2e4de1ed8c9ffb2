/*
 * Computes the values of small tensors from the values of their inputs: shapes that a graph takes
 * apart and puts together again, scales, axes, conditions.
 */
#include "read/onnx/infer.h"

#include "base/checked.h"
#include <math.h>
#include <string.h>

/* Room for the values of an output; NULL if memory runs out. */
static onnx_values *room_for(onnx_call *call, int64_t count, bool real)
{
    pyro_arena *arena = &call->inference->values;
    if (count < 0 || count > ONNX_MAX_ELEMENTS)
        return NULL;
    onnx_values *out = pyro_arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    out->count = (uint32_t)count;
    if (real)
        out->reals = pyro_arena_array(arena, (size_t)count + 1, sizeof *out->reals);
    else
        out->integers = pyro_arena_array(arena, (size_t)count + 1, sizeof *out->integers);
    return out->reals || out->integers ? out : NULL;
}

static int64_t integer_at(const onnx_values *values, uint32_t i)
{
    if (values->integers)
        return values->integers[i];
    double real = values->reals[i];
    return real > -9e18 && real < 9e18 ? (int64_t)real : ONNX_UNKNOWN;
}

static double real_at(const onnx_values *values, uint32_t i)
{
    if (values->reals)
        return values->reals[i];
    return values->integers[i] == ONNX_UNKNOWN ? (double)NAN : (double)values->integers[i];
}

/* The number of elements of an output; -1 if it is open or large. */
static int64_t output_elements(const onnx_call *call, size_t o, bool *real)
{
    uint32_t index = o < call->node->output_count ? call->node->outputs[o] : PYRO_NO_VALUE;
    int64_t elements = 1;
    if (index == PYRO_NO_VALUE)
        return -1;
    const pyro_value *value = &call->graph->graph->values[index];
    if (value->kind != PYRO_GRAPH_VALUE_TENSOR)
        return -1;
    for (size_t d = 0; d < value->rank; d++) {
        elements = onnx_times(elements, value->sizes[d]);
        if (elements < 0 || elements > ONNX_MAX_ELEMENTS)
            return -1;
    }
    *real = pyro_dtype_is_floating(value->dtype);
    return elements;
}

static void keep(onnx_call *call, size_t o, const onnx_values *values)
{
    if (values && o < call->node->output_count && call->node->outputs[o] != PYRO_NO_VALUE)
        call->graph->values[call->node->outputs[o]].known = values;
}

static bool is_target(const onnx_call *call, const char *const *names)
{
    const char *name = call->node->target + 5; /* behind "onnx." */
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

/* The sizes of the input, or their product. */
static const onnx_values *from_shape(onnx_call *call, bool product)
{
    const onnx_shape *input = onnx_in(call, 0);
    if (!input)
        return NULL;
    int64_t rank = input->rank;
    int64_t start = product ? 0 : onnx_integer(call, "start", 0);
    int64_t end = product ? rank : onnx_integer(call, "end", rank);
    start += start < 0 ? rank : 0;
    end += end < 0 ? rank : 0;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < start ? start : end > rank ? rank : end;
    onnx_values *out = room_for(call, product ? 1 : end - start, false);
    if (!out)
        return NULL;
    if (product)
        out->integers[0] = 1;
    for (int64_t d = start; d < end; d++)
        if (product)
            out->integers[0] = onnx_times(out->integers[0], input->dims[d]);
        else
            out->integers[d - start] = input->dims[d] < 0 ? ONNX_UNKNOWN : input->dims[d];
    return out;
}

/* The same values in another shape or type. */
static const onnx_values *convert(onnx_call *call, const onnx_values *values)
{
    bool real = false;
    int64_t count = output_elements(call, 0, &real);
    if (!values || count != values->count)
        return NULL;
    onnx_values *out = room_for(call, count, real);
    bool truth = call->graph->graph->values[call->node->outputs[0]].dtype == PYRO_DTYPE_BOOL;
    for (uint32_t i = 0; out && i < out->count; i++) {
        if (real)
            out->reals[i] = real_at(values, i);
        else
            out->integers[i] = integer_at(values, i);
        if (!real && truth && out->integers[i] != ONNX_UNKNOWN)
            out->integers[i] = out->integers[i] != 0;
    }
    return out;
}

static const onnx_values *gathered(onnx_call *call)
{
    const onnx_values *data = onnx_in_values(call, 0), *indices = onnx_in_values(call, 1);
    const onnx_shape *shape = onnx_in(call, 0);
    if (!data || !indices || !indices->integers || !shape || shape->rank != 1)
        return NULL;
    onnx_values *out = room_for(call, indices->count, data->reals != NULL);
    for (uint32_t i = 0; out && i < indices->count; i++) {
        int64_t at = indices->integers[i];
        at += at < 0 ? data->count : 0;
        if (at < 0 || at >= data->count)
            return NULL;
        if (data->reals)
            out->reals[i] = data->reals[at];
        else
            out->integers[i] = data->integers[at];
    }
    return out;
}

static const onnx_values *joined(onnx_call *call)
{
    bool real = false;
    int64_t count = output_elements(call, 0, &real);
    const onnx_shape *first = onnx_in(call, 0);
    if (count < 0 || !first || first->rank != 1)
        return NULL;
    onnx_values *out = room_for(call, count, real);
    uint32_t at = 0;
    for (size_t i = 0; out && i < call->input_count; i++) {
        const onnx_values *part = onnx_in_values(call, i);
        const onnx_shape *shape = onnx_in(call, i);
        int64_t size = part ? part->count : shape && shape->rank == 1 ? shape->dims[0] : -1;
        if (size < 0 || at + size > count)
            return NULL;
        for (int64_t k = 0; k < size; k++, at++)
            if (real)
                out->reals[at] = part ? real_at(part, (uint32_t)k) : (double)NAN;
            else
                out->integers[at] = part ? integer_at(part, (uint32_t)k) : ONNX_UNKNOWN;
    }
    return out && at == count ? out : NULL;
}

static const onnx_values *cut(onnx_call *call)
{
    const onnx_values *data = onnx_in_values(call, 0);
    const onnx_shape *shape = onnx_in(call, 0);
    const int64_t *starts, *ends, *steps = NULL;
    size_t count, end_count, step_count = 0;
    bool real = false;
    int64_t size = output_elements(call, 0, &real);
    if (!data || !shape || shape->rank != 1 || size < 0 ||
        !onnx_list(call, "starts", 1, &starts, &count) ||
        !onnx_list(call, "ends", 2, &ends, &end_count) || count != 1)
        return NULL;
    onnx_list(call, "steps", 4, &steps, &step_count);
    int64_t step = steps && step_count ? steps[0] : 1, start = starts[0];
    int64_t high = step > 0 ? data->count : data->count - 1;
    start = start < 0 ? (start < -(int64_t)data->count ? 0 : start + data->count) : start;
    start = start > high ? high : start;
    onnx_values *out = room_for(call, size, real);
    for (int64_t i = 0; out && i < size; i++) {
        int64_t move, at;
        if (!pyro_mul_i64(i, step, &move) || !pyro_add_i64(start, move, &at) || at < 0 ||
            at >= data->count)
            return NULL;
        if (real)
            out->reals[i] = real_at(data, (uint32_t)at);
        else
            out->integers[i] = integer_at(data, (uint32_t)at);
    }
    return out;
}

static bool divide(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *out = a / b;
    return true;
}

static bool modulo(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || b == -1)
        return b == -1 ? (*out = 0, true) : false;
    *out = a % b;
    if (*out && (*out < 0) != (b < 0))
        *out += b;
    return true;
}

static bool raise_power(int64_t a, int64_t b, int64_t *out)
{
    *out = 1;
    for (int64_t i = 0; i < b && b < 64; i++)
        if (!pyro_mul_i64(*out, a, out))
            return false;
    return b >= 0 && b < 64;
}

/* One pair of a binary operator; false if it has no result. */
static bool combine_integers(const char *op, int64_t a, int64_t b, int64_t *out)
{
    if (a == ONNX_UNKNOWN || b == ONNX_UNKNOWN)
        return false;
    if (!strcmp(op, "Add"))
        return pyro_add_i64(a, b, out);
    if (!strcmp(op, "Sub"))
        return pyro_sub_i64(a, b, out);
    if (!strcmp(op, "Mul"))
        return pyro_mul_i64(a, b, out);
    if (!strcmp(op, "Div"))
        return divide(a, b, out);
    if (!strcmp(op, "Mod"))
        return modulo(a, b, out);
    if (!strcmp(op, "Pow"))
        return raise_power(a, b, out);
    *out = !strcmp(op, "Max")              ? (a > b ? a : b)
           : !strcmp(op, "Min")            ? (a < b ? a : b)
           : !strcmp(op, "Equal")          ? a == b
           : !strcmp(op, "Greater")        ? a > b
           : !strcmp(op, "GreaterOrEqual") ? a >= b
           : !strcmp(op, "Less")           ? a < b
           : !strcmp(op, "LessOrEqual")    ? a <= b
           : !strcmp(op, "And")            ? a && b
           : !strcmp(op, "Or")             ? a || b
                                           : (a != 0) != (b != 0); /* Xor */
    return true;
}

static double combine_reals(const char *op, double a, double b)
{
    return !strcmp(op, "Add")   ? a + b
           : !strcmp(op, "Sub") ? a - b
           : !strcmp(op, "Mul") ? a * b
           : !strcmp(op, "Div") ? a / b
           : !strcmp(op, "Pow") ? pow(a, b)
           : !strcmp(op, "Mod") ? fmod(a, b)
           : !strcmp(op, "Max") ? fmax(a, b)
           : !strcmp(op, "Min") ? fmin(a, b)
                                : (double)NAN;
}

static const onnx_values *combined(onnx_call *call)
{
    const onnx_values *a = onnx_in_values(call, 0), *b = onnx_in_values(call, 1);
    const char *op = call->node->target + 5;
    bool real = false;
    int64_t count = output_elements(call, 0, &real);
    if (!a || !b || call->input_count != 2 || count < 0 || (a->count != count && a->count != 1) ||
        (b->count != count && b->count != 1))
        return NULL;
    /* Comparisons of reals give integers. */
    bool from_reals = a->reals || b->reals;
    onnx_values *out = room_for(call, count, real);
    for (uint32_t i = 0; out && i < out->count; i++) {
        uint32_t left = a->count == 1 ? 0 : i, right = b->count == 1 ? 0 : i;
        if (real)
            out->reals[i] = combine_reals(op, real_at(a, left), real_at(b, right));
        else if (from_reals)
            out->integers[i] = ONNX_UNKNOWN;
        else if (!combine_integers(op, integer_at(a, left), integer_at(b, right),
                                   &out->integers[i]))
            out->integers[i] = ONNX_UNKNOWN;
    }
    return out;
}

static const onnx_values *mapped(onnx_call *call)
{
    const onnx_values *in = onnx_in_values(call, 0);
    const char *op = call->node->target + 5;
    if (!in)
        return NULL;
    onnx_values *out = room_for(call, in->count, in->reals != NULL);
    for (uint32_t i = 0; out && i < in->count; i++) {
        if (in->reals) {
            double x = in->reals[i];
            out->reals[i] = !strcmp(op, "Neg")     ? -x
                            : !strcmp(op, "Abs")   ? fabs(x)
                            : !strcmp(op, "Floor") ? floor(x)
                            : !strcmp(op, "Ceil")  ? ceil(x)
                            : !strcmp(op, "Round") ? nearbyint(x)
                            : !strcmp(op, "Sqrt")  ? sqrt(x)
                                                   : (double)NAN;
        } else {
            int64_t x = in->integers[i];
            bool open = x == ONNX_UNKNOWN || x == INT64_MIN;
            out->integers[i] = open                 ? ONNX_UNKNOWN
                               : !strcmp(op, "Neg") ? -x
                               : !strcmp(op, "Abs") ? (x < 0 ? -x : x)
                               : !strcmp(op, "Not") ? !x
                                                    : ONNX_UNKNOWN;
        }
    }
    return out;
}

static const onnx_values *chosen(onnx_call *call)
{
    const onnx_values *which = onnx_in_values(call, 0), *yes = onnx_in_values(call, 1),
                      *no = onnx_in_values(call, 2);
    bool real = false;
    int64_t count = output_elements(call, 0, &real);
    if (!which || !which->integers || !yes || !no || count < 0 ||
        (which->count != count && which->count != 1) || (yes->count != count && yes->count != 1) ||
        (no->count != count && no->count != 1))
        return NULL;
    onnx_values *out = room_for(call, count, real);
    for (uint32_t i = 0; out && i < out->count; i++) {
        int64_t condition = which->integers[which->count == 1 ? 0 : i];
        const onnx_values *from = condition ? yes : no;
        uint32_t at = from->count == 1 ? 0 : i;
        if (real)
            out->reals[i] = condition == ONNX_UNKNOWN ? (double)NAN : real_at(from, at);
        else
            out->integers[i] = condition == ONNX_UNKNOWN ? ONNX_UNKNOWN : integer_at(from, at);
    }
    return out;
}

static const onnx_values *counted_up(onnx_call *call)
{
    const onnx_values *start = onnx_in_values(call, 0), *step = onnx_in_values(call, 2);
    bool real = false;
    int64_t count = output_elements(call, 0, &real);
    if (!start || !step || count < 0 || !start->integers || !step->integers || !start->count ||
        !step->count)
        return NULL;
    onnx_values *out = room_for(call, count, false);
    for (uint32_t i = 0; out && i < out->count; i++) {
        int64_t move;
        if (!pyro_mul_i64(step->integers[0], i, &move) ||
            !pyro_add_i64(start->integers[0], move, &out->integers[i]))
            return NULL;
    }
    return out;
}

static const onnx_values *reduced(onnx_call *call)
{
    const onnx_values *in = onnx_in_values(call, 0);
    const char *op = call->node->target + 5;
    bool real = false;
    if (!in || !in->integers || output_elements(call, 0, &real) != 1 || real || !in->count)
        return NULL;
    onnx_values *out = room_for(call, 1, false);
    if (!out)
        return NULL;
    out->integers[0] = in->integers[0];
    const char *pair = !strcmp(op, "ReduceProd")  ? "Mul"
                       : !strcmp(op, "ReduceSum") ? "Add"
                       : !strcmp(op, "ReduceMax") ? "Max"
                                                  : "Min";
    for (uint32_t i = 1; i < in->count; i++)
        if (!combine_integers(pair, out->integers[0], in->integers[i], &out->integers[0]))
            return NULL;
    return out;
}

/* One value, as often as the output has elements. */
static const onnx_values *filled(onnx_call *call, const onnx_values *value)
{
    bool real = false;
    int64_t count = output_elements(call, 0, &real);
    if (count < 0 || (value && value->count != 1))
        return value && count == value->count ? convert(call, value) : NULL;
    onnx_values *out = room_for(call, count, real);
    for (uint32_t i = 0; out && i < out->count; i++)
        if (real)
            out->reals[i] = value ? real_at(value, 0) : 0;
        else
            out->integers[i] = value ? integer_at(value, 0) : 0;
    return out;
}

static void split(onnx_call *call)
{
    const onnx_values *in = onnx_in_values(call, 0);
    const onnx_shape *shape = onnx_in(call, 0);
    uint32_t at = 0;
    if (!in || !shape || shape->rank != 1)
        return;
    for (size_t o = 0; o < call->node->output_count; o++) {
        bool real = false;
        int64_t count = output_elements(call, o, &real);
        onnx_values *out = count < 0 || at + count > in->count ? NULL : room_for(call, count, real);
        if (!out)
            return;
        for (uint32_t i = 0; i < out->count; i++, at++)
            if (real)
                out->reals[i] = real_at(in, at);
            else
                out->integers[i] = integer_at(in, at);
        keep(call, o, out);
    }
}

void onnx_propagate(onnx_call *call)
{
    static const char *const same[] = {"Identity",  "Cast",    "CastLike", "Squeeze",
                                       "Unsqueeze", "Reshape", "Flatten",  NULL};
    static const char *const pairs[] = {
        "Add", "Sub", "Mul", "Div",   "Mod",  "Pow",         "Max",     "Min",
        "And", "Or",  "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
        NULL};
    static const char *const maps[] = {"Neg", "Abs", "Floor", "Ceil", "Round", "Sqrt", "Not", NULL};
    static const char *const sums[] = {"ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin", NULL};
    const char *target = call->node->target;
    if (strncmp(target, "onnx.", 5))
        return;
    const char *op = target + 5;
    if (is_target(call, same))
        keep(call, 0, convert(call, onnx_in_values(call, 0)));
    else if (!strcmp(op, "Shape") || !strcmp(op, "Size"))
        keep(call, 0, from_shape(call, op[1] == 'i'));
    else if (!strcmp(op, "Gather"))
        keep(call, 0, gathered(call));
    else if (!strcmp(op, "Concat"))
        keep(call, 0, joined(call));
    else if (!strcmp(op, "Slice"))
        keep(call, 0, cut(call));
    else if (!strcmp(op, "Where"))
        keep(call, 0, chosen(call));
    else if (!strcmp(op, "Range"))
        keep(call, 0, counted_up(call));
    else if (!strcmp(op, "Split"))
        split(call);
    else if (!strcmp(op, "ConstantOfShape"))
        keep(call, 0, filled(call, onnx_in_values(call, 1)));
    else if (!strcmp(op, "Expand") || !strcmp(op, "Tile"))
        keep(call, 0, onnx_in_values(call, 0) ? filled(call, onnx_in_values(call, 0)) : NULL);
    else if (is_target(call, pairs))
        keep(call, 0, combined(call));
    else if (is_target(call, maps))
        keep(call, 0, mapped(call));
    else if (is_target(call, sums))
        keep(call, 0, reduced(call));
}
