/*
 * Checks the rows that a graph looks up by position. Positions follow from the sizes (arange, or a
 * running sum of ones), so that the largest is known; a table with fewer rows is an error.
 */
#include "graph/embedding_bounds.h"

#include "base/checked.h"
#include "base/error.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The largest value of an integer tensor. It is also the last along every dim, so that every slice
 * up to the end contains it.
 */
typedef struct largest {
    int64_t value;
    bool known;
    bool is_constant; /* all values are equal */
    bool is_mask;     /* 0 or 1, depending on data */
    size_t era;       /* in which this was found; an in-place write starts a new era */
} largest;

/* The node of a graph that is being checked. */
typedef struct lookup {
    const pyro_model *model;
    const pyro_graph *graph;
    const pyro_node *node;
    const largest *known; /* of every value of the graph */
    size_t era;           /* facts from an earlier era are no longer valid */
} lookup;

/* Operators that keep every value of their input. */
static const char *const same_values[] = {
    "aten._to_copy",   "aten._unsafe_view", "aten.alias",           "aten.clone",
    "aten.contiguous", "aten.detach",       "aten.expand",          "aten.expand_as",
    "aten.flatten",    "aten.lift_fresh",   "aten.lift_fresh_copy", "aten.permute",
    "aten.repeat",     "aten.reshape",      "aten.squeeze",         "aten.to",
    "aten.transpose",  "aten.type_as",      "aten.unsqueeze",       "aten.view",
    "aten.view_as",
};

static const char *const comparisons[] = {
    "aten.eq", "aten.ge", "aten.gt", "aten.le", "aten.lt", "aten.ne",
};

enum { PREFIX = sizeof "aten." - 1 };

/*
 * True if a target, which begins with "aten.", is an overload of an operator: "aten.add.Tensor" of
 * "aten.add". Every node is compared with all names, most of which differ in the next character.
 */
static bool is_op(const pyro_node *node, const char *name)
{
    const char *at = node->target + PREFIX;
    name += PREFIX;
    while (*name && *at == *name)
        at++, name++;
    return !*name && (*at == '.' || *at == '\0');
}

static bool is_one_of(const pyro_node *node, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_op(node, names[i]))
            return true;
    return false;
}

/* Finds an argument by name, or by position if the file has no names; NULL: not given. */
static const pyro_arg *find_arg(const pyro_node *node, const char *name, size_t position)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (!strcmp(node->args[a].name, name))
            return &node->args[a];
    bool is_there = position < node->arg_count && !*node->args[position].name;
    return is_there ? &node->args[position] : NULL;
}

static bool integer_of(const lookup *at, const pyro_arg *arg, int64_t *out)
{
    if (!arg || arg->kind != PYRO_ARG_INTEGER)
        return false;
    const pyro_arg_integer *integer = &arg->items.integers[0];
    if (integer->value == PYRO_NO_VALUE) {
        *out = integer->literal;
        return true;
    }
    const pyro_value *value = &at->graph->values[integer->value];
    return value->kind == PYRO_GRAPH_VALUE_SYMBOLIC &&
           pyro_size_value(at->model, value->sizes[0], out);
}

/* The value of a tensor argument; PYRO_NO_VALUE: not a tensor. */
static uint32_t tensor_of(const pyro_arg *arg)
{
    return arg && arg->kind == PYRO_ARG_TENSOR ? arg->items.values[0] : PYRO_NO_VALUE;
}

static largest known_of_value(const lookup *at, uint32_t value)
{
    bool holds = value != PYRO_NO_VALUE && at->known[value].era == at->era;
    return holds ? at->known[value] : (largest){0};
}

static largest known_of(const lookup *at, const pyro_arg *arg)
{
    return known_of_value(at, tensor_of(arg));
}

/* The size of a value along a dim; negative dims count from the end. */
static bool dim_of(const lookup *at, uint32_t index, int64_t dim, int64_t *out)
{
    const pyro_value *value = &at->graph->values[index];
    dim += dim < 0 ? value->rank : 0;
    return value->kind == PYRO_GRAPH_VALUE_TENSOR && dim >= 0 && dim < value->rank &&
           pyro_size_value(at->model, value->sizes[dim], out);
}

static largest counted_up(const lookup *at)
{
    int64_t start = 0, end, step = 1;
    bool has_step = find_arg(at->node, "step", 2) != NULL;
    const pyro_arg *first = find_arg(at->node, "start", at->node->arg_count);
    if (!integer_of(at, find_arg(at->node, "end", 0), &end) ||
        (first && !integer_of(at, first, &start)) ||
        (has_step && !integer_of(at, find_arg(at->node, "step", 2), &step)))
        return (largest){0};
    if (step != 1 || end <= start)
        return (largest){0};
    return (largest){.value = end - 1, .known = true, .is_constant = start == end - 1};
}

static largest filled(const lookup *at)
{
    int64_t value = is_op(at->node, "aten.ones") || is_op(at->node, "aten.ones_like");
    if (is_op(at->node, "aten.full") || is_op(at->node, "aten.full_like"))
        if (!integer_of(at, find_arg(at->node, "fill_value", 1), &value))
            return (largest){0};
    return (largest){.value = value, .known = true, .is_constant = true};
}

/* A running sum: that of ones ends at their count, as does that of a mask that hides nothing. */
static largest summed_up(const lookup *at)
{
    const pyro_arg *self = find_arg(at->node, "self", 0);
    largest result = known_of(at, self);
    int64_t dim, size;
    if (!result.known || result.value < 0 || (!result.is_constant && !result.is_mask) ||
        !integer_of(at, find_arg(at->node, "dim", 1), &dim) ||
        !dim_of(at, tensor_of(self), dim, &size) ||
        !pyro_mul_i64(result.value, size, &result.value))
        return (largest){0};
    result.is_constant = size == 1;
    result.is_mask = false;
    return result;
}

/* A sum, difference or product with a number, a constant tensor or (products) a mask. */
static largest combined(const lookup *at)
{
    const pyro_arg *other = find_arg(at->node, "other", 1);
    largest left = known_of(at, find_arg(at->node, "self", 0)), right = known_of(at, other);
    int64_t alpha;
    if (integer_of(at, other, &right.value))
        right.known = right.is_constant = true;
    if (!left.known || !right.known || find_arg(at->node, "alpha", at->node->arg_count))
        return (largest){0};
    if (left.is_constant && !is_op(at->node, "aten.sub")) {
        largest swapped = left;
        left = right;
        right = swapped;
    }
    bool is_product = is_op(at->node, "aten.mul");
    if (!right.is_constant && !(is_product && right.is_mask))
        return (largest){0};
    alpha = right.value;
    left.is_mask = false;
    left.known = is_product ? alpha >= 0 && pyro_mul_i64(left.value, alpha, &left.value)
                 : is_op(at->node, "aten.sub") ? pyro_sub_i64(left.value, alpha, &left.value)
                                               : pyro_add_i64(left.value, alpha, &left.value);
    return left;
}

/* A slice up to the end of the dim also contains the largest value. */
static largest cut_out(const lookup *at)
{
    const pyro_arg *self = find_arg(at->node, "self", 0), *last = find_arg(at->node, "end", 3);
    largest result = known_of(at, self);
    int64_t dim = 0, size, end, step = 1;
    integer_of(at, find_arg(at->node, "dim", 1), &dim);
    if (!result.known || result.is_constant)
        return result;
    if (find_arg(at->node, "step", 4) &&
        (!integer_of(at, find_arg(at->node, "step", 4), &step) || step != 1))
        return (largest){0};
    if (!last || last->kind == PYRO_ARG_NONE)
        return result;
    if (!integer_of(at, last, &end) || !dim_of(at, tensor_of(self), dim, &size) || end < size)
        return (largest){0};
    return result;
}

static largest limited(const lookup *at)
{
    const pyro_arg *most = find_arg(at->node, "max", 2);
    largest result = known_of(at, find_arg(at->node, "self", 0));
    int64_t limit;
    if (!result.known || !most || most->kind == PYRO_ARG_NONE)
        return result;
    if (!integer_of(at, most, &limit))
        return (largest){0};
    result.value = limit < result.value ? limit : result.value;
    return result;
}

/* Comparing an input itself gives a mask; other comparisons are unknown. */
static largest compared(const lookup *at)
{
    uint32_t value = tensor_of(find_arg(at->node, "self", 0));
    if (value == PYRO_NO_VALUE || at->graph->values[value].role != PYRO_ROLE_INPUT)
        return (largest){0};
    return (largest){.value = 1, .known = true, .is_mask = true};
}

static largest largest_of(const lookup *at)
{
    static const char *const fills[] = {"aten.ones",       "aten.ones_like", "aten.zeros",
                                        "aten.zeros_like", "aten.full",      "aten.full_like"};
    static const char *const sums[] = {"aten.add", "aten.sub", "aten.mul"};
    const pyro_node *node = at->node;
    if (is_op(node, "aten.arange"))
        return counted_up(at);
    if (is_op(node, "aten.cumsum"))
        return summed_up(at);
    if (is_op(node, "aten.slice"))
        return cut_out(at);
    if (is_op(node, "aten.clamp"))
        return limited(at);
    if (is_one_of(node, fills, sizeof fills / sizeof *fills))
        return filled(at);
    if (is_one_of(node, sums, sizeof sums / sizeof *sums))
        return combined(at);
    if (is_one_of(node, comparisons, sizeof comparisons / sizeof *comparisons))
        return compared(at);
    if (is_one_of(node, same_values, sizeof same_values / sizeof *same_values))
        return known_of(at, find_arg(node, "self", 0));
    return (largest){0};
}

/* Fails if the largest value of an index is beyond the dim that it indexes. */
static int check_index(const lookup *at, uint32_t table, int64_t dim, largest index,
                       pyro_error *error)
{
    int64_t rows;
    if (!index.known || table == PYRO_NO_VALUE || !dim_of(at, table, dim, &rows) ||
        index.value < rows)
        return PYRO_OK;
    const char *layer = at->model->modules[at->node->module].path;
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "the input is too long: it looks up row %" PRId64
                     " of '%.100s' (layer '%.100s'), which has rows 0 to %" PRId64,
                     index.value, at->graph->values[table].name, layer, rows - 1);
}

/* aten.index has an index or None for each of the first dims. */
static int check_index_list(const lookup *at, uint32_t table, pyro_error *error)
{
    const pyro_arg *list = find_arg(at->node, "indices", 1);
    int status = PYRO_OK;
    for (uint32_t i = 0; list && list->kind == PYRO_ARG_TENSORS && i < list->count; i++)
        if (status == PYRO_OK)
            status = check_index(at, table, i, known_of_value(at, list->items.values[i]), error);
    return status;
}

static int check_node(const lookup *at, pyro_error *error)
{
    const pyro_node *node = at->node;
    uint32_t self = tensor_of(find_arg(node, "self", 0));
    int64_t dim;
    if (is_op(node, "aten.embedding"))
        return check_index(at, tensor_of(find_arg(node, "weight", 0)), 0,
                           known_of(at, find_arg(node, "indices", 1)), error);
    if (is_op(node, "aten.index"))
        return check_index_list(at, self, error);
    if ((is_op(node, "aten.gather") || is_op(node, "aten.index_select")) &&
        integer_of(at, find_arg(node, "dim", 1), &dim))
        return check_index(at, self, dim, known_of(at, find_arg(node, "index", 2)), error);
    return PYRO_OK;
}

/* True for in-place operators: "aten.fill_.Scalar", but not "aten.__and__.Tensor". */
static bool writes_in_place(const pyro_node *node)
{
    const char *name = strchr(node->target, '.'), *end = name ? strchr(name + 1, '.') : NULL;
    return end && end > name + 2 && end[-1] == '_' && end[-2] != '_';
}

/* The number of nodes up to the last one that looks something up; what follows needs no check. */
static size_t nodes_to_check(const pyro_graph *graph)
{
    static const char *const lookups[] = {"aten.embedding", "aten.index", "aten.gather",
                                          "aten.index_select"};
    size_t count = graph->node_count;
    for (; count > 0; count--) {
        const pyro_node *node = &graph->nodes[count - 1];
        if (!strncmp(node->target, "aten.", PREFIX) &&
            is_one_of(node, lookups, sizeof lookups / sizeof *lookups))
            break;
    }
    return count;
}

int pyro_model_check_indices(const pyro_model *model, pyro_error *error)
{
    const pyro_graph *graph = model->graph;
    size_t node_count = nodes_to_check(graph);
    if (!node_count)
        return PYRO_OK;
    largest *known = calloc(graph->value_count + 1, sizeof *known);
    int status = known ? PYRO_OK : pyro_fail_memory(error);
    lookup at = {.model = model, .graph = graph, .known = known, .era = 1};
    for (size_t n = 0; status == PYRO_OK && n < node_count; n++) {
        const pyro_node *node = at.node = &graph->nodes[n];
        bool is_aten = !strncmp(node->target, "aten.", PREFIX);
        status = is_aten ? check_node(&at, error) : PYRO_OK;
        if (writes_in_place(node)) { /* views of that memory change too */
            at.era++;
        } else if (node->output_count && node->outputs[0] != PYRO_NO_VALUE) {
            largest found = is_aten ? largest_of(&at) : (largest){0};
            found.era = at.era;
            known[node->outputs[0]] = found;
        }
    }
    free(known);
    return status;
}
