/* Bytes on the GPU that holds most: parts that are held, and the peak of those that come and go. */
#include "base/error.h"
#include "fit/fit.h"
#include <stdlib.h>
#include <string.h>

/* What of a step a rank's computation needs again and again. */
typedef struct stage {
    const fit_load *load;
    const pyro_layout *layout;
    const fit_setting *setting;
    int64_t index;
    int64_t gradient_bytes; /* of the parameters, before and after division */
    int64_t updated_bytes; /* of the gradients that its optimizer reads */
    int64_t all_gradient_bytes;
    int64_t largest_bytes; /* of one allocation */
} stage;

static bool is_on_stage(const stage *s, const fit_parameter *parameter)
{
    int64_t stages = s->layout->pipeline;
    return fit_stage_of(s->load, parameter->first_node, stages) == s->index ||
           fit_stage_of(s->load, parameter->last_node, stages) == s->index;
}

static pyro_sharding sharding_from(const pyro_layout *layout, pyro_sharding least)
{
    return layout->sharding >= least ? layout->sharding : PYRO_SHARDING_NONE;
}

static int64_t weights_of(const stage *s, const fit_parameter *p, pyro_sharding sharding)
{
    int64_t values = fit_sharded_values(p, s->layout, sharding);
    int64_t adapter = p->adapter_in + p->adapter_out, bytes;
    if (sharding == PYRO_SHARDING_FSDP && p->master_bytes)
        bytes = 0; /* only the master weights are divided: low copies are made of gathered ones */
    else if (p->is_product && s->setting->product_value_bytes > 0)
        bytes = (int64_t)((double)values * s->setting->product_value_bytes);
    else
        bytes = fit_scale(p->weight_bytes, values, p->values);
    return fit_sum(bytes, adapter ? fit_scale(p->adapter_weight_bytes,
                                              fit_sharded_adapter(p, s->layout, sharding), adapter)
                                  : 0);
}

/* `bytes` of what learns, divided as it is. */
static int64_t learned(const stage *s, const fit_parameter *p, int64_t bytes,
                       pyro_sharding sharding)
{
    int64_t adapter = p->adapter_in + p->adapter_out;
    return adapter ? fit_scale(bytes, fit_sharded_adapter(p, s->layout, sharding), adapter)
                   : fit_scale(bytes, fit_sharded_values(p, s->layout, sharding), p->values);
}

static void hold_parameters(stage *s, int64_t *held)
{
    const pyro_layout *layout = s->layout;
    for (size_t i = 0; i < s->load->model->parameter_count; i++) {
        const fit_parameter *p = &s->load->parameters[i];
        s->all_gradient_bytes = fit_sum(s->all_gradient_bytes, p->gradient_bytes);
        if (!p->values || !is_on_stage(s, p))
            continue;
        pyro_sharding states = sharding_from(layout, PYRO_SHARDING_ZERO1);
        pyro_sharding gradients = sharding_from(layout, PYRO_SHARDING_ZERO2);
        pyro_sharding weights = sharding_from(layout, PYRO_SHARDING_ZERO3);
        held[PYRO_FIT_WEIGHTS] = fit_sum(held[PYRO_FIT_WEIGHTS], weights_of(s, p, weights));
        if (!s->setting->offloads_states) {
            held[PYRO_FIT_MASTER_WEIGHTS] = fit_sum(
                held[PYRO_FIT_MASTER_WEIGHTS],
                fit_scale(p->master_bytes, fit_sharded_values(p, layout, states), p->values));
            held[PYRO_FIT_OPTIMIZER_STATES] = fit_sum(held[PYRO_FIT_OPTIMIZER_STATES],
                                                      learned(s, p, p->state_bytes, states));
        }
        held[PYRO_FIT_GRADIENTS] = fit_sum(held[PYRO_FIT_GRADIENTS],
                                           learned(s, p, p->gradient_bytes, gradients));
        s->updated_bytes = fit_sum(s->updated_bytes, learned(s, p, p->gradient_bytes, states));
        s->gradient_bytes = fit_sum(s->gradient_bytes,
                                    learned(s, p, p->gradient_bytes, PYRO_SHARDING_NONE));
    }
}

/* Bytes of the weights and gradients of a stage's blocks, whole on its ranks, largest block first:
 * what a rank gathers. The weights outside of blocks stay gathered during a step. */
static int gathered_bytes(const stage *s, int64_t *weights, int64_t *gradients, pyro_error *error)
{
    size_t modules = s->load->model->module_count;
    int64_t *blocks = calloc(2 * modules + 2, sizeof *blocks);
    if (!blocks)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < s->load->model->parameter_count; i++) {
        const fit_parameter *p = &s->load->parameters[i];
        if (!p->values || !p->is_parameter || !is_on_stage(s, p))
            continue;
        int64_t *sums = &blocks[2 * p->block];
        sums[0] = fit_sum(sums[0], weights_of(s, p, PYRO_SHARDING_NONE));
        sums[1] = fit_sum(sums[1], learned(s, p, p->gradient_bytes, PYRO_SHARDING_NONE));
    }
    *weights = 0;
    *gradients = blocks[1];
    for (size_t m = 1; m < modules; m++) {
        *weights = blocks[2 * m] > *weights ? blocks[2 * m] : *weights;
        *gradients = blocks[2 * m + 1] > *gradients ? blocks[2 * m + 1] : *gradients;
    }
    *weights = fit_sum(blocks[0], fit_sum(*weights, *weights)); /* one runs, one is on its way */
    free(blocks);
    return PYRO_OK;
}

int64_t fit_convolution_bytes(const fit_load *load)
{
    const pyro_cost *cost = load->cost;
    int64_t most = 0;
    for (size_t i = 0; i < cost->node_count; i++) {
        const pyro_work *work = &cost->nodes[i].work;
        int64_t bytes = fit_sum(work->activation_read_bytes, work->written_bytes);
        if (load->train) /* the gradient of its input */
            bytes = fit_sum(bytes, work->activation_read_bytes);
        if (strcmp(cost->nodes[i].category, "convolution") == 0 && bytes > most)
            most = bytes;
    }
    return most;
}

/* Workspaces and buckets stay; what is gathered or about to be sent is gone before the optimizer. */
static int find_buffers(const stage *s, int64_t *steady, int64_t *passing, pyro_error *error)
{
    int64_t weights = 0, gradients = 0;
    *steady = FIT_WORKSPACE_BYTES;
    *passing = 0;
    if (s->layout->data <= 1)
        return PYRO_OK;
    int status = gathered_bytes(s, &weights, &gradients, error);
    if (s->layout->sharding == PYRO_SHARDING_NONE)
        *steady = fit_sum(*steady, s->gradient_bytes);
    else
        *passing = s->layout->sharding >= PYRO_SHARDING_ZERO3 ? fit_sum(weights, gradients)
                                                              : gradients;
    return status;
}

/* Keys and values of the stage's layers, in whole blocks of tokens. */
static int64_t cache_bytes(const stage *s)
{
    const fit_load *load = s->load;
    int64_t stage_layers = 0, layers = (int64_t)load->attention_count;
    if (load->train || !load->generates)
        return 0;
    for (int64_t i = 0; i < layers; i++)
        stage_layers += fit_stage_of(load, load->attention_nodes[i], s->layout->pipeline) ==
                        s->index;
    int64_t tokens = fit_part(load->sequence, PYRO_FIT_BLOCK_TOKENS) * PYRO_FIT_BLOCK_TOKENS;
    int64_t values = fit_scale(load->cache_values_per_token, tokens, 1);
    values = fit_scale(values, s->setting->concurrent, 1);
    if (load->cache_heads > 1 && load->attention_cache_values == load->cache_values_per_token)
        values = fit_scale(values, fit_part(load->cache_heads, s->layout->tensor),
                           load->cache_heads);
    values = layers ? fit_scale(values, stage_layers, layers) : values;
    double bytes = (double)values * s->setting->cache_value_bytes;
    return bytes >= 9e18 ? INT64_MAX : (int64_t)bytes;
}

static const fit_value *state_of(const fit_load *load, const pyro_piece *piece)
{
    const pyro_graph *graph = load->model->graph;
    uint32_t value = piece->value;
    if (value == PYRO_NO_VALUE && graph->nodes[piece->node].output_count)
        value = graph->nodes[piece->node].outputs[0];
    return value == PYRO_NO_VALUE ? NULL : &load->values[value];
}

/* An activation, its gradient, or what belongs to one. */
static int64_t activation_bytes(const stage *s, const pyro_piece *piece)
{
    const fit_value *state = state_of(s->load, piece);
    int64_t bytes = piece->bytes;
    if (state && state->units)
        bytes = fit_scale(bytes, fit_part(state->units, s->layout->tensor), state->units);
    else if (s->layout->sequence)
        bytes = fit_part(bytes, s->layout->tensor);
    /* Generation computes the logits of each sequence's last token alone. */
    if (state && state->is_logit && s->load->generates && !s->load->train)
        bytes = fit_part(bytes, s->load->sequence);
    return bytes;
}

/* The bytes of a piece on this rank; `part` says what they are. */
static int64_t piece_bytes(const stage *s, const pyro_piece *piece, pyro_fit_part *part)
{
    bool trains = s->load->train != NULL;
    *part = PYRO_FIT_ACTIVATIONS;
    if (piece->node == PYRO_NO_VALUE) {
        *part = PYRO_FIT_OPTIMIZER_SCRATCH;
        return s->setting->offloads_states || !s->all_gradient_bytes
                   ? 0
                   : fit_scale(piece->bytes, s->updated_bytes, s->all_gradient_bytes);
    }
    if (fit_stage_of(s->load, piece->node, s->layout->pipeline) != s->index)
        return 0;
    if (trains && piece->kind == TRAIN_PIECE_PARAMETER_GRADIENT) {
        uint32_t index = s->load->values[piece->value].parameter;
        *part = PYRO_FIT_GRADIENTS;
        if (index == FIT_NONE || s->setting->micro_batches > 1)
            return 0; /* accumulated: held all the time */
        return learned(s, &s->load->parameters[index], piece->bytes,
                       sharding_from(s->layout, PYRO_SHARDING_ZERO2));
    }
    return activation_bytes(s, piece);
}

/* Activations of micro-batches whose backward has not come yet, beside the one that runs. */
static int64_t in_flight(const stage *s)
{
    int64_t behind = s->layout->pipeline - s->index;
    int64_t count = s->setting->micro_batches < behind ? s->setting->micro_batches : behind;
    return s->load->train && count > 1 ? count - 1 : 0;
}

/* The pieces on this rank; `waiting` sums those that wait for the backward. */
static void find_pieces(const stage *s, pyro_lifetimes *mine, int64_t *waiting)
{
    const pyro_lifetimes *all = s->load->pieces;
    size_t nodes = s->load->model->graph->node_count;
    for (size_t i = 0; i < all->count; i++) {
        pyro_fit_part part;
        pyro_piece piece = all->pieces[i];
        piece.bytes = piece_bytes(s, &piece, &part);
        piece.kind = (uint8_t)part;
        if (part == PYRO_FIT_ACTIVATIONS && piece.first < nodes && piece.last >= nodes)
            *waiting = fit_sum(*waiting, piece.bytes);
        if (piece.bytes > 0)
            mine->pieces[mine->count++] = piece;
    }
}

/* Sums the pieces of one part, or of all, into a curve; returns its maximum. */
static int run_curve(const stage *s, const pyro_lifetimes *mine, int64_t *curve, size_t *peak,
                     pyro_error *error)
{
    return pyro_lifetimes_run(mine, curve, s->load->step_count, peak)
               ? PYRO_OK
               : pyro_fail(error, PYRO_ERROR_LIMIT, "the peak memory does not fit in 64 bits");
}

/* The most of one part, if the pieces of the others are left out. */
static int64_t most_of(const stage *s, pyro_lifetimes *mine, int64_t *curve, pyro_fit_part part)
{
    size_t count = 0, peak = 0;
    for (size_t i = 0; i < mine->count; i++)
        if (mine->pieces[i].kind == part)
            mine->pieces[count++] = mine->pieces[i];
    mine->count = count;
    return count && pyro_lifetimes_run(mine, curve, s->load->step_count, &peak) ? curve[peak] : 0;
}

/* One allocation at most: a convolution's workspace, or a tensor that comes and goes. The
 * optimizer's scratch memory is many. */
static int64_t largest_allocation(const stage *s, const pyro_lifetimes *mine)
{
    int64_t most = fit_convolution_bytes(s->load);
    for (size_t i = 0; i < mine->count; i++)
        if (mine->pieces[i].kind != PYRO_FIT_OPTIMIZER_SCRATCH && mine->pieces[i].bytes > most)
            most = mine->pieces[i].bytes;
    return most;
}

/* Fills what comes and goes: the peak of its sum, and each part there. */
static int find_peak(stage *s, pyro_fit_rank *rank, int64_t passing, pyro_error *error)
{
    size_t steps = s->load->step_count, peak = 0;
    int64_t *curve = calloc(steps + 1, sizeof *curve), waiting = 0;
    pyro_lifetimes mine = {.pieces = malloc((s->load->pieces->count + 2) * sizeof *mine.pieces)};
    int status = curve && mine.pieces ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        find_pieces(s, &mine, &waiting);
        s->largest_bytes = largest_allocation(s, &mine);
        mine.pieces[mine.count++] = (pyro_piece){.bytes = passing,
                                                 .last = steps > 1 && s->load->train ? steps - 2
                                                                                     : steps,
                                                 .kind = PYRO_FIT_BUFFERS};
        status = run_curve(s, &mine, curve, &peak, error);
    }
    for (size_t i = 0; status == PYRO_OK && i < mine.count; i++) {
        const pyro_piece *piece = &mine.pieces[i];
        if (piece->kind == PYRO_FIT_OPTIMIZER_SCRATCH)
            rank->held_bytes[piece->kind] = fit_sum(rank->held_bytes[piece->kind], piece->bytes);
        if (piece->first <= peak && piece->last >= peak)
            rank->peak_bytes[piece->kind] = fit_sum(rank->peak_bytes[piece->kind], piece->bytes);
    }
    int64_t always = fit_sum(s->load->input_bytes, fit_scale(waiting, in_flight(s), 1));
    rank->peak_step = peak;
    rank->peak_bytes[PYRO_FIT_ACTIVATIONS] = fit_sum(rank->peak_bytes[PYRO_FIT_ACTIVATIONS],
                                                     always);
    if (status == PYRO_OK)
        rank->held_bytes[PYRO_FIT_ACTIVATIONS] = fit_sum(
            always, most_of(s, &mine, curve, PYRO_FIT_ACTIVATIONS));
    free(curve);
    free(mine.pieces);
    return status;
}

static int64_t reserve_bytes(const stage *s, const pyro_fit_rank *rank)
{
    const pyro_layout *layout = s->layout;
    int64_t moving = fit_sum(rank->peak_bytes[PYRO_FIT_ACTIVATIONS],
                             fit_sum(rank->peak_bytes[PYRO_FIT_GRADIENTS],
                                     rank->peak_bytes[PYRO_FIT_OPTIMIZER_SCRATCH]));
    int64_t loose = (int64_t)((double)moving * FIT_FRAGMENTATION_SHARE +
                              (double)s->largest_bytes * FIT_LARGEST_SHARE);
    if (s->setting->reserve_bytes >= 0)
        return fit_sum(s->setting->reserve_bytes, loose);
    int64_t groups = (layout->tensor > 1) + (layout->pipeline > 1) + (layout->data > 1) +
                     (layout->expert > 1);
    /* Replicas of inference do not talk to each other. */
    groups -= !s->load->train && layout->data > 1 && layout->sharding == PYRO_SHARDING_NONE;
    return fit_sum(
        fit_sum(FIT_CONTEXT_BYTES, groups * FIT_COMMUNICATOR_BYTES),
        fit_sum((int64_t)((double)s->setting->memory_bytes * s->setting->driver_share), loose));
}

static int fill_stage(stage *s, pyro_fit_rank *rank, pyro_error *error)
{
    static const pyro_fit_part steady[] = {PYRO_FIT_WEIGHTS, PYRO_FIT_MASTER_WEIGHTS,
                                           PYRO_FIT_OPTIMIZER_STATES, PYRO_FIT_KV_CACHE,
                                           PYRO_FIT_RESERVE};
    int64_t buffers, passing;
    *rank = (pyro_fit_rank){.stage = s->index};
    hold_parameters(s, rank->held_bytes);
    rank->held_bytes[PYRO_FIT_KV_CACHE] = cache_bytes(s);
    int status = find_buffers(s, &buffers, &passing, error);
    if (status == PYRO_OK)
        status = find_peak(s, rank, passing, error);
    rank->held_bytes[PYRO_FIT_BUFFERS] = fit_sum(buffers, passing);
    rank->peak_bytes[PYRO_FIT_BUFFERS] = fit_sum(rank->peak_bytes[PYRO_FIT_BUFFERS], buffers);
    if (s->setting->micro_batches > 1)
        rank->peak_bytes[PYRO_FIT_GRADIENTS] = rank->held_bytes[PYRO_FIT_GRADIENTS];
    rank->held_bytes[PYRO_FIT_RESERVE] = reserve_bytes(s, rank);
    for (size_t i = 0; i < sizeof steady / sizeof *steady; i++)
        rank->peak_bytes[steady[i]] = rank->held_bytes[steady[i]];
    for (int part = 0; part < PYRO_FIT_PART_COUNT; part++)
        rank->total_bytes = fit_sum(rank->total_bytes, rank->peak_bytes[part]);
    return status;
}

int fit_rank(pyro_fit_rank *out, const fit_load *load, const pyro_layout *layout,
             const fit_setting *setting, pyro_error *error)
{
    int status = PYRO_OK;
    for (int64_t index = 0; status == PYRO_OK && index < layout->pipeline; index++) {
        stage s = {.load = load, .layout = layout, .setting = setting, .index = index};
        pyro_fit_rank rank;
        status = fill_stage(&s, &rank, error);
        if (status == PYRO_OK && (index == 0 || rank.total_bytes > out->total_bytes))
            *out = rank;
    }
    return status == PYRO_OK ? fit_traffic(&out->traffic, load, layout, setting, out->stage, error)
                             : status;
}
