/* Adds estimates up into layers and a step: time with its range, bound, utilisation, energy. */
#include "map/internal.h"

#include "predict/peaks.h"

#include <math.h>
#include <stdlib.h>

/* Errors of estimates are partly common to all ops (a clock, a library), partly their own. */
#define COMMON_PART 0.8
#define RANGE_80 1.2816
/* Power of a device that only waits, as a share of its most. */
#define IDLE_POWER 0.3
/* What drivers and libraries keep of a device's memory. */
#define RESERVED_BYTES (INT64_C(1) << 30)

/* Sums of estimates. */
typedef struct sum {
    double time, spread, spread_squares, least, measured, flops, bytes, kernels, compute_time;
    double by_bound[PYRO_MAP_BOUND_COUNT];
    bool has_measured;
} sum;

static void add(sum *s, const pyro_map_item *item, const struct pyro_op_work *work,
                const pyro_map_estimate *estimate, double peak)
{
    double time = estimate->time_ns * item->times, spread = estimate->spread * time;
    s->time += time;
    s->spread += spread;
    s->spread_squares += spread * spread;
    s->least += estimate->least_ns * item->times;
    s->flops += (double)work->flops * item->times;
    s->bytes += (double)work->bytes * item->times;
    s->kernels += item->kernels * item->times;
    s->by_bound[estimate->bound] += time;
    s->compute_time += peak > 0 ? 1e9 * (double)work->flops * item->times / peak : 0;
    if (item->measured_ns >= 0) {
        s->measured += item->measured_ns;
        s->has_measured = true;
    }
}

/* Sums by kind of work. */
typedef struct kind_sums {
    double time[PYRO_WORK_KIND_COUNT], measured[PYRO_WORK_KIND_COUNT];
    double kernels[PYRO_WORK_KIND_COUNT];
} kind_sums;

static void add_kind(kind_sums *sums, const pyro_map_item *item, double time_ns)
{
    pyro_work_kind kind = pyro_work_kind_from_name(item->work.kind);
    if (kind >= PYRO_WORK_KIND_COUNT)
        return;
    sums->time[kind] += time_ns * item->times;
    sums->measured[kind] += item->measured_ns >= 0 ? item->measured_ns : 0;
    sums->kernels[kind] += item->kernels * item->times;
}

static int compare_kinds(const void *a, const void *b)
{
    const pyro_map_kind *left = a, *right = b;
    return (left->time_ns < right->time_ns) - (left->time_ns > right->time_ns);
}

static bool set_kinds(pyro_map_chip *out, pyro_arena *arena, const kind_sums *sums, bool measured)
{
    out->kinds = pyro_arena_array(arena, PYRO_WORK_KIND_COUNT, sizeof *out->kinds);
    for (int i = 0; out->kinds && i < PYRO_WORK_KIND_COUNT; i++)
        if (sums->time[i] > 0)
            out->kinds[out->kind_count++] = (pyro_map_kind){
                .kind = pyro_work_kind_name((pyro_work_kind)i),
                .time_ns = sums->time[i],
                .measured_ns = measured ? sums->measured[i] : -1,
                .kernels = sums->kernels[i]};
    if (out->kind_count > 1)
        qsort(out->kinds, out->kind_count, sizeof *out->kinds, compare_kinds);
    return out->kinds != NULL;
}

static pyro_map_bound largest(const double by_bound[PYRO_MAP_BOUND_COUNT])
{
    int best = 0;
    for (int i = 1; i < PYRO_MAP_BOUND_COUNT; i++)
        best = by_bound[i] > by_bound[best] ? i : best;
    return (pyro_map_bound)best;
}

static void set_energy(pyro_map_row *row, const pyro_mapped_chip *chip, int gpus)
{
    double bandwidth = pyro_chip_bytes_per_s(&chip->chip);
    double busy = row->utilisation > 0 ? row->utilisation : 0;
    if (bandwidth > 0 && row->time_ns > 0)
        busy = fmax(busy, row->bytes / (bandwidth * row->time_ns / 1e9));
    row->energy_joules = chip->chip.power_watts > 0
                             ? gpus * chip->chip.power_watts * row->time_ns / 1e9 *
                                   (IDLE_POWER + (1 - IDLE_POWER) * fmin(busy, 1))
                             : -1;
}

static void set_row(pyro_map_row *row, const sum *s, const pyro_mapped_chip *chip)
{
    double spread = s->time > 0 ? sqrt(COMMON_PART * s->spread * s->spread +
                                       (1 - COMMON_PART) * s->spread_squares) /
                                      s->time
                                : 0;
    row->time_ns = s->time;
    row->low_ns = s->time * exp(-RANGE_80 * spread);
    row->high_ns = s->time * exp(RANGE_80 * spread);
    row->least_ns = s->least;
    row->measured_ns = s->has_measured ? s->measured : -1;
    row->utilisation = s->time > 0 ? fmin(s->compute_time / s->time, 1) : -1;
    row->flops = s->flops;
    row->bytes = s->bytes;
    row->kernels = s->kernels;
    row->bound = largest(s->by_bound);
    set_energy(row, chip, 1);
}

/* The host starts ops one by one: where that takes longer, the device waits. Measured times are the
 * device's own, and so is the time beside them. */
static void add_launches(pyro_map_chip *out, const pyro_mapped_chip *chip,
                         const pyro_map_options *options)
{
    pyro_map_row *total = &out->total;
    out->device_ns = total->time_ns;
    out->launch_ns = options->graphs ? 0 : total->kernels * chip->host_ns;
    if (out->launch_ns <= out->device_ns)
        return;
    total->bound = PYRO_MAP_LAUNCH;
    if (total->measured_ns >= 0)
        return;
    double factor = out->launch_ns / fmax(out->device_ns, 1);
    total->time_ns *= factor;
    total->low_ns = fmax(total->low_ns, out->launch_ns * 0.7);
    total->high_ns = fmax(total->high_ns, out->launch_ns * 1.4);
    total->utilisation /= factor;
}

static void set_memory(pyro_map_chip *out, const pyro_mapped_chip *chip, const pyro_map_work *work)
{
    out->memory_bytes = work->memory_bytes;
    out->available_bytes = chip->chip.memory_bytes > 2 * RESERVED_BYTES && !chip->is_host
                               ? chip->chip.memory_bytes - RESERVED_BYTES
                               : chip->chip.memory_bytes;
}

bool pyro_map_work_on(pyro_map_chip *out, pyro_arena *arena, const pyro_mapper *mapper,
                      size_t index, const pyro_map_work *work, const pyro_map_options *options)
{
    const pyro_mapped_chip *chip = &mapper->chips[index];
    sum *layers = pyro_arena_array(arena, work->layer_count + 1, sizeof *layers);
    sum total = {0};
    kind_sums kinds = {0};
    double backward_ns = 0;

    *out = (pyro_map_chip){.name = chip->name, .layer_count = work->layer_count};
    out->layers = pyro_arena_array(arena, work->layer_count + 1, sizeof *out->layers);
    if (!layers || !out->layers)
        return false;
    for (size_t i = 0; i <= work->layer_count; i++)
        layers[i] = (sum){0};
    for (size_t i = 0; i < work->count; i++) {
        const pyro_map_item *item = &work->items[i];
        struct pyro_op_work share = pyro_map_share(item, options);
        pyro_map_estimate estimate = pyro_map_estimate_work(mapper, chip, &share);
        int dtype = pyro_efficiency_dtype(share.dtype);
        double peak = dtype < 0 ? 0 : pyro_peak_of_type(&chip->chip, dtype);
        add(&layers[item->layer], item, &share, &estimate, peak);
        add(&total, item, &share, &estimate, peak);
        add_kind(&kinds, item, estimate.time_ns);
        out->known_ns[estimate.origin] += estimate.time_ns * item->times;
        backward_ns += item->is_backward ? estimate.time_ns * item->times : 0;
    }
    for (size_t i = 0; i < work->layer_count; i++) {
        set_row(&out->layers[i], &layers[i], chip);
        out->layers[i].name = work->layers[i];
    }
    if (!set_kinds(out, arena, &kinds, total.has_measured))
        return false;
    set_row(&out->total, &total, chip);
    out->total.name = "total";
    out->unpriced_ns = work->unpriced_ns;
    add_launches(out, chip, options);
    set_memory(out, chip, work);
    pyro_map_parallel(out, chip, work, options, backward_ns);
    int gpus = options->gpus > 1 ? options->gpus : 1;
    set_energy(&out->total, chip, gpus);
    out->fits = out->available_bytes <= 0 || out->memory_bytes <= out->available_bytes;
    bool copies = options->parallel == PYRO_PARALLEL_DATA ||
                  options->parallel == PYRO_PARALLEL_SHARDED;
    if (work->samples > 0 && out->total.time_ns > 0)
        out->samples_per_s = (double)work->samples * (copies ? gpus : 1) * 1e9 / out->total.time_ns;
    return true;
}
