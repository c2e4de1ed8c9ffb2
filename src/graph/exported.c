/* Finds the masks and repeated heads that only an export of transformers has. */
#include "graph/exported.h"

#include <stdlib.h>
#include <string.h>

/* No kernel reads grouped heads of more than this many values. */
enum { MAX_GROUPED_HEAD = 256, MAX_CHAIN = 8, NO_NODE = -1 };

typedef struct finder {
    const pyro_model *model;
    const pyro_graph *graph;
    pyro_exported *out;
    int64_t *producer;  /* of each value: its node; NO_NODE for an input */
    uint32_t *readers;  /* of each value: number of nodes that read its bytes */
    int64_t *local;     /* of each value: 0, or the reach of a value that depends only on sizes */
} finder;

bool pyro_exported_drops_masks(const char *class_path, size_t length)
{
    /* Models that always make their mask, because it contains a bias or an index. */
    static const char *const always[] = {"axk2.",        "deepseek_v32.",  "diffusion_gemma.",
                                         "doge.",        "falcon.",        "glm5_next.",
                                         "glm_moe_dsa.", "mistral_large4."};
    static const char models[] = "transformers.models.", loaded[] = "transformers_modules.";
    if (length >= sizeof loaded && !memcmp(class_path, loaded, sizeof loaded - 1))
        return true;
    if (length < sizeof models || memcmp(class_path, models, sizeof models - 1))
        return false;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        size_t name_length = strlen(always[i]);
        if (length - (sizeof models - 1) >= name_length &&
            !memcmp(class_path + sizeof models - 1, always[i], name_length))
            return false;
    }
    return true;
}

/* True if a target is any overload of this ATen operator. */
static bool is_op(const char *target, const char *name)
{
    size_t length = strlen(name);
    return !strncmp(target, "aten.", 5) && !strncmp(target + 5, name, length) &&
           (target[5 + length] == '.' || !target[5 + length]);
}

static bool is_one_of(const char *target, const char *const *names)
{
    for (; *names; names++)
        if (is_op(target, *names))
            return true;
    return false;
}

static bool is_attention(const pyro_node *node)
{
    return is_op(node->target, "scaled_dot_product_attention");
}

/* Assertions and size queries do not read the bytes of a tensor. */
static bool reads_bytes(const pyro_node *node)
{
    return strncmp(node->target, "aten._assert", 12) && strncmp(node->target, "aten.sym_", 9);
}

/* The value of a tensor argument; PYRO_NO_VALUE if it is not given. */
static uint32_t value_of(const pyro_node *node, const char *name, uint32_t position)
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        if (arg->kind == PYRO_ARG_TENSOR && arg->count == 1 &&
            (!strcmp(arg->name, name) || (!arg->name[0] && a == position)))
            return arg->items.values[0];
    }
    return PYRO_NO_VALUE;
}

static bool dim_of(const finder *f, uint32_t index, int from_end, int64_t *size)
{
    const pyro_value *value = &f->graph->values[index];
    return value->kind == PYRO_GRAPH_VALUE_TENSOR && value->rank >= from_end &&
           pyro_size_value(f->model, value->sizes[value->rank - from_end], size);
}

/* Calls `visit` with every tensor that a node takes. */
static void each_tensor(finder *f, const pyro_node *node, void (*visit)(finder *f, uint32_t value))
{
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++)
            if (arg->items.values[i] != PYRO_NO_VALUE)
                visit(f, arg->items.values[i]);
    }
}

static void add_reader(finder *f, uint32_t value)
{
    f->readers[value]++;
}

static void drop_reader(finder *f, uint32_t value)
{
    f->readers[value]--;
}

/* A run does not make values that depend only on sizes and that no running node reads. */
static void skip_unread(finder *f, uint32_t value)
{
    if (!f->readers[value] && f->local[value])
        f->out->skipped[value] = true;
}

/* A distance that positions are compared at: a window, a chunk. */
static int64_t local_size(const pyro_node *node)
{
    static const char *const distances[] = {"sub", "div", "floor_divide", NULL};
    if (!is_one_of(node->target, distances))
        return INT64_MAX;
    for (uint32_t a = 1; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        if (arg->kind == PYRO_ARG_INTEGER && arg->count == 1 &&
            arg->items.integers[0].value == PYRO_NO_VALUE && arg->items.integers[0].literal > 1)
            return arg->items.integers[0].literal;
    }
    return INT64_MAX;
}

/* The operators of transformers' masks. Applied to positions, they depend only on sizes. */
static bool is_mask_arithmetic(const char *target)
{
    static const char *const names[] = {
        "add",         "sub",        "div",         "floor_divide", "le",      "lt",
        "ge",          "gt",         "eq",          "ne",           "__and__", "__or__",
        "bitwise_and", "bitwise_or", "logical_and", "logical_or",   "diff",    "cumsum",
        "index",       "unsqueeze",  "squeeze",     "slice",        "expand",  "view",
        "reshape",     "to",         "contiguous",  "clone",        "alias",   NULL};
    return is_one_of(target, names) ||
           !strcmp(target, "torch._functorch.predispatch._add_batch_dim") ||
           !strcmp(target, "torch._functorch.predispatch._remove_batch_dim");
}

/* The reach of a node's positions if its outputs depend only on sizes; else 0. */
static int64_t reach_of(const finder *f, const pyro_node *node)
{
    static const char *const makers[] = {"arange",   "ones",     "zeros", "full",
                                         "new_ones", "new_full", NULL};
    if (is_one_of(node->target, makers))
        return INT64_MAX;
    if (!is_mask_arithmetic(node->target))
        return 0;
    int64_t reach = local_size(node);
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++) {
            uint32_t value = arg->items.values[i];
            if (value != PYRO_NO_VALUE && f->local[value] < reach)
                reach = f->local[value];
        }
    }
    return reach;
}

/* Finds, in graph order, the producer and readers of each value, and what depends only on sizes. */
static void look_at_nodes(finder *f)
{
    for (size_t v = 0; v < f->graph->value_count; v++)
        f->producer[v] = NO_NODE;
    for (size_t n = 0; n < f->graph->node_count; n++) {
        const pyro_node *node = &f->graph->nodes[n];
        if (reads_bytes(node))
            each_tensor(f, node, add_reader);
        int64_t reach = reach_of(f, node);
        for (uint32_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] != PYRO_NO_VALUE) {
                f->producer[node->outputs[o]] = (int64_t)n;
                f->local[node->outputs[o]] = reach;
            }
    }
}

/* How often `expand` repeats every head, [batch, heads, repeats, length, width]; 0: never. */
static uint32_t repeats_of(const finder *f, const pyro_node *node)
{
    uint32_t from = value_of(node, "self", 0);
    if (from == PYRO_NO_VALUE || !node->output_count || node->outputs[0] == PYRO_NO_VALUE)
        return 0;
    const pyro_value *before = &f->graph->values[from];
    const pyro_value *after = &f->graph->values[node->outputs[0]];
    if (before->rank != 5 || after->rank != 5 || before->sizes[2] != 1 || after->sizes[2] < 2 ||
        after->sizes[2] > UINT32_MAX || before->sizes[1] != after->sizes[1])
        return 0;
    return (uint32_t)after->sizes[2];
}

/* True if only attention reads a tensor of repeated heads; `chain` has its forms. */
static uint32_t find_repeats(const finder *f, uint32_t value, uint32_t *chain, size_t *length)
{
    static const char *const reshapes[] = {"reshape", "_unsafe_view", "view",
                                           "clone",   "contiguous",   NULL};
    for (*length = 0; *length < MAX_CHAIN && value != PYRO_NO_VALUE;) {
        if (f->producer[value] == NO_NODE || f->readers[value] != 1)
            return 0;
        const pyro_node *node = &f->graph->nodes[f->producer[value]];
        chain[(*length)++] = value;
        if (is_op(node->target, "expand"))
            return repeats_of(f, node);
        value = is_one_of(node->target, reshapes) ? value_of(node, "self", 0) : PYRO_NO_VALUE;
    }
    return 0;
}

/* If keys and values have equal and small heads, a run lets the kernel group them. */
static void group_heads(finder *f, uint32_t key, uint32_t value)
{
    uint32_t keys[MAX_CHAIN], values[MAX_CHAIN];
    size_t key_count, value_count;
    int64_t key_width, value_width;
    if (!dim_of(f, key, 1, &key_width) || !dim_of(f, value, 1, &value_width) ||
        key_width != value_width || key_width > MAX_GROUPED_HEAD)
        return;
    uint32_t repeats = find_repeats(f, key, keys, &key_count);
    if (!repeats || find_repeats(f, value, values, &value_count) != repeats)
        return;
    for (size_t i = 0; i < key_count; i++)
        f->out->repeats[keys[i]] = repeats;
    for (size_t i = 0; i < value_count; i++)
        f->out->repeats[values[i]] = repeats;
}

/* The rule of transformers: no mask for one query, or for as many as keys, below a window. */
static bool runs_without_mask(const finder *f, uint32_t query, uint32_t key, uint32_t mask)
{
    int64_t queries, keys;
    return mask != PYRO_NO_VALUE && query != PYRO_NO_VALUE && key != PYRO_NO_VALUE &&
           f->local[mask] > 0 && dim_of(f, query, 2, &queries) && dim_of(f, key, 2, &keys) &&
           (queries == 1 || queries == keys) && keys < f->local[mask];
}

static void look_at_attention(finder *f)
{
    for (size_t n = 0; n < f->graph->node_count; n++) {
        const pyro_node *node = &f->graph->nodes[n];
        if (!is_attention(node) || !f->model->modules[node->module].drops_masks)
            continue;
        uint32_t query = value_of(node, "query", 0), key = value_of(node, "key", 1);
        uint32_t value = value_of(node, "value", 2), mask = value_of(node, "attn_mask", 3);
        if (!runs_without_mask(f, query, key, mask))
            continue;
        if (value != PYRO_NO_VALUE)
            group_heads(f, key, value);
        f->out->skipped[mask] = true;
        drop_reader(f, mask);
    }
}

/* A run makes a mask only if some attention reads it; else it skips the mask and its inputs. */
static void skip_what_leads_to_masks(finder *f)
{
    bool found = false;
    for (size_t v = 0; v < f->graph->value_count; v++) {
        f->out->skipped[v] &= !f->readers[v];
        found |= f->out->skipped[v];
    }
    for (size_t v = 0; found && v < f->graph->value_count; v++) /* positions that no node reads */
        skip_unread(f, (uint32_t)v);
    for (size_t n = f->graph->node_count; n-- > 0;) {
        const pyro_node *node = &f->graph->nodes[n];
        bool skipped = node->output_count > 0 && reads_bytes(node);
        for (uint32_t o = 0; skipped && o < node->output_count; o++)
            skipped = node->outputs[o] != PYRO_NO_VALUE && f->out->skipped[node->outputs[o]];
        if (!skipped)
            continue;
        each_tensor(f, node, drop_reader);
        each_tensor(f, node, skip_unread);
    }
}

static bool has_masked_attention(const pyro_model *model, const pyro_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (is_attention(&graph->nodes[n]) && model->modules[graph->nodes[n].module].drops_masks &&
            value_of(&graph->nodes[n], "attn_mask", 3) != PYRO_NO_VALUE)
            return true;
    return false;
}

bool pyro_exported_find(pyro_exported *out, const pyro_model *model, const pyro_graph *graph)
{
    size_t count = graph->value_count + 1;
    finder f = {.model = model, .graph = graph, .out = out};
    *out = (pyro_exported){0};
    if (!has_masked_attention(model, graph))
        return true;
    out->skipped = calloc(count, sizeof *out->skipped);
    out->repeats = calloc(count, sizeof *out->repeats);
    f.producer = calloc(count, sizeof *f.producer);
    f.readers = calloc(count, sizeof *f.readers);
    f.local = calloc(count, sizeof *f.local);
    bool made = out->skipped && out->repeats && f.producer && f.readers && f.local;
    if (made) {
        look_at_nodes(&f);
        look_at_attention(&f);
        skip_what_leads_to_masks(&f);
    } else {
        pyro_exported_free(out);
    }
    free(f.producer);
    free(f.readers);
    free(f.local);
    return made;
}

void pyro_exported_free(pyro_exported *exported)
{
    free(exported->skipped);
    free(exported->repeats);
    *exported = (pyro_exported){0};
}
