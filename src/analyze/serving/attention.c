/* Finds the sizes of attention that serving steps are priced with: in the shapes of a trace's ops, or
 * in a model's graph. */
#include "analyze/serving/serving.h"

#include "analyze/signature.h"
#include "base/error.h"
#include "graph/model.h"
#include <pyrometer/cost.h>
#include <stdlib.h>
#include <string.h>

static bool is_attention_name(const char *name)
{
    return strstr(name, "attention") || strstr(name, "attn");
}

static bool is_attention(const pyro_analysis_context *context, uint32_t op)
{
    return op != PYRO_NO_EVENT && context->trace->category[op] == PYRO_EVENT_OP &&
           is_attention_name(pyro_event_name(context->trace, op));
}

/* Reads "[8, 64]" or "[8,64]" at a place of a text; returns the rank, 0 for anything else. */
static size_t read_shape(const char **at, int64_t *sizes, size_t most)
{
    size_t rank = 0;
    char *end;
    if (**at != '[')
        return 0;
    for ((*at)++; **at != ']'; *at = end) {
        *at += strspn(*at, ", ");
        long long size = strtoll(*at, &end, 10);
        if (end == *at || rank == most)
            return 0;
        sizes[rank++] = size;
    }
    (*at)++;
    return rank;
}

/* Queries [tokens, heads, size] and keys; ops of aten have [batch, heads, tokens, size]. */
static bool read_dims(const char *dims, bool is_aten, pyro_attention_shape *shape)
{
    int64_t query[4], key[4];
    if (*dims++ != '[')
        return false;
    size_t query_rank = read_shape(&dims, query, 4);
    dims += strspn(dims, ", ");
    size_t key_rank = read_shape(&dims, key, 4);
    if (query_rank != key_rank || query_rank < 3 || (query_rank == 4) != is_aten)
        return false;
    size_t last = query_rank - 1;
    shape->heads = query[1];
    shape->kv_heads = key[1];
    shape->head_size = query[last];
    return query[1] > 0 && key[1] > 0 && query[last] > 0 && query[1] % key[1] == 0;
}

/* The type of the second input: keys. */
static pyro_dtype type_of_keys(const char *types)
{
    const char *name = strchr(types, ',');
    name = name ? strchr(name, '"') : NULL;
    const char *end = name ? strchr(name + 1, '"') : NULL;
    return end ? pyro_dtype_from_cpp(name + 1, (size_t)(end - name - 1)) : PYRO_DTYPE_UNKNOWN;
}

/* An outermost attention op with shapes. */
static bool read_op(const pyro_analysis_context *context, uint32_t event,
                    pyro_attention_shape *shape)
{
    const pyro_trace *trace = context->trace;
    uint32_t parent = context->joins->parent[event], detail = trace->detail[event];
    uint32_t outer = parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : context->joins->op[parent];
    if (!is_attention(context, event) || is_attention(context, outer) || detail >= trace->op_count)
        return false;
    const pyro_op_detail *op = &trace->ops[detail];
    bool is_aten = strncmp(pyro_event_name(trace, event), "aten::", 6) == 0;
    if (op->dims == PYRO_NO_ID || !read_dims(pyro_trace_text(trace, op->dims), is_aten, shape))
        return false;
    shape->dtype = type_of_keys(pyro_trace_text(trace, op->types));
    return true;
}

int pyro_attention_of_trace(pyro_analysis_context *context, pyro_attention_shape *shape)
{
    int64_t *calls = calloc(context->window_count, sizeof *calls);
    *shape = (pyro_attention_shape){.dtype = PYRO_DTYPE_UNKNOWN};
    if (!calls)
        return pyro_fail_memory(context->error);
    for (uint32_t event = 0; event < context->trace->count; event++) {
        pyro_attention_shape found;
        if (context->trace->category[event] != PYRO_EVENT_OP || !read_op(context, event, &found))
            continue;
        uint32_t window = pyro_context_window_at(context, context->trace->start_ns[event]);
        if (window == PYRO_NO_EVENT)
            continue;
        found.layers = shape->layers;
        *shape = found;
        if (++calls[window] > shape->layers)
            shape->layers = calls[window];
    }
    free(calls);
    return PYRO_OK;
}

static const pyro_value *tensor_argument(const pyro_model *model, const pyro_node *node,
                                         size_t index)
{
    if (index >= node->arg_count || node->args[index].kind != PYRO_ARG_TENSOR)
        return NULL;
    const pyro_value *value = &model->graph->values[node->args[index].items.values[0]];
    return value->rank == 4 ? value : NULL;
}

static int64_t size_at(const pyro_model *model, const pyro_value *value, size_t index)
{
    int64_t size;
    return pyro_size_value(model, value->sizes[index], &size) ? size : 0;
}

/* Exports repeat the heads of keys, so the weights of their projection tell how many there are. */
static int64_t count_kv_heads(const pyro_model *model, const pyro_attention_shape *shape)
{
    for (size_t i = 0; i < model->parameter_count; i++) {
        const pyro_value *value = &model->graph->values[model->parameters[i].value];
        if (!strstr(model->parameters[i].path, "k_proj.weight") || value->rank != 2)
            continue;
        int64_t rows = size_at(model, value, 0);
        if (rows > 0 && rows % shape->head_size == 0 && rows / shape->head_size <= shape->heads)
            return rows / shape->head_size;
    }
    return shape->kv_heads;
}

static void read_attention(const pyro_model *model, pyro_attention_shape *shape)
{
    for (size_t i = 0; i < model->graph->node_count; i++) {
        const pyro_node *node = &model->graph->nodes[i];
        const pyro_value *query = tensor_argument(model, node, 0);
        const pyro_value *key = tensor_argument(model, node, 1);
        if (!strstr(node->target, "scaled_dot_product") || !query || !key)
            continue;
        shape->layers++;
        shape->heads = size_at(model, query, 1);
        shape->kv_heads = size_at(model, key, 1);
        shape->head_size = size_at(model, query, 3);
    }
    if (shape->layers && shape->heads > 0 && shape->head_size > 0)
        shape->kv_heads = count_kv_heads(model, shape);
    else
        *shape = (pyro_attention_shape){.dtype = PYRO_DTYPE_UNKNOWN};
}

/* Tokens of the model's first input, batch x sequence; 0 if that is not a language model's. */
static int64_t count_tokens(pyro_model *model)
{
    pyro_input input;
    if (!pyro_model_input_count(model) || pyro_model_input(model, 0, &input, NULL) != PYRO_OK ||
        input.rank != 2)
        return 0;
    return input.dims[0] * input.dims[1];
}

static void read_work(const pyro_cost *cost, int64_t tokens, pyro_served_model *served)
{
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &count);
    double all = 0, head = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(nodes[i].category, "attention") == 0)
            continue;
        all += (double)nodes[i].work.flops;
        if (nodes[i].work.macs > 0)
            head = (double)nodes[i].work.flops; /* the last product makes the logits */
    }
    served->flops_per_token = (all - head) / (double)tokens;
    served->flops_per_request = head / (double)tokens;
    served->weight_bytes = (double)pyro_cost_total(cost)->work.weight_read_bytes;
}

bool pyro_read_served_model(pyro_model *model, pyro_dtype dtype, pyro_served_model *served)
{
    pyro_cost *cost = NULL;
    int64_t tokens = count_tokens(model);
    pyro_cost_options options = {.depth = -1, .dtype = pyro_dtype_name(dtype)};
    *served = (pyro_served_model){.attention = {.dtype = dtype}};
    read_attention(model, &served->attention);
    if (tokens <= 0 || pyro_cost_compute(&cost, model, &options, NULL) != PYRO_OK)
        return false;
    read_work(cost, tokens, served);
    served->attention.dtype = dtype;
    pyro_cost_free(cost);
    return true;
}
