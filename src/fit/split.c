/*
 * Finds what tensor parallelism divides, as its libraries do it: a product whose input is whole is
 * divided by its outputs, one whose input is divided by its inputs; attention by heads; tables of
 * words and the head by words. Experts lie in dim 0 of their weights.
 */
#include "base/containers/buf.h"
#include "base/error.h"
#include "fit/fit.h"
#include "graph/ops.h"
#include <string.h>

enum {
    LEAST_OUTPUTS = 64,      /* products with fewer outputs, such as gates, stay whole */
    LEAST_TABLE_ROWS = 10000, /* tables of positions and types have fewer rows, and stay whole */
    PASSES = 3
};

typedef struct flow {
    fit_load *load;
    pyro_op_index index;
    bool changed; /* a parameter was found to stay whole, or to have heads */
} flow;

static bool is_tensors(const pyro_arg *arg)
{
    return arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
}

static int64_t dim_of(const fit_load *load, uint32_t value, int axis)
{
    const pyro_value *tensor = &load->model->graph->values[value];
    int64_t size;
    int index = axis < 0 ? (int)tensor->rank + axis : axis;
    return index >= 0 && index < (int)tensor->rank &&
                   pyro_size_value(load->model, tensor->sizes[index], &size)
               ? size
               : 0;
}

static uint32_t rank_of(const fit_load *load, uint32_t value)
{
    return load->model->graph->values[value].rank;
}

/* Rank of a parameter's own tensor. */
static uint32_t parameter_rank(const fit_load *load, uint32_t parameter)
{
    return rank_of(load, load->model->parameters[parameter].value);
}

/* Experts: dim 0 of a weight with three dims. Packed weights have blocks there instead. */
static bool is_expert_weight(const fit_load *load, uint32_t parameter, const char *target)
{
    return parameter_rank(load, parameter) == 3 && !strstr(target, "NBits");
}

/* What the inputs of a node are. */
typedef struct operands {
    uint32_t input, weight, bias; /* values; the weight and bias are parameters; FIT_NONE: none */
    int64_t units; /* of the most divided input */
    uint32_t producer;
    bool is_logit;
    size_t count;
} operands;

static operands find_operands(const flow *f, const pyro_node *node)
{
    const fit_load *load = f->load;
    operands found = {
        .input = FIT_NONE, .weight = FIT_NONE, .bias = FIT_NONE, .producer = FIT_NONE};
    for (uint32_t a = 0; a < node->arg_count; a++)
        for (uint32_t i = 0; is_tensors(&node->args[a]) && i < node->args[a].count; i++) {
            uint32_t value = node->args[a].items.values[i];
            if (value == PYRO_NO_VALUE)
                continue;
            const fit_value *state = &load->values[value];
            found.count++;
            if (state->parameter != FIT_NONE) {
                if (parameter_rank(load, state->parameter) >= 2 && rank_of(load, value) >= 2 &&
                    found.weight == FIT_NONE)
                    found.weight = value;
                else if (found.bias == FIT_NONE)
                    found.bias = value;
                continue;
            }
            if (found.input == FIT_NONE)
                found.input = value;
            if (state->units > found.units || found.producer == FIT_NONE) {
                found.units = state->units > found.units ? state->units : found.units;
                found.producer = state->producer != FIT_NONE ? state->producer : found.producer;
            }
            found.is_logit |= state->is_logit;
        }
    return found;
}

/* Notes that ranks send a value: a sum of all ranks' parts, or rows of tokens to or from experts. */
static bool add_transfer(fit_load *load, uint32_t node, uint32_t value, bool is_expert, bool is_sum)
{
    int64_t bytes, rows = value == FIT_NONE ? 0 : dim_of(load, value, 0);
    if (value == FIT_NONE || !pyro_value_bytes(load->cost, value, &bytes))
        return true;
    if (!pyro_grow(&load->transfers, &load->transfer_capacity, load->transfer_count + 1,
                   sizeof *load->transfers))
        return false;
    fit_transfer *transfer = &load->transfers[load->transfer_count++];
    *transfer = (fit_transfer){.node = node, .bytes = bytes, .is_expert = is_expert};
    transfer->reduced_bytes = is_sum ? bytes : 0;
    if (is_sum && is_expert && rows > 0 && load->sequence > 0) /* summed per token first */
        transfer->reduced_bytes = fit_scale(bytes, load->batch * load->sequence, rows);
    return true;
}

static void set_outputs(const flow *f, const pyro_node *node, fit_value state)
{
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != PYRO_NO_VALUE) {
            fit_value *value = &f->load->values[node->outputs[o]];
            uint32_t parameter = value->parameter;
            *value = state;
            value->parameter = parameter;
        }
}

static bool is_vocabulary(const fit_load *load, uint32_t weight, int64_t outputs)
{
    const fit_parameter *parameter = &load->parameters[load->values[weight].parameter];
    return parameter->split == FIT_VOCABULARY ||
           (outputs >= LEAST_TABLE_ROWS && parameter->block == 0);
}

static void split_bias(flow *f, const operands *with, const fit_parameter *weight)
{
    if (with->bias == FIT_NONE)
        return;
    fit_parameter *bias = &f->load->parameters[f->load->values[with->bias].parameter];
    bias->experts = weight->experts;
    bias->split = weight->split == FIT_ROWS ? FIT_WHOLE : weight->split;
    bias->units = weight->units;
    bias->other_units = weight->other_units;
    bias->along_rows = !weight->experts;
}

/* A product of the input with a weight. */
static bool visit_product(flow *f, uint32_t n, const pyro_node *node, const operands *with)
{
    fit_load *load = f->load;
    uint32_t index = load->values[with->weight].parameter;
    fit_parameter *weight = &load->parameters[index];
    uint32_t out = node->output_count ? node->outputs[0] : PYRO_NO_VALUE;
    int64_t outputs = out == PYRO_NO_VALUE ? 0 : dim_of(load, out, -1);
    fit_value state = {.producer = FIT_NONE, .parameter = FIT_NONE, .is_logit = with->is_logit};
    bool by_rows = dim_of(load, load->model->parameters[index].value, 0) == outputs;
    weight->is_product = true;
    if (is_expert_weight(load, index, node->target)) {
        weight->experts = dim_of(load, load->model->parameters[index].value, 0);
        by_rows = false;
        if (!add_transfer(load, n, with->units ? out : with->input, true, with->units > 0))
            return false;
    }
    if (weight->split == FIT_VOCABULARY ||
        (!with->units && is_vocabulary(load, with->weight, outputs))) {
        weight->split = FIT_VOCABULARY;
        weight->is_product = false; /* quantisation leaves the head as it is */
        weight->units = outputs;
        weight->along_rows = by_rows;
        state.units = outputs;
        state.is_logit = true;
    } else if (with->units) {
        weight->split = FIT_ROWS;
        weight->units = with->units;
        weight->along_rows = !by_rows && !weight->experts;
        if (!weight->experts && !add_transfer(load, n, out, false, true))
            return false;
    } else if (outputs >= LEAST_OUTPUTS && outputs != load->experts && !weight->forced_whole) {
        bool has_heads = weight->split == FIT_COLUMNS && weight->units != outputs;
        weight->split = FIT_COLUMNS;
        weight->units = has_heads ? weight->units : outputs;
        weight->along_rows = by_rows;
        state.units = weight->units;
        state.producer = index;
    } else {
        weight->split = FIT_WHOLE;
    }
    split_bias(f, with, weight);
    set_outputs(f, node, state);
    return true;
}

/* Sets the heads of the parameter that makes queries, keys or values. */
static void set_heads(flow *f, uint32_t parameter, int64_t heads, int64_t other)
{
    fit_parameter *weight = &f->load->parameters[parameter];
    if (weight->split != FIT_COLUMNS || (weight->units == heads && weight->other_units == other))
        return;
    weight->units = heads;
    weight->other_units = other;
    f->changed = true;
}

/* The number of outputs of a column-parallel weight. */
static int64_t outputs_of(const fit_load *load, uint32_t parameter)
{
    const fit_parameter *weight = &load->parameters[parameter];
    uint32_t value = load->model->parameters[parameter].value;
    return dim_of(load, value, weight->along_rows ? 0 : -1);
}

static void visit_attention(flow *f, const pyro_node *node, const operands *with)
{
    fit_load *load = f->load;
    uint32_t qkv[3] = {FIT_NONE, FIT_NONE, FIT_NONE}, found = 0;
    for (uint32_t a = 0; a < node->arg_count && found < 3; a++)
        if (node->args[a].kind == PYRO_ARG_TENSOR)
            qkv[found++] = node->args[a].items.values[0];
    if (found < 3 || rank_of(load, qkv[0]) < 3) {
        set_outputs(f, node, (fit_value){.units = with->units, .producer = FIT_NONE});
        return;
    }
    int64_t heads = dim_of(load, qkv[0], -3), cache_heads = heads;
    uint32_t query = load->values[qkv[0]].producer;
    for (size_t i = 0; i < 3; i++) {
        uint32_t producer = load->values[qkv[i]].producer;
        int64_t size = dim_of(load, qkv[i], -1);
        if (producer == FIT_NONE || size <= 0 || heads <= 0)
            continue;
        int64_t outputs = outputs_of(load, producer);
        int64_t both = outputs / size;
        if (i > 0 && producer == query) {
            cache_heads = (both - heads) / 2;
            if (outputs % size == 0 && both > heads && (both - heads) % 2 == 0)
                set_heads(f, producer, heads, cache_heads);
        } else if (i == 0 && producer == load->values[qkv[1]].producer) {
            continue; /* fused: see its keys */
        } else if (outputs % size == 0 && both <= heads) {
            set_heads(f, producer, both, 0);
            cache_heads = i ? both : cache_heads;
        } else if (outputs % heads == 0) {
            set_heads(f, producer, heads, 0);
        }
    }
    load->heads = heads;
    load->cache_heads = cache_heads > 0 ? cache_heads : heads;
    load->attention_cache_values += load->cache_heads *
                                    (dim_of(load, qkv[1], -1) + dim_of(load, qkv[2], -1));
    set_outputs(f, node,
                (fit_value){.units = load->values[qkv[0]].units ? heads : 0,
                            .producer = FIT_NONE,
                            .parameter = FIT_NONE});
}

static bool is_norm(const pyro_op *op, const char *target)
{
    return (op && op->category == PYRO_CATEGORY_NORM) || strstr(target, ".mean") ||
           strstr(target, "ReduceMean");
}

/* A norm over all outputs of a product needs them whole, as that of latent attention. */
static void keep_whole(flow *f, const operands *with)
{
    fit_load *load = f->load;
    if (!with->units || with->producer == FIT_NONE || with->input == FIT_NONE)
        return;
    fit_parameter *weight = &load->parameters[with->producer];
    int64_t outputs = outputs_of(load, with->producer), size = dim_of(load, with->input, -1);
    if (weight->split == FIT_COLUMNS && rank_of(load, with->input) <= 3 && 2 * size > outputs &&
        !weight->forced_whole) {
        weight->forced_whole = true;
        f->changed = true;
    }
}

/* A view or a copy of a parameter is that parameter. */
static bool is_view_of_parameter(flow *f, const pyro_op *op, const pyro_node *node,
                                 const operands *with)
{
    bool views = op && (op->category == PYRO_CATEGORY_VIEW || op->category == PYRO_CATEGORY_MEMORY);
    uint32_t value = with->weight != FIT_NONE ? with->weight : with->bias;
    if (!views || with->count != 1 || value == FIT_NONE || !node->output_count ||
        node->outputs[0] == PYRO_NO_VALUE)
        return false;
    f->load->values[node->outputs[0]].parameter = f->load->values[value].parameter;
    return true;
}

static bool visit_table(flow *f, uint32_t n, const pyro_node *node, const operands *with)
{
    fit_load *load = f->load;
    fit_parameter *table = &load->parameters[load->values[with->weight].parameter];
    int64_t rows = dim_of(load, with->weight, 0);
    set_outputs(f, node, (fit_value){.producer = FIT_NONE, .parameter = FIT_NONE});
    if (rows < LEAST_TABLE_ROWS)
        return true;
    table->split = FIT_VOCABULARY;
    table->units = rows;
    table->along_rows = true;
    return !node->output_count || add_transfer(load, n, node->outputs[0], false, true);
}

static bool visit(flow *f, uint32_t n)
{
    const pyro_node *node = &f->load->model->graph->nodes[n];
    const pyro_op *op = pyro_op_find(&f->index, node->target);
    operands with = find_operands(f, node);
    if (is_view_of_parameter(f, op, node, &with))
        return true;
    if (op && op->category == PYRO_CATEGORY_ATTENTION) {
        f->load->attention_nodes[f->load->attention_count++] = n;
        visit_attention(f, node, &with);
        return true;
    }
    if (op && op->category == PYRO_CATEGORY_MATMUL && with.weight != FIT_NONE &&
        with.input != FIT_NONE)
        return visit_product(f, n, node, &with);
    if (op && op->category == PYRO_CATEGORY_LOOKUP && with.weight != FIT_NONE)
        return visit_table(f, n, node, &with);
    if (op && op->category == PYRO_CATEGORY_CONVOLUTION) {
        set_outputs(f, node, (fit_value){.producer = FIT_NONE, .parameter = FIT_NONE});
        return true;
    }
    if (is_norm(op, node->target))
        keep_whole(f, &with);
    set_outputs(f, node,
                (fit_value){.units = with.units,
                            .producer = with.producer,
                            .parameter = FIT_NONE,
                            .is_logit = with.is_logit});
    return true;
}

static void find_experts(flow *f)
{
    fit_load *load = f->load;
    const pyro_graph *graph = load->model->graph;
    for (size_t n = 0; n < graph->node_count && !load->experts; n++) {
        const pyro_op *op = pyro_op_find(&f->index, graph->nodes[n].target);
        if (!op || op->category != PYRO_CATEGORY_MATMUL)
            continue;
        operands with = find_operands(f, &graph->nodes[n]);
        if (with.weight != FIT_NONE &&
            is_expert_weight(load, load->values[with.weight].parameter, graph->nodes[n].target))
            load->experts = dim_of(
                load, load->model->parameters[load->values[with.weight].parameter].value, 0);
    }
}

int fit_find_splits(fit_load *load, pyro_error *error)
{
    const pyro_graph *graph = load->model->graph;
    flow f = {.load = load, .changed = true};
    load->attention_nodes = pyro_arena_array(&load->arena, graph->node_count + 1,
                                             sizeof *load->attention_nodes);
    if (!load->attention_nodes || !pyro_op_index_init(&f.index))
        return pyro_fail_memory(error);
    bool good = true;
    for (int pass = 0; good && f.changed && pass < PASSES; pass++) {
        f.changed = pass == 0; /* views of parameters are known after the first */
        load->transfer_count = load->attention_count = 0;
        load->attention_cache_values = 0;
        find_experts(&f);
        for (uint32_t n = 0; good && n < graph->node_count; n++)
            good = visit(&f, n);
    }
    pyro_op_index_free(&f.index);
    return good ? PYRO_OK : pyro_fail_memory(error);
}
