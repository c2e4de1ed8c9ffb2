/* Bytes that one GPU sends per step: collectives as rings, experts as exchanges of tokens. */
#include "fit/fit.h"
#include "hardware/link.h"

/* Of a ring over `ranks` ranks, each sends (ranks - 1) / ranks of the bytes. */
static int64_t ring(int64_t bytes, int64_t ranks)
{
    return ranks > 1 ? fit_scale(bytes, ranks - 1, ranks) : 0;
}

/* Bytes of the weights and gradients of a stage on its ranks, before sharding. */
static void sum_parameters(const fit_load *load, const pyro_layout *layout, int64_t stage,
                           int64_t *weights, int64_t *gradients)
{
    *weights = *gradients = 0;
    for (size_t i = 0; i < load->model->parameter_count; i++) {
        const fit_parameter *p = &load->parameters[i];
        int64_t adapter = p->adapter_in + p->adapter_out;
        if (!p->values || !p->is_parameter ||
            (fit_stage_of(load, p->first_node, layout->pipeline) != stage &&
             fit_stage_of(load, p->last_node, layout->pipeline) != stage))
            continue;
        int64_t local = fit_local_values(p, layout);
        *weights = fit_sum(*weights, fit_scale(p->weight_bytes, local, p->values));
        *gradients = fit_sum(*gradients, adapter ? fit_scale(p->gradient_bytes,
                                                             fit_local_adapter(p, layout), adapter)
                                                 : fit_scale(p->gradient_bytes, local, p->values));
    }
}

static int64_t data_bytes(const fit_load *load, const pyro_layout *layout, int64_t stage,
                          int64_t micro_batches)
{
    int64_t weights, gradients, ranks = layout->data;
    sum_parameters(load, layout, stage, &weights, &gradients);
    if (layout->sharding >= PYRO_SHARDING_ZERO3) {
        /* Gathered in each forward and each backward. */
        int64_t passes = load->train ? 2 * micro_batches : 1;
        return fit_sum(ring(fit_scale(weights, passes, 1), ranks), ring(gradients, ranks));
    }
    if (!load->train)
        return 0;
    return layout->sharding == PYRO_SHARDING_NONE
               ? ring(fit_sum(gradients, gradients), ranks)
               : fit_sum(ring(gradients, ranks), ring(weights, ranks));
}

/* All-reduces of split products, and tokens that go to experts and back. */
static void add_transfers(const fit_load *load, const pyro_layout *layout, int64_t stage,
                          int64_t micro_batches, pyro_fit_traffic *out)
{
    bool again = load->train && load->train->options.checkpoint != PYRO_CHECKPOINT_NONE;
    int64_t passes = (load->train ? 2 + again : 1) * micro_batches;
    int64_t reduced = 0, exchanged = 0;
    for (size_t i = 0; i < load->transfer_count; i++) {
        const fit_transfer *transfer = &load->transfers[i];
        if (fit_stage_of(load, transfer->node, layout->pipeline) != stage)
            continue;
        if (!transfer->is_expert || layout->expert <= 1)
            reduced = fit_sum(reduced, transfer->reduced_bytes);
        else
            exchanged = fit_sum(exchanged, fit_part(transfer->bytes, layout->tensor));
    }
    out->tensor_bytes = ring(fit_scale(fit_sum(reduced, reduced), passes, 1), layout->tensor);
    out->expert_bytes = ring(fit_scale(exchanged, passes, 1), layout->expert);
}

int fit_traffic(pyro_fit_traffic *out, const fit_load *load, const pyro_layout *layout,
                const fit_setting *setting, int64_t stage, pyro_error *error)
{
    int64_t boundary = 0, times = load->train ? setting->micro_batches : 1;
    int status = PYRO_OK;
    *out = (pyro_fit_traffic){.data_bytes = data_bytes(load, layout, stage, times)};
    add_transfers(load, layout, stage, times, out);
    if (layout->pipeline > 1)
        status = fit_boundary_bytes(load, layout->pipeline, &boundary, error);
    /* The activations forward, their gradients back. */
    out->pipeline_bytes = fit_scale(boundary, (load->train ? 2 : 1) * times, 1);
    out->total_bytes = fit_sum(fit_sum(out->data_bytes, out->tensor_bytes),
                               fit_sum(out->pipeline_bytes, out->expert_bytes));
    if (setting->link_bytes_per_s > 0)
        out->seconds = pyro_link_ns(setting->link_bytes_per_s, (double)out->total_bytes, 0) / 1e9;
    return status;
}
