/* Several devices: which part of the work each does, what they send, and what each holds. */
#include "hardware/link.h"
#include "map/internal.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"none", "data", "sharded", "tensor", "pipeline"};

const char *pyro_parallel_name(pyro_parallel parallel)
{
    return (size_t)parallel < sizeof names / sizeof *names ? names[parallel] : "";
}

static bool is_parallel(const pyro_map_options *options)
{
    return options->gpus > 1 && options->parallel != PYRO_PARALLEL_NONE;
}

struct pyro_op_work pyro_map_share(const pyro_map_item *item, const pyro_map_options *options)
{
    struct pyro_op_work work = item->work;
    if (!is_parallel(options) || options->parallel != PYRO_PARALLEL_TENSOR || !item->is_split)
        return work;
    work.flops /= (uint64_t)options->gpus;
    work.bytes /= (uint64_t)options->gpus;
    if (strcmp(work.kind, "attention") == 0 && work.parts >= options->gpus) {
        work.parts /= options->gpus; /* heads */
        work.m /= options->gpus;
    } else if (work.n >= options->gpus) {
        work.n /= options->gpus;
    }
    return work;
}

/* All devices get the sum of all: each sends 2 (n - 1) / n of the bytes. */
static double sum_ns(const pyro_mapped_chip *chip, double bytes, int gpus, double times)
{
    double share = 2.0 * (gpus - 1) / gpus;
    return pyro_link_ns(chip->chip.link_bytes_per_s, share * bytes, times * ceil(log2(gpus)));
}

static double communication(const pyro_map_chip *out, const pyro_mapped_chip *chip,
                            const pyro_map_work *work, const pyro_map_options *options,
                            double backward_ns)
{
    int gpus = options->gpus;
    double bytes = 0, times = 0, rate = chip->chip.link_bytes_per_s;

    switch (options->parallel) {
    case PYRO_PARALLEL_DATA:
        if (!options->train)
            return 0;
        return fmax(0, sum_ns(chip, (double)work->gradient_bytes, gpus, 1) - backward_ns);
    case PYRO_PARALLEL_SHARDED:
        /* Weights are gathered in the forward and in the backward; gradients are scattered. */
        bytes = (double)work->weight_bytes * (options->train ? 2 : 1) +
                (options->train ? (double)work->gradient_bytes : 0);
        bytes *= (double)(gpus - 1) / gpus;
        return fmax(0, pyro_link_ns(rate, bytes, (double)work->layer_count) - out->device_ns);
    case PYRO_PARALLEL_TENSOR:
        for (size_t i = 0; i < work->count; i++) {
            bytes += work->items[i].reduced_bytes * work->items[i].times;
            times += work->items[i].reduced_bytes > 0 ? work->items[i].times : 0;
        }
        return sum_ns(chip, bytes, gpus, times);
    default:
        return pyro_link_ns(rate, 0, gpus - 1);
    }
}

/* Stages work at the same time on parts of the batch; the first and last wait for each other. */
static void split_stages(pyro_map_chip *out, const pyro_map_work *work, int gpus)
{
    double parts = work->samples > 1 ? (double)work->samples : 1;
    double factor = (parts + gpus - 1) / parts / gpus;
    out->total.time_ns *= factor;
    out->total.low_ns *= factor;
    out->total.high_ns *= factor;
    out->total.utilisation /= factor * gpus;
}

static void share_memory(pyro_map_chip *out, const pyro_map_work *work,
                         const pyro_map_options *options)
{
    int64_t held = work->weight_bytes + work->gradient_bytes + work->state_bytes;
    if (options->parallel == PYRO_PARALLEL_SHARDED && held < out->memory_bytes)
        out->memory_bytes -= held - held / options->gpus;
    else if (options->parallel == PYRO_PARALLEL_TENSOR ||
             options->parallel == PYRO_PARALLEL_PIPELINE)
        out->memory_bytes /= options->gpus;
}

void pyro_map_parallel(pyro_map_chip *out, const pyro_mapped_chip *chip, const pyro_map_work *work,
                       const pyro_map_options *options, double backward_ns)
{
    if (!is_parallel(options))
        return;
    if (options->parallel == PYRO_PARALLEL_PIPELINE)
        split_stages(out, work, options->gpus);
    double added = communication(out, chip, work, options, backward_ns);
    share_memory(out, work, options);
    out->communication_ns = added;
    if (added <= 0)
        return;
    double before = out->total.time_ns;
    out->total.time_ns += added;
    out->total.low_ns += 0.7 * added;
    out->total.high_ns += 1.5 * added;
    out->total.utilisation *= before / out->total.time_ns;
    if (added > before)
        out->total.bound = PYRO_MAP_COMMUNICATION;
}
