/* Adds weights, inputs and nodes to the graph of a model that no file describes node by node. */
#include "read/huggingface/build.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static hf_tensor fail(hf_builder *b)
{
    if (b->status == PYRO_OK)
        b->status = pyro_fail_memory(b->error);
    return PYRO_NO_VALUE;
}

void hf_join(char path[HF_PATH], const char *layer, const char *name)
{
    snprintf(path, HF_PATH, "%.140s%s%.50s", layer, *layer ? "." : "", name);
}

pyro_size hf_size(hf_builder *b, const char *text)
{
    int64_t index = pyro_exprs_add(&b->model->exprs, text, strlen(text));
    if (index < 0) {
        fail(b);
        return 0;
    }
    return ~(pyro_size)index;
}

pyro_size hf_sizef(hf_builder *b, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hf_size(b, text);
}

pyro_size hf_dim(const hf_builder *b, hf_tensor x, size_t axis)
{
    if (b->status < 0 || x == PYRO_NO_VALUE || axis >= b->model->graph->values[x].rank)
        return 0;
    return b->model->graph->values[x].sizes[axis];
}

/* A new tensor of the graph. */
static hf_tensor add_tensor(hf_builder *b, const char *name, pyro_dtype dtype, size_t rank,
                            const pyro_size *sizes)
{
    pyro_graph *graph = b->model->graph;
    uint32_t index = pyro_graph_value(graph, name, strlen(name));
    pyro_size *copy = pyro_arena_array(&b->model->arena, rank + 1, sizeof *copy);
    if (index == PYRO_NO_VALUE || !copy)
        return fail(b);
    memcpy(copy, sizes, rank * sizeof *copy);
    pyro_value *value = &graph->values[index];
    value->kind = PYRO_GRAPH_VALUE_TENSOR;
    value->sizes = copy;
    value->rank = (uint8_t)rank;
    value->dtype = (uint8_t)dtype;
    value->made = true;
    return index;
}

hf_tensor hf_weight(hf_builder *b, const char *path, pyro_dtype dtype, size_t rank,
                    const int64_t *dims)
{
    pyro_model *model = b->model;
    const char *dot = strrchr(path, '.');
    if (b->status < 0)
        return PYRO_NO_VALUE;
    uint32_t id = pyro_intern_find(&model->parameter_paths, path, strlen(path));
    if (id != PYRO_INTERN_NONE && id < model->parameter_count)
        return model->parameters[id].value;
    hf_tensor value = add_tensor(b, path, dtype, rank, dims);
    uint32_t owner = pyro_model_module(model, path, dot ? (size_t)(dot - path) : 0);
    if (value == PYRO_NO_VALUE || owner == PYRO_NO_VALUE ||
        pyro_intern_add(&model->parameter_paths, path, strlen(path)) == PYRO_INTERN_NONE ||
        !pyro_grow(&model->parameters, &model->parameter_capacity, model->parameter_count + 1,
                   sizeof *model->parameters))
        return fail(b);
    model->graph->values[value].role = PYRO_ROLE_PARAMETER;
    model->parameters[model->parameter_count++] = (pyro_parameter){
        .path = model->graph->values[value].name,
        .value = value,
        .module = owner,
        .role = PYRO_ROLE_PARAMETER,
        .tied_to = PYRO_NO_VALUE,
    };
    return value;
}

hf_tensor hf_input(hf_builder *b, const char *name, pyro_dtype dtype, size_t rank,
                   const pyro_size *sizes)
{
    pyro_model *model = b->model;
    hf_tensor value = add_tensor(b, name, dtype, rank, sizes);
    if (value == PYRO_NO_VALUE || !pyro_grow(&model->inputs, &model->input_capacity,
                                             model->input_count + 1, sizeof *model->inputs))
        return fail(b);
    model->graph->values[value].role = PYRO_ROLE_INPUT;
    model->inputs[model->input_count++] = value;
    return value;
}

/* Arguments of tensors, by name. */
static bool add_args(hf_builder *b, pyro_node *node, const char *const *names,
                     const hf_tensor *inputs)
{
    size_t count = 0;
    while (names[count])
        count++;
    pyro_arg *args = pyro_arena_array(&b->model->arena, count + 1, sizeof *args);
    uint32_t *values = pyro_arena_array(&b->model->arena, count + 1, sizeof *values);
    if (!args || !values)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (inputs[i] == PYRO_NO_VALUE)
            continue;
        values[i] = inputs[i];
        args[node->arg_count++] = (pyro_arg){
            .name = names[i], .kind = PYRO_ARG_TENSOR, .count = 1, .items.values = values + i};
        b->model->graph->values[inputs[i]].used = true;
    }
    node->args = args;
    return true;
}

/* A node without arguments; NULL: memory ran out. */
static pyro_node *add_node(hf_builder *b, const char *layer, const char *target, size_t rank,
                           const pyro_size *sizes)
{
    pyro_graph *graph = b->model->graph;
    char name[300];
    const char *op = strchr(target, '.');
    snprintf(name, sizeof name, "%s%s%s_%zu", layer, *layer ? "." : "", op ? op + 1 : target,
             b->counter++);
    hf_tensor output = add_tensor(b, name, b->dtype, rank, sizes);
    uint32_t *outputs = pyro_arena_alloc(&b->model->arena, sizeof *outputs);
    uint32_t module = pyro_model_module(b->model, layer, strlen(layer));
    uint32_t id = pyro_intern_add(&b->model->strings, target, strlen(target));
    if (output == PYRO_NO_VALUE || !outputs || module == PYRO_NO_VALUE || id == PYRO_INTERN_NONE ||
        !pyro_grow(&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                   sizeof *graph->nodes))
        return NULL;
    *outputs = output;
    b->model->modules[module].is_called = true;
    graph->nodes[graph->node_count] = (pyro_node){
        .name = graph->values[output].name,
        .target = pyro_intern_text(&b->model->strings, id),
        .outputs = outputs,
        .output_count = 1,
        .module = module,
        .call = pyro_model_enter(b->model, module),
    };
    b->model->total_nodes++;
    return &graph->nodes[graph->node_count++];
}

hf_tensor hf_node(hf_builder *b, const char *layer, const char *target, const char *const *names,
                  const hf_tensor *inputs, size_t rank, const pyro_size *sizes)
{
    if (b->status < 0)
        return PYRO_NO_VALUE;
    pyro_node *node = add_node(b, layer, target, rank, sizes);
    return node && add_args(b, node, names, inputs) ? node->outputs[0] : fail(b);
}

hf_tensor hf_concatenate(hf_builder *b, const char *layer, hf_tensor a, hf_tensor other,
                         size_t axis, pyro_size joined)
{
    pyro_size sizes[HF_MOST_DIMS];
    if (b->status < 0)
        return PYRO_NO_VALUE;
    size_t rank = b->model->graph->values[a].rank;
    memcpy(sizes, b->model->graph->values[a].sizes, rank * sizeof *sizes);
    sizes[axis] = joined;
    pyro_node *node = add_node(b, layer, "aten.cat", rank, sizes);
    pyro_arg *args = pyro_arena_array(&b->model->arena, 2, sizeof *args);
    uint32_t *values = pyro_arena_array(&b->model->arena, 2, sizeof *values);
    pyro_arg_integer *dim = pyro_arena_alloc(&b->model->arena, sizeof *dim);
    if (!node || !args || !values || !dim)
        return fail(b);
    values[0] = a;
    values[1] = other;
    *dim = (pyro_arg_integer){(int64_t)axis, PYRO_NO_VALUE};
    args[0] = (pyro_arg){
        .name = "tensors", .kind = PYRO_ARG_TENSORS, .count = 2, .items.values = values};
    args[1] = (pyro_arg){
        .name = "dim", .kind = PYRO_ARG_INTEGER, .count = 1, .items.integers = dim};
    b->model->graph->values[a].used = b->model->graph->values[other].used = true;
    node->args = args;
    node->arg_count = 2;
    return node->outputs[0];
}

/* The sizes of a tensor with another last one. */
static size_t with_last(hf_builder *b, hf_tensor x, int64_t last, pyro_size *sizes)
{
    const pyro_value *value = &b->model->graph->values[x];
    size_t rank = value->rank < HF_MOST_DIMS ? value->rank : HF_MOST_DIMS;
    memcpy(sizes, value->sizes, rank * sizeof *sizes);
    if (rank)
        sizes[rank - 1] = last;
    return rank;
}

hf_tensor hf_linear(hf_builder *b, const char *path, hf_tensor x, int64_t in, int64_t out,
                    bool bias)
{
    static const char *const names[] = {"input", "weight", "bias", NULL};
    char name[256];
    pyro_size sizes[HF_MOST_DIMS];
    hf_tensor inputs[3] = {x, PYRO_NO_VALUE, PYRO_NO_VALUE};
    if (b->status < 0)
        return PYRO_NO_VALUE;
    snprintf(name, sizeof name, "%s.weight", path);
    inputs[1] = hf_weight(b, name, b->linear_dtype, 2, (const int64_t[]){out, in});
    snprintf(name, sizeof name, "%s.bias", path);
    if (bias)
        inputs[2] = hf_weight(b, name, b->dtype, 1, &out);
    if (b->status < 0)
        return PYRO_NO_VALUE;
    size_t rank = with_last(b, x, out, sizes);
    return hf_node(b, path, "aten.linear", names, inputs, rank, sizes);
}

hf_tensor hf_norm(hf_builder *b, const char *path, hf_tensor x, int64_t width, bool rms, bool bias)
{
    static const char *const names[] = {"input", "weight", "bias", NULL};
    char name[256];
    pyro_size sizes[HF_MOST_DIMS];
    hf_tensor inputs[3] = {x, PYRO_NO_VALUE, PYRO_NO_VALUE};
    if (b->status < 0)
        return PYRO_NO_VALUE;
    snprintf(name, sizeof name, "%s.weight", path);
    inputs[1] = hf_weight(b, name, b->dtype, 1, &width);
    snprintf(name, sizeof name, "%s.bias", path);
    if (bias)
        inputs[2] = hf_weight(b, name, b->dtype, 1, &width);
    if (b->status < 0)
        return PYRO_NO_VALUE;
    size_t rank = with_last(b, x, width, sizes);
    return hf_node(b, path, rms ? "aten.rms_norm" : "aten.layer_norm", names, inputs, rank, sizes);
}

hf_tensor hf_embedding(hf_builder *b, const char *path, hf_tensor ids, int64_t rows, int64_t width)
{
    static const char *const names[] = {"weight", "indices", NULL};
    char name[256];
    if (b->status < 0)
        return PYRO_NO_VALUE;
    const pyro_size sizes[3] = {hf_dim(b, ids, 0), hf_dim(b, ids, 1), width};
    snprintf(name, sizeof name, "%s.weight", path);
    hf_tensor inputs[2] = {hf_weight(b, name, b->dtype, 2, (const int64_t[]){rows, width}), ids};
    return hf_node(b, path, "aten.embedding", names, inputs, 3, sizes);
}

hf_tensor hf_map(hf_builder *b, const char *layer, const char *target, hf_tensor a, hf_tensor other)
{
    static const char *const names[] = {"self", "other", NULL};
    pyro_size sizes[HF_MOST_DIMS];
    hf_tensor inputs[2] = {a, other};
    if (b->status < 0)
        return PYRO_NO_VALUE;
    const pyro_value *value = &b->model->graph->values[a];
    size_t rank = value->rank;
    memcpy(sizes, value->sizes, rank * sizeof *sizes);
    return hf_node(b, layer, target, names, inputs, rank, sizes);
}

hf_tensor hf_view(hf_builder *b, const char *layer, hf_tensor x, size_t rank,
                  const pyro_size *sizes)
{
    static const char *const names[] = {"self", NULL};
    return hf_node(b, layer, "aten.view", names, &x, rank, sizes);
}

hf_tensor hf_part(hf_builder *b, const char *layer, hf_tensor x, int64_t width)
{
    static const char *const names[] = {"self", NULL};
    pyro_size sizes[HF_MOST_DIMS];
    if (b->status < 0)
        return PYRO_NO_VALUE;
    size_t rank = with_last(b, x, width, sizes);
    return hf_node(b, layer, "aten.slice", names, &x, rank, sizes);
}

hf_tensor hf_matmul(hf_builder *b, const char *layer, hf_tensor a, hf_tensor other, size_t rank,
                    const pyro_size *sizes)
{
    static const char *const names[] = {"self", "other", NULL};
    const hf_tensor inputs[2] = {a, other};
    return hf_node(b, layer, "aten.matmul", names, inputs, rank, sizes);
}

hf_tensor hf_convolution(hf_builder *b, const char *path, hf_tensor x, size_t weight_rank,
                         const int64_t *weight_dims, bool bias, const pyro_size *sizes)
{
    static const char *const names[] = {"input", "weight", "bias", NULL};
    static const char *const targets[] = {"aten.conv1d", "aten.conv2d", "aten.conv3d"};
    char name[256];
    hf_tensor inputs[3] = {x, PYRO_NO_VALUE, PYRO_NO_VALUE};
    snprintf(name, sizeof name, "%s.weight", path);
    inputs[1] = hf_weight(b, name, b->dtype, weight_rank, weight_dims);
    snprintf(name, sizeof name, "%s.bias", path);
    if (bias)
        inputs[2] = hf_weight(b, name, b->dtype, 1, weight_dims);
    return hf_node(b, path, targets[weight_rank - 3], names, inputs, weight_rank, sizes);
}

void hf_forget_nodes(hf_builder *b, size_t count)
{
    pyro_graph *graph = b->model->graph;
    b->model->total_nodes -= graph->node_count - count;
    graph->node_count = count;
}
