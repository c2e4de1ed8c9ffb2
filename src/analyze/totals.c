/* Derives totals from a finished analysis: layers rolled up to a depth, sums over steps, and which
 * clock and device memory to report. */
#include "analyze/totals.h"

#include "analyze/quantile.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Adds the own time of every layer that is too deep to its parent's, deepest first. */
static void push_up(pyro_layer_row *rows, size_t count, uint32_t depth)
{
    for (size_t i = count; i-- > 0;) {
        pyro_layer_row *row = &rows[i];

        if (row->depth <= depth || row->parent >= i)
            continue;
        rows[row->parent].forward_host_self_ns += row->forward_host_self_ns;
        rows[row->parent].forward_device_self_ns += row->forward_device_self_ns;
        rows[row->parent].backward_host_self_ns += row->backward_host_self_ns;
        rows[row->parent].backward_device_self_ns += row->backward_device_self_ns;
        rows[row->parent].shared_ns += row->shared_ns;
    }
}

/* Moves kept rows together; `places` has the new place of each. */
static size_t close_up(pyro_layer_row *rows, size_t count, uint32_t depth, uint32_t *places)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool has_parent = rows[i].parent < i;

        if (rows[i].depth > depth && has_parent)
            continue;
        places[i] = (uint32_t)kept;
        rows[kept] = rows[i];
        if (has_parent)
            rows[kept].parent = places[rows[i].parent];
        kept++;
    }
    return kept;
}

int pyro_analysis_roll_up(pyro_shallow_analysis *out, const pyro_analysis *analysis, int depth,
                          pyro_error *error)
{
    size_t count = analysis->layer_count;
    uint32_t *places;

    out->analysis = *analysis;
    out->layers = NULL;
    if (depth < 0 || count == 0)
        return PYRO_OK;
    places = calloc(count, sizeof *places);
    out->layers = calloc(count, sizeof *out->layers);
    if (!places || !out->layers) {
        free(places);
        return pyro_fail_memory(error);
    }
    memcpy(out->layers, analysis->layers, count * sizeof *out->layers);
    push_up(out->layers, count, (uint32_t)depth);
    out->analysis.layers = out->layers;
    out->analysis.layer_count = close_up(out->layers, count, (uint32_t)depth, places);
    free(places);
    return PYRO_OK;
}

void pyro_shallow_analysis_free(pyro_shallow_analysis *shallow)
{
    free(shallow->layers);
    shallow->layers = NULL;
}

bool pyro_trace_on_host(const pyro_analysis *analysis)
{
    return analysis->device_total_ns == 0;
}

int64_t pyro_layer_self_ns(const pyro_layer_row *row, bool on_host)
{
    return on_host ? row->forward_host_self_ns + row->backward_host_self_ns
                   : row->forward_device_self_ns + row->backward_device_self_ns;
}

int64_t pyro_layer_total_ns(const pyro_layer_row *row, bool on_host)
{
    return on_host ? row->forward_host_ns + row->backward_host_ns
                   : row->forward_device_ns + row->backward_device_ns;
}

int64_t pyro_op_self_ns(const pyro_op_row *row, bool on_host)
{
    return on_host ? row->host_self_ns : row->device_self_ns;
}

int64_t pyro_unattributed_ns(const pyro_unattributed *unattributed)
{
    return unattributed->no_launch_ns + unattributed->outside_layer_ns +
           unattributed->optimizer_ns + unattributed->collective_ns;
}

int64_t pyro_trace_whole_ns(const pyro_analysis *analysis)
{
    int64_t whole = 0;

    if (!pyro_trace_on_host(analysis))
        return analysis->device_total_ns;
    for (size_t i = 0; i < analysis->op_count; i++)
        whole += analysis->ops[i].host_self_ns;
    return whole;
}

pyro_step_row pyro_analysis_sum_steps(const pyro_analysis *analysis)
{
    pyro_step_row sum = {0};

    for (size_t i = 0; i < analysis->step_count; i++) {
        const pyro_step_row *row = &analysis->steps[i];

        sum.span_ns += row->span_ns;
        sum.compute_ns += row->compute_ns;
        sum.communication_exposed_ns += row->communication_exposed_ns;
        sum.communication_ns += row->communication_ns;
        sum.copy_ns += row->copy_ns;
        sum.copy_exposed_ns += row->copy_exposed_ns;
        sum.idle_ns += row->idle_ns;
        sum.host_only_ns += row->host_only_ns;
        sum.data_loading_ns += row->data_loading_ns;
        sum.forward_ns += row->forward_ns;
        sum.backward_ns += row->backward_ns;
        sum.optimizer_ns += row->optimizer_ns;
        sum.other_ns += row->other_ns;
        sum.device_total_ns += row->device_total_ns;
    }
    return sum;
}

bool pyro_analysis_step_time(pyro_step_time *out, const pyro_analysis *analysis)
{
    size_t count = analysis->step_count;
    int64_t *times = calloc(count + 1, sizeof *times);

    *out = (pyro_step_time){.on_device = analysis->steps_on_device};
    if (!times)
        return false;
    for (size_t i = 0; i < count; i++) {
        times[i] = analysis->steps[i].span_ns;
        if (analysis->steps[i].device_lag_ns > out->lag_ns)
            out->lag_ns = analysis->steps[i].device_lag_ns;
    }
    out->median_ns = pyro_median(times, count);
    free(times);
    return true;
}

/* Of the members that hold times and work; all are int64_t. */
static const size_t summed[] = {
    offsetof(pyro_training_step, span_ns),
    offsetof(pyro_training_step, forward_ns),
    offsetof(pyro_training_step, backward_ns),
    offsetof(pyro_training_step, optimizer_ns),
    offsetof(pyro_training_step, data_ns),
    offsetof(pyro_training_step, communication_ns),
    offsetof(pyro_training_step, other_ns),
    offsetof(pyro_training_step, communication_total_ns),
    offsetof(pyro_training_step, flops),
    offsetof(pyro_training_step, torch_flops),
    offsetof(pyro_training_step, forward_op_ns),
    offsetof(pyro_training_step, backward_op_ns),
    offsetof(pyro_training_step, optimizer_op_ns),
    offsetof(pyro_training_step, other_op_ns),
    offsetof(pyro_training_step, python_ns),
};

pyro_training_totals pyro_analysis_sum_training(const pyro_analysis *analysis, int64_t first_step,
                                                int64_t last_step)
{
    pyro_training_totals all = {.dtype = ""};
    for (size_t i = 0; i < analysis->training_count; i++) {
        const pyro_training_step *step = &analysis->training[i];
        if (step->number < first_step || step->number > last_step)
            continue;
        all.count++;
        for (size_t k = 0; k < sizeof summed / sizeof *summed; k++) {
            int64_t amount = *(const int64_t *)((const char *)step + summed[k]);
            *(int64_t *)((char *)&all.sum + summed[k]) += amount > 0 ? amount : 0;
        }
        all.dtype = step->dtype;
        all.peak_flops_per_s = step->peak_flops_per_s;
    }
    return all;
}

const pyro_memory_device *pyro_main_memory(const pyro_analysis *analysis)
{
    const pyro_memory_device *main = NULL;

    for (size_t i = 0; i < analysis->memory_count; i++) {
        const pyro_memory_device *device = &analysis->memory[i];
        bool host = strcmp(device->device, "cpu") == 0;
        bool main_is_host = main && strcmp(main->device, "cpu") == 0;

        if (!main || (main_is_host && !host) ||
            (main_is_host == host && device->peak_bytes > main->peak_bytes))
            main = device;
    }
    return main;
}
