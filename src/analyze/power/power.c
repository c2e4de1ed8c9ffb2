/*
 * Power, energy, clocks and throttling of each step and device. Energy is the difference of the
 * driver's counter at both ends of the step, read from a straight line between samples; without the
 * counter it is the area below the samples of power. The counter lags by up to one update, so an
 * energy is right within one update's worth.
 */
#include "analyze/power/power.h"

#include "analyze/power/curves.h"
#include "base/error.h"

#include <math.h>
#include <pyrometer/recording.h>

/* A step as the device ran it, which may be later than the host. */
static pyro_step_row on_device(const pyro_step_row *step)
{
    pyro_step_row row = *step;
    if (step->number >= 0 && step->device_start_ns >= 0 && step->device_span_ns > 0) {
        row.start_ns = step->device_start_ns;
        row.span_ns = step->device_span_ns;
    }
    return row;
}

/* The samples in a window; of a window between two samples, the one before it. */
static void find_samples(const pyro_curve *curve, const pyro_step_row *step, size_t *first,
                         size_t *behind)
{
    *first = pyro_curve_find(curve, step->start_ns);
    *behind = pyro_curve_find(curve, step->start_ns + step->span_ns);
    if (*first == *behind && *first > 0)
        --*first;
}

/* Share of a window's samples in which any of two states is on; -1 without samples. */
static double share_of(const pyro_gpu_curves *gpu, pyro_gpu_value a, pyro_gpu_value b,
                       const pyro_step_row *step)
{
    const pyro_curve *one = &gpu->values[a], *other = &gpu->values[b];
    size_t first, behind, on = 0;
    find_samples(one, step, &first, &behind);
    for (size_t i = first; i < behind; i++)
        on += one->points[i].value > 0 || (i < other->count && other->points[i].value > 0);
    return behind > first ? (double)on / (double)(behind - first) : -1;
}

typedef struct value_range {
    double low, mean, high; /* -1 without samples */
    size_t samples;         /* inside the window itself */
} value_range;

static value_range range_of(const pyro_curve *curve, const pyro_step_row *step)
{
    value_range range = {-1, -1, -1, 0};
    size_t first, behind;
    double sum = 0;
    find_samples(curve, step, &first, &behind);
    for (size_t i = first; i < behind; i++) {
        double value = curve->points[i].value;
        sum += value;
        range.low = i == first || value < range.low ? value : range.low;
        range.high = i == first || value > range.high ? value : range.high;
        range.samples += curve->points[i].time_ns >= step->start_ns;
    }
    if (behind > first)
        range.mean = sum / (double)(behind - first);
    return range;
}

/* The longer of the sensor's own period and the time between our samples. */
static int64_t period_of(const pyro_curve *curve)
{
    int64_t update_ns = pyro_curve_update_ns(curve), interval_ns = pyro_curve_interval_ns(curve);
    return update_ns > interval_ns ? update_ns : interval_ns;
}

static void set_energy(const pyro_gpu_curves *gpu, const pyro_step_row *step, pyro_power_row *row)
{
    const pyro_curve *counter = &gpu->values[PYRO_GPU_VALUE_ENERGY];
    const pyro_curve *power = &gpu->values[PYRO_GPU_VALUE_POWER];
    int64_t end_ns = step->start_ns + step->span_ns;
    double seconds = (double)step->span_ns / 1e9;
    double energy_j = pyro_curve_at(counter, end_ns) - pyro_curve_at(counter, step->start_ns);
    row->energy_basis = "counter";
    if (isnan(energy_j)) {
        energy_j = pyro_curve_area(power, step->start_ns, end_ns);
        counter = power;
        row->energy_basis = "power";
    }
    if (!(energy_j >= 0) || seconds <= 0) {
        row->energy_basis = "";
        return;
    }
    row->energy_j = energy_j;
    row->mean_power_w = energy_j / seconds;
    row->energy_error_j = row->mean_power_w * (double)period_of(counter) / 1e9;
}

static void fill_row(const pyro_gpu_curves *gpu, const pyro_step_row *step, int64_t tokens,
                     pyro_power_row *row)
{
    value_range power = range_of(&gpu->values[PYRO_GPU_VALUE_POWER], step);
    value_range clock = range_of(&gpu->values[PYRO_GPU_VALUE_SM_CLOCK], step);
    *row = (pyro_power_row){
        .step = step->number,
        .device = (int)gpu->device,
        .start_ns = step->start_ns,
        .span_ns = step->span_ns,
        .samples = (int64_t)power.samples,
        .mean_power_w = power.mean,
        .max_power_w = power.samples ? power.high : -1,
        .energy_j = -1,
        .energy_error_j = -1,
        .tokens = tokens,
        .joules_per_token = -1,
        .clock_mhz = clock.mean,
        .min_clock_mhz = clock.low,
        .temperature_c = range_of(&gpu->values[PYRO_GPU_VALUE_TEMPERATURE], step).high,
        .tensor_percent = range_of(&gpu->values[PYRO_GPU_VALUE_UNIT_TENSOR], step).mean,
        .dram_percent = range_of(&gpu->values[PYRO_GPU_VALUE_UNIT_DRAM], step).mean,
        .throttled_share = share_of(gpu, PYRO_GPU_VALUE_HEAT, PYRO_GPU_VALUE_HARDWARE, step),
        .power_cap_share = share_of(gpu, PYRO_GPU_VALUE_POWER_CAP_HIT, PYRO_GPU_VALUE_POWER_CAP_HIT,
                                    step),
        .energy_basis = "",
    };
    set_energy(gpu, step, row);
    if (row->energy_j >= 0 && tokens > 0)
        row->joules_per_token = row->energy_j / (double)tokens;
}

/* Sums over all steps of a device, and over devices. */
static void add_device(pyro_power_summary *summary, const pyro_gpu_curves *gpu,
                       const pyro_power_row *rows, size_t count)
{
    double energy_j = 0, error_j = 0, mean_w = 0;
    int64_t span_ns = 0, tokens = 0, steps = 0;
    for (size_t i = 0; i < count; i++) {
        const pyro_power_row *row = &rows[i];
        if (row->energy_j < 0)
            continue;
        bool follows = steps && row[-1].energy_j >= 0 &&
                       row->start_ns - row[-1].start_ns - row[-1].span_ns <
                           period_of(&gpu->values[PYRO_GPU_VALUE_POWER]);
        energy_j += row->energy_j;
        /* What one step misses at its end, the next one has. */
        error_j = follows ? fmax(error_j, row->energy_error_j) : error_j + row->energy_error_j;
        span_ns += row->span_ns;
        tokens += row->tokens > 0 ? row->tokens : 0;
        steps++;
    }
    if (!steps || span_ns <= 0)
        return;
    mean_w = energy_j / ((double)span_ns / 1e9);
    summary->mean_power_w = fmax(summary->mean_power_w, 0) + mean_w;
    summary->energy_j = fmax(summary->energy_j, 0) + energy_j;
    summary->energy_error_j = fmax(summary->energy_error_j, 0) + error_j;
    summary->energy_per_step_j = fmax(summary->energy_per_step_j, 0) + energy_j / (double)steps;
    if (tokens)
        summary->joules_per_token = fmax(summary->joules_per_token, 0) + energy_j / (double)tokens;
}

/* Over all samples, so that short steps count too. */
static void add_states(pyro_power_summary *summary, const pyro_gpu_curves *gpu,
                       const pyro_step_row *whole)
{
    value_range clock = range_of(&gpu->values[PYRO_GPU_VALUE_SM_CLOCK], whole);
    value_range power = range_of(&gpu->values[PYRO_GPU_VALUE_POWER], whole);
    double throttled = share_of(gpu, PYRO_GPU_VALUE_HEAT, PYRO_GPU_VALUE_HARDWARE, whole);
    double capped = share_of(gpu, PYRO_GPU_VALUE_POWER_CAP_HIT, PYRO_GPU_VALUE_POWER_CAP_HIT,
                             whole);
    summary->heat_share = fmax(summary->heat_share,
                               share_of(gpu, PYRO_GPU_VALUE_HEAT, PYRO_GPU_VALUE_HEAT, whole));
    summary->throttled_share = fmax(summary->throttled_share, throttled);
    summary->power_cap_share = fmax(summary->power_cap_share, capped);
    summary->samples += (int64_t)gpu->values[PYRO_GPU_VALUE_POWER].count;
    if (clock.low >= 0 && (summary->min_clock_mhz < 0 || clock.low < summary->min_clock_mhz))
        summary->min_clock_mhz = clock.low;
    summary->max_clock_mhz = fmax(summary->max_clock_mhz, clock.high);
    summary->max_power_w = fmax(summary->max_power_w, power.high);
}

static void set_periods(pyro_power_summary *summary, const pyro_gpu_curves *gpu)
{
    const pyro_curve *power = &gpu->values[PYRO_GPU_VALUE_POWER];
    const pyro_curve *counter = &gpu->values[PYRO_GPU_VALUE_ENERGY];
    int64_t update_ns = pyro_curve_update_ns(counter->count > 1 ? counter : power);
    summary->interval_ns = power->count > 1 ? pyro_curve_interval_ns(power) : -1;
    summary->update_ns = update_ns > 0 ? update_ns : -1;
}

static void summarise(pyro_analysis_context *context, const pyro_all_curves *all,
                      const pyro_power_row *rows)
{
    const pyro_analysis *result = context->result;
    pyro_power_summary *summary = &context->result->power_summary;
    size_t steps = result->step_count;
    pyro_step_row whole = on_device(&result->steps[0]);
    pyro_step_row last = on_device(&result->steps[steps - 1]);
    whole.span_ns = last.start_ns + last.span_ns - whole.start_ns;
    summary->devices = (int64_t)all->count;
    summary->sensor = pyro_trace_note_text(context->trace, PYRO_PROPERTY_GPU_POWER);
    for (size_t i = 0; i < all->count; i++) {
        add_device(summary, &all->items[i], rows + i * steps, steps);
        add_states(summary, &all->items[i], &whole);
    }
    set_periods(summary, &all->items[0]);
    for (size_t i = 0; i < steps; i++) {
        bool is_throttled = false;
        for (size_t k = 0; k < all->count; k++)
            is_throttled |= rows[k * steps + i].throttled_share > 0;
        summary->throttled_steps += is_throttled;
    }
}

/* Rows by device in `rows`, by step in the result. */
static int publish(pyro_analysis_context *context, const pyro_power_row *rows, size_t devices)
{
    size_t steps = context->result->step_count, count = 0;
    pyro_power_row *out = pyro_arena_array(context->arena, devices * steps, sizeof *out);
    if (!out)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < steps; i++)
        for (size_t k = 0; k < devices; k++)
            if (rows[k * steps + i].mean_power_w >= 0 || rows[k * steps + i].clock_mhz >= 0)
                out[count++] = rows[k * steps + i];
    context->result->power = out;
    context->result->power_count = count;
    return PYRO_OK;
}

static int fill(pyro_analysis_context *context, const pyro_all_curves *all)
{
    const pyro_analysis *result = context->result;
    size_t steps = result->step_count;
    pyro_power_row *rows = pyro_arena_array(context->scratch, all->count * steps, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    for (size_t k = 0; k < all->count; k++)
        for (size_t i = 0; i < steps; i++) {
            pyro_step_row step = on_device(&result->steps[i]);
            fill_row(&all->items[k], &step,
                     result->serving_count == steps ? result->serving[i].tokens : -1,
                     &rows[k * steps + i]);
        }
    summarise(context, all, rows);
    return publish(context, rows, all->count);
}

/* Large GPUs reach their power cap under full load, so that is no finding. */
static int note_power_cap(pyro_analysis_context *context)
{
    const pyro_power_summary *summary = &context->result->power_summary;
    if (summary->power_cap_share < 0.05)
        return PYRO_OK;
    return pyro_context_note(context,
                             "the power cap lowered the GPU's clocks in %.0f%% of the samples "
                             "(SM clock %.0f to %.0f MHz)",
                             100 * summary->power_cap_share, summary->min_clock_mhz,
                             summary->max_clock_mhz);
}

int pyro_make_power(pyro_analysis_context *context)
{
    pyro_all_curves all = {0};
    context->result->power_summary = (pyro_power_summary){.sensor = "",
                                                          .interval_ns = -1,
                                                          .update_ns = -1,
                                                          .mean_power_w = -1,
                                                          .max_power_w = -1,
                                                          .energy_j = -1,
                                                          .energy_error_j = -1,
                                                          .energy_per_step_j = -1,
                                                          .joules_per_token = -1,
                                                          .min_clock_mhz = -1,
                                                          .max_clock_mhz = -1,
                                                          .heat_share = -1,
                                                          .throttled_share = -1,
                                                          .power_cap_share = -1};
    bool is_read = pyro_curves_read(&all, context->trace);
    int status = is_read ? PYRO_OK : pyro_fail_memory(context->error);
    if (status == PYRO_OK && all.count && context->result->step_count)
        status = fill(context, &all);
    if (status == PYRO_OK)
        status = note_power_cap(context);
    pyro_curves_free(&all);
    return status;
}
