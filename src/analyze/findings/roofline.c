/*
 * Compares ops with the roofline of the chip. The data sheet's rates are no measure of a loss: what
 * counts is what well-tuned kernels reach, and what a kernel takes however little it does.
 */
#include "analyze/findings/findings.h"
#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

/* Percent of the data sheet's rates that well-tuned kernels reach. On an H200 large bf16 products run
 * at 65 to 75%, copies at 85% (pyrometer doctor --calibrate); products on AMD's chips at about half. */
enum { REACHABLE_PERCENT = 70, REACHABLE_PERCENT_OF_AMD = 45, REACHABLE_PERCENT_OF_BANDWIDTH = 80 };
/* A kernel takes so long before and after its work. */
enum { KERNEL_NS = 4000 };
/* Shorter ops on the device are mostly launch overhead. */
enum { LAUNCH_US = 20 };

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* The op around device work whose price is known; PYRO_NO_EVENT. */
static uint32_t priced_op(const pyro_analysis_context *context, uint32_t event)
{
    const pyro_joins *joins = context->joins;
    uint32_t op = joins->op[event];
    for (int i = 0; i < 1000 && op != PYRO_NO_EVENT; i++) {
        uint32_t detail = context->trace->detail[op];
        const pyro_op_kind *price = &context->op_kinds[0];
        if (detail != PYRO_NO_ID)
            price = pyro_context_price(context, detail);
        if (price->bytes > 0 && price->flops >= 0)
            return op;
        uint32_t parent = joins->parent[op];
        op = parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : joins->op[parent];
    }
    return PYRO_NO_EVENT;
}

/* Time by name of an op, for the largest. */
typedef struct name_sums {
    pyro_map index;
    int64_t *sums;
    size_t count, capacity;
    uint32_t best;
    int64_t best_ns;
} name_sums;

static bool add_to_name(name_sums *names, uint32_t name, int64_t ns)
{
    uint32_t at = pyro_map_get(&names->index, name);
    if (at == PYRO_MAP_NONE) {
        at = (uint32_t)names->count;
        if (!pyro_grow(&names->sums, &names->capacity, names->count + 1, sizeof *names->sums) ||
            !pyro_map_put(&names->index, name, at))
            return false;
        names->sums[names->count++] = 0;
    }
    names->sums[at] += ns;
    if (names->sums[at] > names->best_ns) {
        names->best_ns = names->sums[at];
        names->best = name;
    }
    return true;
}

static void free_names(name_sums *names)
{
    free(names->sums);
    pyro_map_free(&names->index);
}

/* Device time of a priced op. */
typedef struct op_time {
    int64_t device_ns;
    uint32_t event;
    uint32_t kernels : 30, uses_tensor_cores : 1, is_channels_last : 1;
} op_time;

/* The ops that launched kernels. */
typedef struct op_times {
    op_time *items;
    size_t count, capacity;
    uint32_t *number_of_detail; /* index of the op plus 1; 0: none */
} op_times;

/* What all ops of the trace are compared with and added to. */
typedef struct comparison {
    pyro_finder *finder;
    op_times ops;
    int64_t *fastest_ns; /* by kind; 0: none has run */
    double product_rate; /* part of the data sheet's FLOP/s that can be reached */
    name_sums bound, lost;
} comparison;

/* FLOP/s of the units that an op ran on: TF32 that is off is a separate finding. */
static double peak_of(const pyro_finder *finder, const op_time *op)
{
    const pyro_chip *chip = finder->context->chip;
    pyro_dtype dtype = pyro_finder_dtype(finder, op->event);
    if (dtype == PYRO_DTYPE_FLOAT32 && !op->uses_tensor_cores)
        return chip->fp32_tflops * 1e12;
    return pyro_chip_peak_flops_per_s(chip, dtype);
}

static const pyro_op_kind *price_of(const comparison *all, const op_time *op)
{
    const pyro_analysis_context *context = all->finder->context;
    return pyro_context_price(context, context->trace->detail[op->event]);
}

static int64_t *fastest_of(const comparison *all, const op_time *op)
{
    return &all->fastest_ns[price_of(all, op) - all->finder->context->op_kinds];
}

/* The fastest call of ops with the same shapes shows what their kernels need: the others were slowed
 * by something else, such as another process on the device. */
static void find_fastest(comparison *all)
{
    for (size_t i = 0; i < all->ops.count; i++) {
        const op_time *op = &all->ops.items[i];
        int64_t *fastest_ns = fastest_of(all, op);
        if (op->device_ns && (!*fastest_ns || op->device_ns < *fastest_ns))
            *fastest_ns = op->device_ns;
    }
}

/* Adds an op whose work takes these times at the rates of the data sheet; false when memory is out. */
static bool compare_op(comparison *all, const op_time *op, double compute_ns, double memory_ns,
                       int64_t fastest_ns)
{
    pyro_roofline *roofline = &all->finder->roofline;
    uint32_t name = all->finder->context->trace->name[op->event];
    roofline->priced_ns += op->device_ns;
    /* An op that is far from both limits is bound by neither. */
    if (memory_ns > compute_ns && memory_ns * 2 >= (double)op->device_ns) {
        roofline->memory_bound_ns += op->device_ns;
        if (!add_to_name(&all->bound, name, op->device_ns))
            return false;
    }
    if (op->device_ns < LAUNCH_US * 1000)
        return true;
    compute_ns /= all->product_rate;
    memory_ns /= REACHABLE_PERCENT_OF_BANDWIDTH / 100.0;
    double reachable_ns = (compute_ns > memory_ns ? compute_ns : memory_ns) +
                          (double)op->kernels * KERNEL_NS;
    int64_t lost_ns = reachable_ns < (double)fastest_ns ? fastest_ns - (int64_t)reachable_ns : 0;
    roofline->long_ns += op->device_ns;
    roofline->lost_ns += lost_ns;
    if (!op->is_channels_last &&
        strstr(pyro_trace_text(all->finder->context->trace, name), "batch_norm"))
        roofline->norm_lost_ns += lost_ns;
    return !lost_ns || add_to_name(&all->lost, name, lost_ns);
}

/* Compares the device time of each op with the least time that its FLOPs and bytes need. */
static bool compare_with_peaks(comparison *all)
{
    const pyro_analysis_context *context = all->finder->context;
    bool is_kept = true;
    find_fastest(all);
    for (size_t i = 0; i < all->ops.count && is_kept; i++) {
        const op_time *op = &all->ops.items[i];
        if (!op->device_ns)
            continue;
        const pyro_op_kind *price = price_of(all, op);
        is_kept = compare_op(all, op, (double)price->flops / peak_of(all->finder, op) * 1e9,
                             (double)price->bytes / pyro_chip_bytes_per_s(context->chip) * 1e9,
                             *fastest_of(all, op));
    }
    all->finder->roofline.memory_bound_op = all->bound.best;
    all->finder->roofline.lost_op = all->lost.best;
    return is_kept;
}

/* The sum of an op, which begins with its first kernel; NULL when memory is out. */
static op_time *time_of(op_times *ops, const pyro_trace *trace, uint32_t event)
{
    uint32_t *number = &ops->number_of_detail[trace->detail[event]];
    if (!*number) {
        if (!pyro_grow(&ops->items, &ops->capacity, ops->count + 1, sizeof *ops->items))
            return NULL;
        ops->items[ops->count++] = (op_time){0};
        *number = (uint32_t)ops->count;
    }
    return &ops->items[*number - 1];
}

/* Adds up the kernels of each priced op; false when memory is out. */
static bool sum_kernels(pyro_finder *finder, op_times *ops)
{
    const pyro_analysis_context *context = finder->context;
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t op = priced_op(context, finder->kernels[i]);
        if (op == PYRO_NO_EVENT)
            continue;
        op_time *sum = time_of(ops, context->trace, op);
        if (!sum)
            return false;
        sum->device_ns += context->trace->duration_ns[finder->kernels[i]];
        sum->event = op;
        sum->kernels++;
        uint16_t family = pyro_finder_family(finder, finder->kernels[i]);
        sum->uses_tensor_cores |= (family & PYRO_FAMILY_TENSOR_CORE) != 0;
        sum->is_channels_last |= (family & PYRO_FAMILY_CHANNELS_LAST) != 0;
    }
    return true;
}

static int reachable_percent(const pyro_finder *finder)
{
    bool is_amd = !strncmp(finder->context->chip->source, "AMD", 3);
    return is_amd ? REACHABLE_PERCENT_OF_AMD : REACHABLE_PERCENT;
}

const pyro_roofline *pyro_finder_roofline(pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    pyro_roofline *roofline = &finder->roofline;
    if (roofline->is_made || !context->chip)
        return roofline;
    roofline->is_made = true;
    comparison all = {.finder = finder,
                      .product_rate = reachable_percent(finder) / 100.0,
                      .fastest_ns = pyro_arena_array(context->scratch, context->op_kind_count + 1,
                                                     sizeof *all.fastest_ns),
                      .bound = {.best = PYRO_NO_ID},
                      .lost = {.best = PYRO_NO_ID}};
    all.ops.number_of_detail = calloc(context->trace->op_count + 1,
                                      sizeof *all.ops.number_of_detail);
    finder->memory_out |= !all.ops.number_of_detail || !all.fastest_ns ||
                          !sum_kernels(finder, &all.ops) || !compare_with_peaks(&all);
    free(all.ops.number_of_detail);
    free(all.ops.items);
    free_names(&all.bound);
    free_names(&all.lost);
    return roofline;
}

DETECTOR(memory_bound)
{
    const pyro_roofline *roofline = pyro_finder_roofline(finder);
    /* Where most of the time has no price, the rest does not represent the whole. */
    if (share(roofline->priced_ns, finder->device_ns) < 0.5)
        return false;
    const pyro_chip *chip = finder->context->chip;
    evidence->value = share(roofline->memory_bound_ns, roofline->priced_ns);
    evidence->place = pyro_trace_text(finder->context->trace, roofline->memory_bound_op);
    pyro_evidence_say(
        evidence,
        "%.1f%% of the device time of ops with known FLOPs and bytes (%s) is "
        "in ops that use at least half of the bandwidth of the %s (%.0f GB/s), and less of its "
        "FLOP/s",
        evidence->value * 100,
        pyro_evidence_part_of(evidence, roofline->memory_bound_ns, roofline->priced_ns), chip->name,
        chip->bandwidth_gb_per_s);
    return true;
}

DETECTOR(far_from_roofline)
{
    const pyro_roofline *roofline = pyro_finder_roofline(finder);
    if (share(roofline->long_ns, finder->device_ns) < 0.10)
        return false;
    evidence->value = share(roofline->lost_ns, roofline->long_ns);
    evidence->gain_ns = roofline->lost_ns;
    evidence->place = pyro_trace_text(finder->context->trace, roofline->lost_op);
    pyro_evidence_say(
        evidence,
        "ops over %d us take %s on the device; well-tuned kernels, which reach %d%% of the FLOP/s "
        "and %d%% of the bandwidth of the %s, need %.1f%% less",
        LAUNCH_US, pyro_evidence_time(evidence, roofline->long_ns), reachable_percent(finder),
        REACHABLE_PERCENT_OF_BANDWIDTH, finder->context->chip->name, evidence->value * 100);
    return true;
}
