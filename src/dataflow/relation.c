/*
 * Operators that may return their input. Files show that only by inputs and outputs;
 * tests/python/graph/test_graph_values.py compares the rules with torch.
 */
#include "dataflow/relation.h"

#include <string.h>

typedef enum condition {
    ALWAYS,
    OUTSIDE_TRAINING,
    WITHOUT_CHANGE, /* the result has the shape, type, place and device of the input */
    IF_REAL         /* complex numbers differ */
} condition;

static const struct {
    const char *name; /* without the overload */
    condition condition;
} returning[] = {
    {"aten.dropout", OUTSIDE_TRAINING},
    {"aten.dropout_", OUTSIDE_TRAINING},
    {"aten.feature_dropout", OUTSIDE_TRAINING},
    {"aten.feature_dropout_", OUTSIDE_TRAINING},
    {"aten.alpha_dropout", OUTSIDE_TRAINING},
    {"aten.alpha_dropout_", OUTSIDE_TRAINING},
    {"aten.feature_alpha_dropout", OUTSIDE_TRAINING},
    {"aten.feature_alpha_dropout_", OUTSIDE_TRAINING},
    {"aten.to", WITHOUT_CHANGE},
    {"aten.type_as", WITHOUT_CHANGE},
    {"aten.contiguous", WITHOUT_CHANGE},
    {"aten.flatten", WITHOUT_CHANGE},
    {"aten.atleast_1d", WITHOUT_CHANGE},
    {"aten.atleast_2d", WITHOUT_CHANGE},
    {"aten.atleast_3d", WITHOUT_CHANGE},
    {"aten.sum_to_size", WITHOUT_CHANGE},
    {"aten.to_dense", WITHOUT_CHANGE},
    {"aten._autocast_to_full_precision", WITHOUT_CHANGE},
    {"aten._autocast_to_reduced_precision", WITHOUT_CHANGE},
    {"aten.conj", IF_REAL},
    {"aten.conj_physical", IF_REAL},
    {"aten.resolve_conj", IF_REAL},
    {"aten.resolve_neg", IF_REAL},
    {"aten.real", IF_REAL},
    {"aten.positive", ALWAYS},
    {"aten.lift", ALWAYS},
    {"aten.lift_fresh", ALWAYS},
    {"aten.requires_grad_", ALWAYS},
};

/* Operators that make a view if possible, and a copy otherwise. */
static const char *const maybe_views[] = {"aten.reshape", "aten.reshape_as", "aten.flatten"};

/* "aten.add.Tensor" is "aten.add". */
static bool is_op(const char *target, const char *name)
{
    size_t length = strlen(name);
    return !strncmp(target, name, length) && (target[length] == '.' || !target[length]);
}

static const pyro_arg *find_arg(const pyro_node *node, const char *name, size_t position)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (!strcmp(node->args[a].name, name))
            return &node->args[a];
    return position < node->arg_count && !node->args[position].name[0] ? &node->args[position]
                                                                       : NULL;
}

static bool is_true(const pyro_arg *arg)
{
    return arg && arg->kind == PYRO_ARG_BOOLEAN && arg->items.integers[0].literal;
}

static bool is_training(const pyro_node *node)
{
    const pyro_arg *chance = find_arg(node, "p", 1);
    bool is_zero = chance && ((chance->kind == PYRO_ARG_NUMBER && chance->items.number == 0) ||
                              (chance->kind == PYRO_ARG_INTEGER &&
                               chance->items.integers[0].value == PYRO_NO_VALUE &&
                               chance->items.integers[0].literal == 0));
    return is_true(find_arg(node, "train", 2)) && !is_zero;
}

/* Compares sizes or strides per dim; data-dependent sizes are equal if they are the same symbol. */
static bool are_equal(const pyro_model *model, const pyro_size *a, const pyro_size *b, size_t rank)
{
    for (size_t d = 0; d < rank; d++) {
        int64_t left, right;
        if (a[d] == b[d])
            continue;
        if (!pyro_size_value(model, a[d], &left) || !pyro_size_value(model, b[d], &right) ||
            left != right)
            return false;
    }
    return true;
}

static bool is_unchanged(const pyro_model *model, const pyro_value *before, const pyro_value *after)
{
    if (before->rank != after->rank || before->dtype != after->dtype ||
        (before->device && after->device && before->device != after->device) ||
        !are_equal(model, before->sizes, after->sizes, before->rank))
        return false;
    return !before->strides || !after->strides ||
           are_equal(model, before->strides, after->strides, before->rank);
}

/* Whether rows follow each other in the order of the dims. */
static bool is_row_major(const pyro_model *model, const pyro_value *value)
{
    int64_t expected = 1;
    for (size_t d = value->rank; d-- > 0;) {
        int64_t size, stride;
        if (!pyro_size_value(model, value->sizes[d], &size) ||
            !pyro_size_value(model, value->strides[d], &stride))
            return false;
        if (size == 0)
            return true;
        if (size != 1 && (stride != expected || __builtin_mul_overflow(expected, size, &expected)))
            return false;
    }
    return true;
}

static bool returns_input(const pyro_model *model, const pyro_node *node, uint32_t input,
                          uint32_t output, bool moves)
{
    const pyro_value *before = &model->graph->values[input], *after = &model->graph->values[output];
    for (size_t i = 0; i < sizeof returning / sizeof *returning; i++) {
        if (!is_op(node->target, returning[i].name))
            continue;
        switch (returning[i].condition) {
        case ALWAYS:
            return true;
        case OUTSIDE_TRAINING:
            return !is_training(node);
        case IF_REAL:
            return strncmp(pyro_dtype_name(before->dtype), "complex", 7) != 0;
        case WITHOUT_CHANGE:
            break;
        }
        bool has_strides = before->strides && after->strides;
        return is_unchanged(model, before, after) && !is_true(find_arg(node, "copy", SIZE_MAX)) &&
               (has_strides || (!moves && !find_arg(node, "memory_format", SIZE_MAX)));
    }
    return false;
}

pyro_relation pyro_node_relation(const pyro_model *model, const pyro_node *node, uint32_t input,
                                 uint32_t output, bool is_view, bool moves)
{
    const pyro_value *before = &model->graph->values[input], *after = &model->graph->values[output];
    if (returns_input(model, node, input, output, moves))
        return PYRO_RELATION_SAME;
    for (size_t i = 0; i < sizeof maybe_views / sizeof *maybe_views; i++) {
        if (!is_op(node->target, maybe_views[i]))
            continue;
        /* Permuted rows can be viewed in another shape, but never as rows in order. */
        bool is_shared = before->strides && after->strides
                             ? is_row_major(model, before) || !is_row_major(model, after)
                             : !moves;
        return is_shared ? PYRO_RELATION_VIEW : PYRO_RELATION_NEW;
    }
    return is_view ? PYRO_RELATION_VIEW : PYRO_RELATION_NEW;
}

pyro_region pyro_value_region(const pyro_model *model, const pyro_value *value)
{
    int64_t sizes[PYRO_MAX_RANK], strides[PYRO_MAX_RANK], offset, begin;
    int64_t item = pyro_dtype_bytes(value->dtype);
    if (!value->strides || item < 1 || !pyro_size_value(model, value->offset, &offset) ||
        __builtin_mul_overflow(offset, item, &begin))
        return pyro_region_somewhere(0, -1);
    for (size_t d = 0; d < value->rank; d++)
        if (!pyro_size_value(model, value->sizes[d], &sizes[d]) ||
            !pyro_size_value(model, value->strides[d], &strides[d]))
            return pyro_region_somewhere(0, -1);
    return pyro_region_strided(begin, item, value->rank, sizes, strides);
}
