/*
 * Memory over a training step, by liveness: the forward in the order of the file, the backward in
 * reverse, checkpointed segments again before their backward, the optimizer last.
 */
#include "base/checked.h"
#include "base/error.h"
#include "graph/train/train.h"
#include <stdlib.h>
#include <string.h>

#define NEVER SIZE_MAX

typedef struct schedule {
    pyro_train *train;
    const pyro_graph *graph;
    pyro_lifetimes lifetimes;
    size_t step_count;
    size_t *back, *again;  /* by node: its step in the backward, and of its recomputation */
    size_t *first, *last;  /* by owner of a storage: steps of its life, made by the forward */
    size_t *again_last;    /* by owner: to which step its recomputed copy lives; 0: no copy */
    size_t *gradient;      /* by value: the piece of its gradient; NEVER: none */
    bool *has_gradient;    /* by parameter */
} schedule;

static void release(schedule *s)
{
    pyro_lifetimes_free(&s->lifetimes);
    free(s->back);
    free(s->again);
    free(s->first);
    free(s->last);
    free(s->again_last);
    free(s->gradient);
    free(s->has_gradient);
}

static bool prepare(schedule *s)
{
    size_t values = s->graph->value_count + 1, nodes = s->graph->node_count + 1;
    s->back = malloc(nodes * sizeof *s->back);
    s->again = malloc(nodes * sizeof *s->again);
    s->first = malloc(values * sizeof *s->first);
    s->last = calloc(values, sizeof *s->last);
    s->again_last = calloc(values, sizeof *s->again_last);
    s->gradient = malloc(values * sizeof *s->gradient);
    s->has_gradient = calloc(s->train->model->parameter_count + 1, sizeof *s->has_gradient);
    if (!s->back || !s->again || !s->first || !s->last || !s->again_last || !s->gradient ||
        !s->has_gradient)
        return false;
    for (size_t n = 0; n < nodes; n++)
        s->back[n] = s->again[n] = NEVER;
    for (size_t v = 0; v < values; v++)
        s->first[v] = s->gradient[v] = NEVER;
    return true;
}

/* Appends a step of the curve. */
static void append(schedule *s, pyro_train_phase phase, size_t n)
{
    const pyro_node *node = &s->graph->nodes[n];
    s->train->curve[s->step_count++] = (pyro_memory_step){
        .phase = phase, .node = node->name, .layer = s->train->model->modules[node->module].path};
}

/* Numbers the steps: forward, then backward with the recomputations that it needs. */
static bool number_steps(schedule *s)
{
    pyro_train *train = s->train;
    size_t nodes = s->graph->node_count;
    train->curve = pyro_arena_array(&train->arena, 3 * nodes + 1, sizeof *train->curve);
    if (!train->curve)
        return false;
    for (size_t n = 0; n < nodes; n++)
        append(s, PYRO_TRAIN_FORWARD, n);
    uint32_t open = 0;
    for (size_t n = nodes; n-- > 0;) {
        const train_step *step = &train->steps[n];
        if (!step->runs)
            continue;
        if (step->segment && step->segment != open) {
            const train_segment *segment = &train->segments[step->segment - 1];
            for (size_t again = segment->begin; again < segment->stop; again++) {
                s->again[again] = s->step_count;
                append(s, PYRO_TRAIN_RECOMPUTE, again);
            }
        }
        open = step->segment;
        s->back[n] = s->step_count;
        append(s, PYRO_TRAIN_BACKWARD, n);
    }
    train->curve[s->step_count++] = (pyro_memory_step){
        .phase = PYRO_TRAIN_OPTIMIZER, .node = "", .layer = ""};
    return true;
}

static void extend(size_t *last, size_t step)
{
    if (step != NEVER && step > *last)
        *last = step;
}

/* A node of a segment reads a storage: again when it is recomputed. */
static void read_again(schedule *s, size_t n, uint32_t owner)
{
    const train_step *step = &s->train->steps[n];
    if (!step->segment || s->again[n] == NEVER)
        return;
    const train_segment *segment = &s->train->segments[step->segment - 1];
    bool inside = s->first[owner] != NEVER && s->first[owner] >= segment->begin;
    extend(inside ? &s->again_last[owner] : &s->last[owner], s->again[n]);
}

/* Its backward needs a storage, or the copy that recomputation makes. */
static void keep(schedule *s, size_t n, uint32_t owner)
{
    const train_step *step = &s->train->steps[n];
    size_t made = s->first[owner];
    bool inside = step->segment && made != NEVER && s->train->steps[made].segment == step->segment;
    extend(inside ? &s->again_last[owner] : &s->last[owner], s->back[n]);
}

static void live_through(schedule *s, size_t n)
{
    const pyro_node *node = &s->graph->nodes[n];
    const uint32_t *owners = s->train->storages.owner;
    const train_step *step = &s->train->steps[n];
    for (uint32_t o = 0; o < node->output_count; o++) {
        uint32_t out = node->outputs[o];
        if (out == PYRO_NO_VALUE)
            continue;
        if (owners[out] == out && s->first[out] == NEVER)
            s->first[out] = n;
        extend(&s->last[owners[out]], n);
        read_again(s, n, owners[out]);
    }
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++)
            if (arg->items.values[i] != PYRO_NO_VALUE) {
                extend(&s->last[owners[arg->items.values[i]]], n);
                read_again(s, n, owners[arg->items.values[i]]);
            }
    }
    for (uint16_t i = 0; step->runs && i < step->saved_count; i++)
        keep(s, n, owners[s->train->saved[step->first_saved + i]]);
}

/* Masks, indices and statistics: from the operator to its backward. */
static void add_extra(schedule *s, size_t n)
{
    const train_step *step = &s->train->steps[n];
    if (!step->runs || !step->extra_bytes)
        return;
    pyro_piece piece = {.bytes = step->extra_bytes,
                        .first = n,
                        .last = s->back[n],
                        .value = PYRO_NO_VALUE,
                        .node = (uint32_t)n,
                        .kind = TRAIN_PIECE_EXTRA};
    if (step->segment) {
        piece.last = n;
        pyro_lifetimes_add(&s->lifetimes, piece);
        piece.first = s->again[n] == NEVER ? s->back[n] : s->again[n];
        piece.last = s->back[n];
    }
    pyro_lifetimes_add(&s->lifetimes, piece);
}

/* The program's variables hold the outputs until the step ends. */
static void add_activations(schedule *s)
{
    for (size_t n = 0; n < s->graph->node_count; n++)
        live_through(s, n);
    for (size_t i = 0; i < s->graph->output_count; i++)
        if (s->graph->outputs[i] != PYRO_NO_VALUE)
            extend(&s->last[s->train->storages.owner[s->graph->outputs[i]]], s->step_count - 1);
    for (uint32_t v = 0; v < s->graph->value_count; v++) {
        if (s->first[v] == NEVER)
            continue;
        size_t maker = s->first[v];
        bool saved = s->last[v] >= s->graph->node_count;
        pyro_piece piece = {.bytes = s->train->storages.bytes[v],
                            .first = maker,
                            .last = s->last[v],
                            .value = v,
                            .node = (uint32_t)maker,
                            .kind = saved ? TRAIN_PIECE_SAVED : TRAIN_PIECE_ACTIVATION};
        pyro_lifetimes_add(&s->lifetimes, piece);
        if (s->again_last[v] && s->again[maker] != NEVER) {
            piece.first = s->again[maker];
            piece.last = s->again_last[v];
            piece.kind = TRAIN_PIECE_RECOMPUTED;
            pyro_lifetimes_add(&s->lifetimes, piece);
        }
    }
    for (size_t n = 0; n < s->graph->node_count; n++)
        add_extra(s, n);
}

/* A new gradient of a value, made at a step; it lives until something reads it. */
static size_t add_gradient(schedule *s, uint32_t value, size_t n, size_t step)
{
    int64_t bytes;
    if (!pyro_value_bytes(s->train->cost, value, &bytes)) {
        s->lifetimes.overflow = true;
        return NEVER;
    }
    return pyro_lifetimes_add(&s->lifetimes, (pyro_piece){.bytes = bytes,
                                                          .first = step,
                                                          .last = step,
                                                          .value = value,
                                                          .node = (uint32_t)n,
                                                          .kind = TRAIN_PIECE_GRADIENT});
}

/* The first gradient of a parameter stays; later ones are added to it. */
static void add_parameter_gradient(schedule *s, uint32_t index, uint32_t value, size_t n)
{
    uint32_t owner = s->train->parameters[index].owner;
    bool stays = !s->has_gradient[owner];
    s->has_gradient[owner] = true;
    pyro_lifetimes_add(&s->lifetimes,
                       (pyro_piece){.bytes = s->train->parameters[owner].gradient_bytes,
                                    .first = s->back[n],
                                    .last = stays ? s->step_count - 1 : s->back[n],
                                    .value = value,
                                    .node = (uint32_t)n,
                                    .kind = TRAIN_PIECE_PARAMETER_GRADIENT});
}

/* True if the gradient of an input is that of the output. */
static bool is_same(const schedule *s, size_t n, uint32_t input)
{
    const pyro_node *node = &s->graph->nodes[n];
    int64_t in = 0, out = 0;
    if (s->train->steps[n].flow == PYRO_FLOW_ALIAS)
        return true;
    return s->train->steps[n].flow == PYRO_FLOW_PASS && node->output_count &&
           node->outputs[0] != PYRO_NO_VALUE && pyro_value_bytes(s->train->cost, input, &in) &&
           pyro_value_bytes(s->train->cost, node->outputs[0], &out) && in == out;
}

static void back_to(schedule *s, size_t n, uint32_t value)
{
    uint32_t parameter = s->train->parameter_of[value];
    size_t *gradient = &s->gradient[value];
    const pyro_node *node = &s->graph->nodes[n];
    if (parameter) {
        add_parameter_gradient(s, parameter - 1, value, n);
        return;
    }
    size_t piece = is_same(s, n, value) && node->outputs[0] != PYRO_NO_VALUE
                       ? s->gradient[node->outputs[0]]
                       : add_gradient(s, value, n, s->back[n]);
    if (*gradient == NEVER) /* else it is added to the gradient that is there */
        *gradient = piece;
}

static void add_adapter_gradient(schedule *s, size_t n)
{
    const pyro_node *node = &s->graph->nodes[n];
    for (uint32_t a = 0; s->train->has_lora && a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++) {
            uint32_t value = arg->items.values[i];
            uint32_t index = value == PYRO_NO_VALUE
                                 ? 0
                                 : s->train->parameter_of[s->train->bases[value]];
            if (index && s->train->parameters[s->train->parameters[index - 1].owner].adapter_values)
                add_parameter_gradient(s, index - 1, value, n);
        }
    }
}

static void go_back(schedule *s, size_t n)
{
    const pyro_node *node = &s->graph->nodes[n];
    const train_step *step = &s->train->steps[n];
    for (uint32_t o = 0; o < node->output_count; o++) {
        size_t piece = node->outputs[o] == PYRO_NO_VALUE ? NEVER : s->gradient[node->outputs[o]];
        if (piece != NEVER)
            extend(&s->lifetimes.pieces[piece].last, s->back[n]);
    }
    pyro_lifetimes_add(&s->lifetimes, (pyro_piece){.bytes = step->scratch_bytes,
                                                   .first = s->back[n],
                                                   .last = s->back[n],
                                                   .value = PYRO_NO_VALUE,
                                                   .node = (uint32_t)n,
                                                   .kind = TRAIN_PIECE_SCRATCH});
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        bool tensors = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        for (uint32_t i = 0; tensors && i < arg->count; i++)
            if (arg->items.values[i] != PYRO_NO_VALUE && s->train->needs[arg->items.values[i]])
                back_to(s, n, arg->items.values[i]);
    }
    add_adapter_gradient(s, n);
}

/* The loss gives every output a gradient; then each node passes it on. */
static void add_gradients(schedule *s)
{
    size_t begin = s->graph->node_count;
    for (size_t i = 0; i < s->graph->output_count; i++) {
        uint32_t out = s->graph->outputs[i];
        if (out != PYRO_NO_VALUE && s->train->arrives[out] && s->gradient[out] == NEVER &&
            !s->train->parameter_of[out])
            s->gradient[out] = add_gradient(s, out, begin - (begin > 0), begin);
    }
    for (size_t n = begin; n-- > 0;)
        if (s->train->steps[n].runs)
            go_back(s, n);
}

static const char *const piece_names[] = {
    [TRAIN_PIECE_ACTIVATION] = "activation",
    [TRAIN_PIECE_SAVED] = "saved activation",
    [TRAIN_PIECE_RECOMPUTED] = "recomputed activation",
    [TRAIN_PIECE_EXTRA] = "mask, indices or statistics",
    [TRAIN_PIECE_GRADIENT] = "gradient of activation",
    [TRAIN_PIECE_PARAMETER_GRADIENT] = "gradient of parameter",
    [TRAIN_PIECE_SCRATCH] = "scratch",
};

static int by_bytes(const void *left, const void *right)
{
    const pyro_memory_item *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* The pieces that are alive at the peak, and what is there all the time. */
static bool list_alive(schedule *s)
{
    pyro_train *train = s->train;
    const pyro_train_total *total = &train->total;
    const pyro_memory_item held[] = {
        {"weights", "", "", total->weight_bytes},
        {"master weights", "", "", total->master_weight_bytes},
        {"optimizer states", "", "", total->optimizer_state_bytes},
        {"inputs", "", "", total->input_bytes},
    };
    size_t held_count = sizeof held / sizeof *held;
    train->alive = pyro_arena_array(&train->arena, s->lifetimes.count + held_count + 1,
                                    sizeof *train->alive);
    if (!train->alive)
        return false;
    for (size_t i = 0; i < held_count; i++)
        if (held[i].bytes > 0)
            train->alive[train->alive_count++] = held[i];
    for (size_t i = 0; i < s->lifetimes.count; i++) {
        const pyro_piece *piece = &s->lifetimes.pieces[i];
        if (piece->first > train->peak || piece->last < train->peak)
            continue;
        const pyro_node *node = piece->node == PYRO_NO_VALUE ? NULL : &s->graph->nodes[piece->node];
        const char *name = piece->value != PYRO_NO_VALUE ? s->graph->values[piece->value].name
                           : node                        ? node->name
                                                         : "";
        train->alive[train->alive_count++] = (pyro_memory_item){
            .what = node ? piece_names[piece->kind] : "optimizer scratch",
            .name = name,
            .layer = node ? train->model->modules[node->module].path : "",
            .bytes = piece->bytes};
    }
    qsort(train->alive, train->alive_count, sizeof *train->alive, by_bytes);
    return true;
}

static bool add_up(int64_t *sum, const int64_t *amounts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!pyro_add_i64(*sum, amounts[i], sum))
            return false;
    return true;
}

/* What is kept at the end of the forward, per node and in all. */
static bool count_saved(schedule *s)
{
    pyro_train_row *rows = s->train->nodes;
    size_t *row_of = calloc(s->graph->node_count + 1, sizeof *row_of);
    if (!row_of)
        return false;
    for (size_t i = s->train->node_count; i-- > 0;)
        row_of[s->train->cost->node_origins[i]] = i;
    for (size_t i = 0; i < s->lifetimes.count; i++) {
        const pyro_piece *piece = &s->lifetimes.pieces[i];
        if (piece->first < s->graph->node_count && piece->last >= s->graph->node_count) {
            rows[row_of[piece->node]].saved_bytes += piece->bytes;
            s->train->total.saved_activation_bytes += piece->bytes;
        }
    }
    free(row_of);
    return true;
}

static int finish(schedule *s, pyro_error *error)
{
    pyro_train *train = s->train;
    pyro_train_total *total = &train->total;
    int64_t *curve = calloc(s->step_count + 1, sizeof *curve), held = 0;
    const int64_t always[] = {total->weight_bytes, total->master_weight_bytes,
                              total->optimizer_state_bytes, total->input_bytes};
    int status = curve && !s->lifetimes.out_of_memory ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK &&
        (s->lifetimes.overflow || !add_up(&held, always, sizeof always / sizeof *always) ||
         !pyro_lifetimes_run(&s->lifetimes, curve, s->step_count, &train->peak) ||
         !pyro_add_i64(held, curve[train->peak], &total->peak_bytes)))
        status = pyro_train_too_large(error);
    if (status == PYRO_OK && (!list_alive(s) || !count_saved(s)))
        status = pyro_fail_memory(error);
    if (status == PYRO_OK) {
        train->curve_count = s->step_count;
        for (size_t i = 0; i < s->step_count; i++)
            train->curve[i].bytes = held + curve[i];
        for (size_t i = 0; i < s->lifetimes.count; i++) {
            const pyro_piece *piece = &s->lifetimes.pieces[i];
            if (piece->first <= train->peak && piece->last >= train->peak &&
                piece->kind != TRAIN_PIECE_PARAMETER_GRADIENT && piece->node != PYRO_NO_VALUE)
                total->peak_activation_bytes += piece->bytes;
        }
    }
    free(curve);
    return status;
}

int pyro_train_schedule(pyro_train *train, pyro_error *error)
{
    schedule s = {.train = train, .graph = train->model->graph};
    int status = prepare(&s) && number_steps(&s) ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        add_activations(&s);
        add_gradients(&s);
        pyro_lifetimes_add(&s.lifetimes, (pyro_piece){.bytes = train->total.optimizer_scratch_bytes,
                                                      .first = s.step_count - 1,
                                                      .last = s.step_count - 1,
                                                      .value = PYRO_NO_VALUE,
                                                      .node = PYRO_NO_VALUE,
                                                      .kind = TRAIN_PIECE_SCRATCH});
        status = finish(&s, error);
    }
    train->lifetimes = s.lifetimes; /* `fit` scales them */
    s.lifetimes = (pyro_lifetimes){0};
    release(&s);
    return status;
}
