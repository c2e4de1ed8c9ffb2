/* The work of a model: an item per node of its graph, per group of fused nodes, or per node and
 * pass of a training step. */
#include "map/internal.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/cost/cost.h"

#include <pyrometer/fuse.h>
#include <stdlib.h>
#include <string.h>

/* What the walk sees of each node of the cost. */
typedef struct node_work {
    struct pyro_op_work work;
    bool has_work;
} node_work;

typedef struct collector {
    pyro_map_work *out;
    const pyro_map_options *options;
    node_work *nodes;
    size_t count, capacity;
} collector;

bool pyro_map_work_add(pyro_map_work *work, const pyro_map_item *item)
{
    if (!pyro_grow(&work->items, &work->capacity, work->count + 1, sizeof *work->items))
        return false;
    work->items[work->count++] = *item;
    return true;
}

void pyro_map_work_free(pyro_map_work *work)
{
    pyro_arena_free(&work->arena);
    free(work->items);
    *work = (pyro_map_work){0};
}

static bool is_product(const char *kind)
{
    return strcmp(kind, "gemm") == 0 || strcmp(kind, "gemv") == 0 || strcmp(kind, "conv") == 0;
}

static int visit(void *user, const pyro_visit *visit, pyro_error *error)
{
    collector *c = user;
    if (!pyro_grow(&c->nodes, &c->capacity, visit->index + 1, sizeof *c->nodes))
        return pyro_fail_memory(error);
    while (c->count <= visit->index)
        c->nodes[c->count++] = (node_work){0};
    node_work *node = &c->nodes[visit->index];
    node->has_work = visit->is_priced && !visit->is_control && visit->call && visit->price &&
                     visit->call->op && pyro_work_describe(&node->work, visit->call, visit->price);
    if (node->has_work && c->options->tf32 && is_product(node->work.kind) &&
        strcmp(node->work.dtype, "float32") == 0)
        node->work.dtype = pyro_efficiency_dtype_name(PYRO_DTYPE_TF32);
    return PYRO_OK;
}

static uint32_t layer_of(const pyro_cost *cost, size_t node)
{
    const pyro_cost_row *row = pyro_cost_layer_of(cost, cost->node_modules[node]);
    return row ? (uint32_t)(row - cost->layers) : 0;
}

/* Behind attention and behind products that shrink, tensor parallelism sums over devices. */
static void mark_sums(pyro_map_work *work)
{
    bool after_attention = false;
    for (size_t i = 0; i < work->count; i++) {
        pyro_map_item *item = &work->items[i];
        const struct pyro_op_work *w = &item->work;
        bool is_attention = strcmp(w->kind, "attention") == 0;
        bool shrinks = w->n > 0 && w->k >= 2 * w->n;
        item->is_split = strcmp(w->kind, "norm") != 0 && strcmp(w->kind, "embedding") != 0;
        if (is_product(w->kind) && (after_attention || shrinks)) {
            int64_t width = pyro_dtype_bytes(pyro_dtype_from_name(w->dtype));
            item->reduced_bytes = (double)w->m * (double)w->n * (double)(width > 0 ? width : 4);
            after_attention = false;
        }
        after_attention |= is_attention;
    }
}

static bool add_node(collector *c, const pyro_cost *cost, size_t node)
{
    pyro_map_item item = {.work = c->nodes[node].work,
                          .layer = layer_of(cost, node),
                          .times = (double)cost->nodes[node].times,
                          .kernels = 1,
                          .measured_ns = -1};
    return pyro_map_work_add(c->out, &item);
}

/* A group runs as one kernel: its largest member's kind, all FLOPs, the bytes that remain. */
static bool add_group(collector *c, const pyro_cost *cost, const pyro_fused_group *group)
{
    uint32_t main = UINT32_MAX;
    for (size_t i = 0; i < group->member_count; i++) {
        uint32_t node = group->members[i];
        if (node < c->count && c->nodes[node].has_work &&
            (main == UINT32_MAX || c->nodes[node].work.flops > c->nodes[main].work.flops))
            main = node;
    }
    if (main == UINT32_MAX)
        return true;
    double times = group->times > 0 ? (double)group->times : 1;
    pyro_map_item item = {.work = c->nodes[main].work,
                          .layer = layer_of(cost, main),
                          .times = times,
                          .kernels = 1,
                          .measured_ns = -1};
    item.work.flops = (uint64_t)((double)group->flops / times);
    item.work.bytes = (uint64_t)((double)group->bytes_after / times);
    return pyro_map_work_add(c->out, &item);
}

static int add_fused(collector *c, const pyro_cost *cost, pyro_error *error)
{
    pyro_fusion *fusion = NULL;
    int status = pyro_fuse(&fusion, cost, PYRO_FUSE_MAX, error);
    for (size_t i = 0; status == PYRO_OK && i < fusion->group_count; i++)
        if (!add_group(c, cost, &fusion->groups[i]))
            status = pyro_fail_memory(error);
    pyro_fusion_free(fusion);
    return status;
}

static int64_t bytes_of(const pyro_work *work)
{
    return work->activation_read_bytes + work->weight_read_bytes + work->written_bytes;
}

typedef enum training_pass { PASS_FORWARD, PASS_RECOMPUTE, PASS_BACKWARD } training_pass;

/* In training, norms over a batch need its mean and variance, whatever the graph says. */
static void set_training_form(struct pyro_op_work *work, pyro_work_kind kind, bool backward)
{
    if (work->form == PYRO_FORM_SCALE) {
        work->form = PYRO_FORM_STATISTICS;
        work->m = work->n = 0;
    }
    if (backward)
        work->form = (uint8_t)pyro_work_form_of_backward(kind, (pyro_work_form)work->form);
}

/* The backward of a matrix product is two products of its size; of other work, one kernel. */
static bool add_pass(collector *c, const pyro_cost *cost, size_t node, const pyro_work *work,
                     training_pass pass)
{
    double times = (double)cost->nodes[node].times;
    const struct pyro_op_work *forward = &c->nodes[node].work;
    pyro_work_kind kind = pyro_work_kind_from_name(forward->kind);
    kind = pass == PASS_BACKWARD ? pyro_work_kind_of_backward(kind) : kind;
    int parts = pass == PASS_BACKWARD && is_product(pyro_work_kind_name(kind)) &&
                        work->macs > cost->nodes[node].work.macs
                    ? 2
                    : 1;
    pyro_map_item item = {.work = *forward,
                          .layer = layer_of(cost, node),
                          .is_backward = pass != PASS_FORWARD,
                          .times = times * parts,
                          .kernels = 1,
                          .measured_ns = -1};
    if (work->flops <= 0 && bytes_of(work) <= 0)
        return true;
    item.work.kind = pyro_work_kind_name(kind);
    set_training_form(&item.work, kind, pass == PASS_BACKWARD);
    item.work.flops = (uint64_t)((double)work->flops / item.times);
    item.work.bytes = (uint64_t)((double)bytes_of(work) / item.times);
    return item.work.bytes == 0 || pyro_map_work_add(c->out, &item);
}

/* The optimizer walks all parameters of a layer in few kernels. */
static bool add_optimizer(collector *c, const char *dtype, uint32_t layer, const pyro_work *work)
{
    pyro_map_item item = {.work = {.kind = pyro_work_kind_name(PYRO_WORK_ELEMENTWISE),
                                   .dtype = dtype,
                                   .flops = (uint64_t)work->flops,
                                   .bytes = (uint64_t)bytes_of(work)},
                          .layer = layer,
                          .times = 1,
                          .kernels = 0.1,
                          .measured_ns = -1};
    return bytes_of(work) <= 0 || pyro_map_work_add(c->out, &item);
}

static int add_training(collector *c, pyro_model *model, const pyro_cost_options *cost_options,
                        const pyro_cost *cost, pyro_error *error)
{
    pyro_train *train = NULL;
    int status = pyro_train_compute(&train, model, cost_options, &c->options->training, error);
    size_t nodes = 0, layers = 0;
    const pyro_train_row *node = status == PYRO_OK ? pyro_train_nodes(train, &nodes) : NULL;
    const pyro_train_row *layer = status == PYRO_OK ? pyro_train_layers(train, &layers) : NULL;
    bool done = true;

    for (size_t i = 0; node && done && i < nodes && i < c->count; i++)
        done = !c->nodes[i].has_work || (add_pass(c, cost, i, &node[i].forward, PASS_FORWARD) &&
                                         add_pass(c, cost, i, &node[i].recompute, PASS_RECOMPUTE) &&
                                         add_pass(c, cost, i, &node[i].backward, PASS_BACKWARD));
    for (size_t i = 0; layer && done && i < layers && i < c->out->layer_count; i++)
        done = add_optimizer(c, c->out->dtype, (uint32_t)i, &layer[i].optimizer);
    if (status == PYRO_OK && done) {
        const pyro_train_total *total = pyro_train_get_total(train);
        c->out->memory_bytes = total->peak_bytes;
        c->out->weight_bytes = total->weight_bytes + total->master_weight_bytes;
        c->out->gradient_bytes = total->gradient_bytes;
        c->out->state_bytes = total->optimizer_state_bytes;
    }
    pyro_train_free(train);
    return status == PYRO_OK && !done ? pyro_fail_memory(error) : status;
}

static int add_forward(collector *c, const pyro_cost *cost, pyro_error *error)
{
    pyro_peak peak;
    int status = PYRO_OK;
    if (c->options->fused)
        status = add_fused(c, cost, error);
    for (size_t i = 0; status == PYRO_OK && !c->options->fused && i < c->count; i++)
        if (c->nodes[i].has_work && !add_node(c, cost, i))
            status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_cost_peak(cost, &peak, error);
    if (status != PYRO_OK)
        return status;
    c->out->memory_bytes = peak.total_bytes;
    c->out->weight_bytes = pyro_cost_param_bytes(cost);
    return PYRO_OK;
}

/* Names of layers and types outlive the cost. */
static int name_layers(pyro_map_work *out, const pyro_cost *cost, pyro_error *error)
{
    out->layer_count = cost->layer_count;
    out->layers = pyro_arena_array(&out->arena, cost->layer_count + 1, sizeof *out->layers);
    out->dtype = pyro_dtype_name(pyro_dtype_from_name(pyro_cost_dtype(cost)));
    for (size_t i = 0; out->layers && i < cost->layer_count; i++) {
        const char *name = cost->layers[i].name;
        out->layers[i] = pyro_arena_text(&out->arena, name, strlen(name));
        if (!out->layers[i])
            return pyro_fail_memory(error);
    }
    return out->layers ? PYRO_OK : pyro_fail_memory(error);
}

int pyro_map_work_of_model(pyro_map_work *out, pyro_model *model,
                           const pyro_cost_options *cost_options, const pyro_map_options *options,
                           pyro_error *error)
{
    collector c = {.out = out, .options = options};
    pyro_cost_hooks hooks = {.training = options->train, .visit = visit, .user = &c};
    pyro_cost *cost = NULL;
    pyro_input input;

    *out = (pyro_map_work){0};
    pyro_arena_init(&out->arena);
    int status = pyro_cost_compute_with(&cost, model, cost_options, &hooks, error);
    if (status == PYRO_OK)
        status = name_layers(out, cost, error);
    if (status == PYRO_OK)
        status = options->train ? add_training(&c, model, cost_options, cost, error)
                                : add_forward(&c, cost, error);
    if (status == PYRO_OK && pyro_model_input_count(model) > 0 &&
        pyro_model_input(model, 0, &input, error) == PYRO_OK && input.rank > 0) {
        out->samples = input.dims[0];
        out->sequence = input.rank == 2 && strncmp(input.dtype, "int", 3) == 0 ? input.dims[1] : 0;
    }
    if (status == PYRO_OK)
        mark_sums(out);
    free(c.nodes);
    pyro_cost_free(cost);
    if (status != PYRO_OK)
        pyro_map_work_free(out);
    return status;
}
