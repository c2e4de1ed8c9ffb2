/* Finds the kernels of a priced model: its nodes that move or compute something. */
#include "fuse/nodes.h"

#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/op_groups.h"

#include <stdlib.h>
#include <string.h>

typedef struct finder {
    pyro_kernels *out;
    const pyro_cost *cost;
    const pyro_model *model;
    const pyro_graph *graph;
    pyro_op_index index;
    uint32_t *source; /* by value: the kernel that made it */
    uint32_t *origin; /* by value: what it is a view of */
} finder;

static bool has_work(const pyro_cost_node *node)
{
    return node->work.flops > 0 || node->work.activation_read_bytes > 0 ||
           node->work.weight_read_bytes > 0 || node->work.written_bytes > 0;
}

static bool is_category(const pyro_cost_node *node, pyro_category category)
{
    return strcmp(node->category, pyro_category_name(category)) == 0;
}

/* Batch norm that computes statistics of the batch reads everything twice. */
static bool uses_batch_statistics(const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool is_flag = strcmp(arg->name, "training") == 0 ||
                       strcmp(arg->name, "training_mode") == 0 ||
                       strcmp(arg->name, "use_input_stats") == 0;
        if (is_flag && (arg->kind == PYRO_ARG_BOOLEAN || arg->kind == PYRO_ARG_INTEGER))
            return arg->count && arg->items.integers[0].literal != 0;
    }
    return !strstr(node->target, "no_training") && strstr(node->target, "legit");
}

static bool is_scan(const char *target)
{
    static const char *const names[] = {"cum",   "sort",     "topk",   "median",
                                        "mode",  "kthvalue", "unique", "nonzero",
                                        "histc", "bincount", "scatter"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(target, names[i]))
            return true;
    return false;
}

static pyro_kernel_kind kind_of(const finder *f, const pyro_node *node, const pyro_cost_node *cost)
{
    const pyro_op *op = pyro_op_find(&f->index, node->target);
    unsigned groups = pyro_op_groups(op);
    if (!op || is_category(cost, PYRO_CATEGORY_UNCOUNTED) || is_scan(node->target))
        return PYRO_KERNEL_OPAQUE;
    switch (op->category) {
    case PYRO_CATEGORY_CONVOLUTION:
        return PYRO_KERNEL_CONVOLUTION;
    case PYRO_CATEGORY_MATMUL:
        return PYRO_KERNEL_PRODUCT;
    case PYRO_CATEGORY_ATTENTION:
        return PYRO_KERNEL_ATTENTION;
    case PYRO_CATEGORY_NORM:
        if (groups & PYRO_GROUP_BATCH_NORM && !uses_batch_statistics(node))
            return PYRO_KERNEL_SCALE;
        return PYRO_KERNEL_NORM;
    case PYRO_CATEGORY_ACTIVATION:
        return strstr(op->label, "oftmax") ? PYRO_KERNEL_SOFTMAX : PYRO_KERNEL_POINTWISE;
    case PYRO_CATEGORY_ELEMENTWISE:
    case PYRO_CATEGORY_LOOKUP:
    case PYRO_CATEGORY_MEMORY:
    case PYRO_CATEGORY_SCALAR:
        return PYRO_KERNEL_POINTWISE;
    case PYRO_CATEGORY_REDUCTION:
        return PYRO_KERNEL_REDUCTION;
    case PYRO_CATEGORY_POOLING:
        return strncmp(op->label, "AdaptiveAvg", 11) == 0 ||
                       strncmp(op->label, "GlobalAverage", 13) == 0
                   ? PYRO_KERNEL_REDUCTION
                   : PYRO_KERNEL_WINDOW;
    case PYRO_CATEGORY_RESAMPLING:
        return PYRO_KERNEL_WINDOW;
    default:
        return PYRO_KERNEL_OPAQUE;
    }
}

static bool is_tensor(const finder *f, uint32_t value)
{
    return value != PYRO_NO_VALUE && f->graph->values[value].kind == PYRO_GRAPH_VALUE_TENSOR;
}

/* Elements and bytes of a value; 0 where a size depends on data. */
static void measure(const finder *f, uint32_t index, int64_t *elements, int64_t *bytes)
{
    const pyro_value *value = &f->graph->values[index];
    int64_t size;
    *elements = 1;
    for (size_t d = 0; d < value->rank; d++)
        if (!pyro_size_value(f->model, value->sizes[d], &size) ||
            !pyro_mul_i64(*elements, size, elements))
            *elements = 0;
    if (!pyro_mul_i64(*elements, pyro_dtype_bytes(pyro_cost_price_dtype(f->cost, value->dtype)),
                      bytes))
        *bytes = 0;
}

static bool add_use(finder *f, pyro_kernel *kernel, uint32_t value, bool moves)
{
    pyro_kernels *out = f->out;
    if (!is_tensor(f, value))
        return true;
    for (size_t i = kernel->first_use; i < out->use_count; i++)
        if (out->uses[i].value == value)
            return true;
    if (!pyro_grow(&out->uses, &out->use_capacity, out->use_count + 1, sizeof *out->uses))
        return false;
    pyro_kernel_use *use = &out->uses[out->use_count++];
    *use = (pyro_kernel_use){
        .value = value, .source = f->source[value], .origin = f->origin[value]};
    use->is_weight = use->source == PYRO_NO_KERNEL &&
                     f->graph->values[use->origin].role >= PYRO_ROLE_PARAMETER;
    int64_t made, made_bytes;
    measure(f, value, &use->elements, &use->bytes);
    measure(f, use->origin, &made, &made_bytes);
    use->is_in_place = !moves && use->elements == made;
    kernel->use_count++;
    return true;
}

/* Operators that read values at other places than those that they write: concatenation, padding,
 * lookups. Copies do not. */
static bool moves_values(const finder *f, const pyro_node *node)
{
    static const char *const copies[] = {"clone", "contiguous", "copy",    ".to.",
                                         "lift",  "Cast",       "Identity"};
    const pyro_op *op = pyro_op_find(&f->index, node->target);
    if (!op || (op->category != PYRO_CATEGORY_MEMORY && op->category != PYRO_CATEGORY_LOOKUP))
        return false;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (strstr(node->target, copies[i]))
            return false;
    return true;
}

static bool add_uses(finder *f, pyro_kernel *kernel, const pyro_node *node)
{
    bool moves = moves_values(f, node);
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        if (arg->kind != PYRO_ARG_TENSOR && arg->kind != PYRO_ARG_TENSORS)
            continue;
        for (uint32_t i = 0; i < arg->count; i++)
            if (!add_use(f, kernel, arg->items.values[i], moves))
                return false;
    }
    return true;
}

/* What it walks: its output, or the largest input if that is larger. */
static bool set_space(finder *f, pyro_kernel *kernel, const pyro_node *node)
{
    int64_t bytes;
    for (uint32_t o = 0; o < node->output_count && !kernel->dims; o++) {
        if (!is_tensor(f, node->outputs[o]))
            continue;
        const pyro_value *value = &f->graph->values[node->outputs[o]];
        int64_t *dims = pyro_arena_array(&f->out->arena, value->rank + 1u, sizeof *dims);
        if (!dims)
            return false;
        for (size_t d = 0; d < value->rank; d++)
            if (!pyro_size_value(f->model, value->sizes[d], &dims[d]))
                dims[d] = 0;
        kernel->dims = dims;
        kernel->rank = value->rank;
        measure(f, node->outputs[o], &kernel->elements, &bytes);
    }
    if (kernel->kind != PYRO_KERNEL_REDUCTION)
        return true;
    kernel->rows = kernel->elements;
    for (size_t i = 0; i < kernel->use_count; i++) {
        int64_t elements = f->out->uses[kernel->first_use + i].elements;
        kernel->elements = elements > kernel->elements ? elements : kernel->elements;
    }
    return true;
}

/* A node without work passes its first tensor on; so do views. */
static void pass_on(finder *f, const pyro_node *node)
{
    uint32_t first = PYRO_NO_VALUE;
    for (uint32_t a = 0; a < node->arg_count && first == PYRO_NO_VALUE; a++)
        if (node->args[a].kind == PYRO_ARG_TENSOR || node->args[a].kind == PYRO_ARG_TENSORS)
            for (uint32_t i = 0; i < node->args[a].count && first == PYRO_NO_VALUE; i++)
                if (is_tensor(f, node->args[a].items.values[i]))
                    first = node->args[a].items.values[i];
    for (uint32_t o = 0; o < node->output_count; o++) {
        uint32_t made = node->outputs[o];
        if (made == PYRO_NO_VALUE || first == PYRO_NO_VALUE)
            continue;
        f->source[made] = f->source[first];
        f->origin[made] = f->origin[first];
    }
}

static bool add_kernel(finder *f, uint32_t graph_node, uint32_t first, uint32_t count)
{
    pyro_kernels *out = f->out;
    const pyro_node *node = &f->graph->nodes[graph_node];
    const pyro_cost_node *costs = &f->cost->nodes[first];
    if (!pyro_grow(&out->items, &out->capacity, out->count + 1, sizeof *out->items))
        return false;
    uint32_t number = (uint32_t)out->count;
    pyro_kernel *kernel = &out->items[out->count++];
    *kernel = (pyro_kernel){.cost_node = first,
                            .cost_node_count = count,
                            .graph_node = graph_node,
                            .first_use = (uint32_t)out->use_count,
                            .times = costs[0].times};
    bool is_body = count > 1 || strcmp(costs[0].op, node->target) != 0;
    kernel->kind = is_body ? PYRO_KERNEL_OPAQUE : kind_of(f, node, costs);
    int64_t inside = 0;
    for (uint32_t i = 0; i < count; i++) {
        kernel->read_bytes += costs[i].work.activation_read_bytes + costs[i].work.weight_read_bytes;
        kernel->written_bytes += costs[i].work.written_bytes;
        kernel->flops += costs[i].work.flops;
        inside += has_work(&costs[i]) ? costs[i].times : 0;
    }
    out->body_kernels += is_body && inside > 1 ? inside - 1 : 0;
    if (!add_uses(f, kernel, node) || !set_space(f, kernel, node))
        return false;
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != PYRO_NO_VALUE)
            f->source[node->outputs[o]] = number;
    return true;
}

/* Cost nodes are in the order of the main graph's nodes; a body's nodes have its node's number. */
static bool add_kernels(finder *f)
{
    uint32_t next = 0;
    for (uint32_t n = 0; n < f->graph->node_count; n++) {
        uint32_t first = next;
        bool works = false;
        for (; next < f->cost->node_count && f->cost->node_origins[next] == n; next++)
            works |= has_work(&f->cost->nodes[next]) &&
                     !is_category(&f->cost->nodes[next], PYRO_CATEGORY_VIEW);
        if (!works)
            pass_on(f, &f->graph->nodes[n]);
        else if (!add_kernel(f, n, first, next - first))
            return false;
    }
    return true;
}

/* Which kernels read a kernel's values, each once. */
static bool add_readers(finder *f)
{
    pyro_kernels *out = f->out;
    uint32_t *last = calloc(out->count + 1, sizeof *last);
    out->readers = calloc(out->use_count + 1, sizeof *out->readers);
    bool done = last && out->readers;
    for (int pass = 0; done && pass < 2; pass++) {
        memset(last, 0xff, (out->count + 1) * sizeof *last);
        for (uint32_t k = 0; k < out->count; k++)
            for (uint32_t i = 0; i < out->items[k].use_count; i++) {
                uint32_t source = out->uses[out->items[k].first_use + i].source;
                if (source == PYRO_NO_KERNEL || last[source] == k)
                    continue;
                last[source] = k;
                pyro_kernel *made = &out->items[source];
                if (pass == 1)
                    out->readers[made->first_reader + made->reader_count] = k;
                made->reader_count++;
            }
        uint32_t at = 0;
        for (uint32_t k = 0; pass == 0 && k < out->count; k++) {
            out->items[k].first_reader = at;
            at += out->items[k].reader_count;
            out->items[k].reader_count = 0;
        }
        out->reader_count = pass == 0 ? at : out->reader_count;
    }
    free(last);
    return done;
}

/* What the model returns; where the file does not say it, what nothing reads. */
static void mark_results(finder *f)
{
    for (size_t i = 0; f->graph->outputs && i < f->graph->output_count; i++) {
        uint32_t value = f->graph->outputs[i];
        if (value != PYRO_NO_VALUE && f->source[value] != PYRO_NO_KERNEL)
            f->out->items[f->source[value]].escapes = true;
    }
    for (size_t k = 0; k < f->out->count; k++)
        f->out->items[k].escapes |= f->out->items[k].reader_count == 0;
}

int pyro_kernels_find(pyro_kernels *out, const pyro_cost *cost, pyro_error *error)
{
    finder f = {.out = out, .cost = cost, .model = cost->model, .graph = cost->model->graph};
    size_t values = f.graph->value_count;
    *out = (pyro_kernels){0};
    pyro_arena_init(&out->arena);
    f.source = malloc((values + 1) * sizeof *f.source);
    f.origin = malloc((values + 1) * sizeof *f.origin);
    bool has_index = pyro_op_index_init(&f.index), done = has_index && f.source && f.origin;
    for (uint32_t v = 0; done && v < values; v++) {
        f.source[v] = PYRO_NO_KERNEL;
        f.origin[v] = v;
    }
    done = done && add_kernels(&f) && add_readers(&f);
    if (done)
        mark_results(&f);
    if (has_index)
        pyro_op_index_free(&f.index);
    free(f.source);
    free(f.origin);
    return done ? PYRO_OK : pyro_fail_memory(error);
}

void pyro_kernels_free(pyro_kernels *kernels)
{
    pyro_arena_free(&kernels->arena);
    free(kernels->items);
    free(kernels->uses);
    free(kernels->readers);
    *kernels = (pyro_kernels){0};
}
