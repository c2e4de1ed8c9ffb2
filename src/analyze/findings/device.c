/* Detects findings about device compute: precision, sizes, layouts, rooflines, fusion. */
#include "analyze/findings/findings.h"
#include "base/containers/buf.h"
#include "graph/op_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* The compute capability times 10 of the first device, 0 when it is not NVIDIA's; *has_matrix_cores
 * says whether it has dedicated matrix units. */
static int capability_of(const pyro_finder *finder, bool *has_matrix_cores)
{
    const pyro_trace *trace = finder->context->trace;
    *has_matrix_cores = false;
    if (!trace->device_count)
        return 0;
    const pyro_device *device = &trace->devices[0];
    const char *name = pyro_trace_text(trace, device->name);
    bool is_amd = strstr(name, "AMD") || strstr(name, "Instinct");
    int capability = is_amd ? 0 : device->compute_major * 10 + device->compute_minor;
    *has_matrix_cores = strstr(name, "Instinct MI") || capability >= 70;
    return capability;
}

static bool is_half(pyro_dtype dtype)
{
    return dtype != PYRO_DTYPE_UNKNOWN && pyro_dtype_is_floating(dtype) &&
           pyro_dtype_bytes(dtype) <= 2;
}

/* How long matrix products ran, by precision and cores. */
typedef struct products {
    int64_t total_ns, known_ns, half_ns;
    int64_t plain_ns; /* without tensor cores, though the type supports them */
    int64_t plain_fp32_ns;
    uint32_t worst, worst_fp32; /* longest kernels of the two */
} products;

static void take_longer(const pyro_trace *trace, uint32_t *worst, uint32_t event)
{
    if (*worst == PYRO_NO_EVENT || trace->duration_ns[event] > trace->duration_ns[*worst])
        *worst = event;
}

static products sum_products(pyro_finder *finder, int capability)
{
    const pyro_trace *trace = finder->context->trace;
    products sums = {.worst = PYRO_NO_EVENT, .worst_fp32 = PYRO_NO_EVENT};
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        uint8_t family = pyro_finder_family(finder, event);
        if (!(family & PYRO_FAMILY_CONTRACTION))
            continue;
        int64_t duration = trace->duration_ns[event];
        pyro_dtype dtype = pyro_finder_dtype(finder, finder->context->joins->op[event]);
        sums.total_ns += duration;
        sums.known_ns += dtype != PYRO_DTYPE_UNKNOWN ? duration : 0;
        sums.half_ns += is_half(dtype) ? duration : 0;
        if (family & PYRO_FAMILY_TENSOR_CORE || dtype == PYRO_DTYPE_FLOAT64)
            continue;
        if (dtype == PYRO_DTYPE_FLOAT32 && capability >= 80) {
            sums.plain_fp32_ns += duration;
            take_longer(trace, &sums.worst_fp32, event);
        } else {
            sums.plain_ns += duration;
            take_longer(trace, &sums.worst, event);
        }
    }
    return sums;
}

static const char *place_of(const pyro_finder *finder, uint32_t event)
{
    if (event == PYRO_NO_EVENT)
        return "";
    return pyro_first_text(pyro_context_layer(finder->context, event),
                           pyro_context_op(finder->context, event),
                           pyro_event_name(finder->context->trace, event));
}

/* Time that faster units save, by the ratio of the peaks; -1 unknown. */
static int64_t saved_by(const pyro_finder *finder, int64_t ns, double from_tflops, double to_tflops)
{
    if (!finder->context->chip || to_tflops <= from_tflops || from_tflops <= 0)
        return -1;
    return (int64_t)((double)ns * (1 - from_tflops / to_tflops));
}

DETECTOR(no_tensor_cores)
{
    bool has_matrix_cores;
    int capability = capability_of(finder, &has_matrix_cores);
    const pyro_chip *chip = finder->context->chip;
    if (!has_matrix_cores)
        return false;
    products sums = sum_products(finder, capability);
    if (share(sums.total_ns, finder->device_ns) < 0.05)
        return false;
    evidence->value = share(sums.plain_ns, sums.total_ns);
    evidence->gain_ns = saved_by(finder, sums.plain_ns, chip ? chip->fp32_tflops : 0,
                                 chip ? chip->fp16_tflops : 0);
    evidence->place = place_of(finder, sums.worst);
    pyro_evidence_say(evidence,
                      "%.1f%% of the time in matrix products and convolutions (%s) is in "
                      "kernels that do not use tensor cores",
                      evidence->value * 100,
                      pyro_evidence_part_of(evidence, sums.plain_ns, sums.total_ns));
    return true;
}

DETECTOR(tf32_off)
{
    bool has_matrix_cores;
    int capability = capability_of(finder, &has_matrix_cores);
    const pyro_chip *chip = finder->context->chip;
    if (capability < 80)
        return false;
    products sums = sum_products(finder, capability);
    evidence->value = share(sums.plain_fp32_ns, finder->device_ns);
    evidence->gain_ns = saved_by(finder, sums.plain_fp32_ns, chip ? chip->fp32_tflops : 0,
                                 chip ? chip->tf32_tflops : 0);
    evidence->place = place_of(finder, sums.worst_fp32);
    pyro_evidence_say(evidence,
                      "%.1f%% of the device time (%s) is in float32 products that do not use TF32, "
                      "on a chip that supports it",
                      evidence->value * 100, pyro_evidence_time(evidence, sums.plain_fp32_ns));
    return true;
}

DETECTOR(full_precision)
{
    bool has_matrix_cores;
    int capability = capability_of(finder, &has_matrix_cores);
    if (!has_matrix_cores)
        return false;
    products sums = sum_products(finder, capability);
    if (share(sums.known_ns, finder->device_ns) < 0.05)
        return false;
    evidence->value = share(sums.known_ns - sums.half_ns, sums.known_ns);
    evidence->gain_ns = (sums.known_ns - sums.half_ns) / 2;
    pyro_evidence_say(evidence, "%.1f%% of the time in matrix products (%s) uses 32 bits or more",
                      evidence->value * 100,
                      pyro_evidence_part_of(evidence, sums.known_ns - sums.half_ns, sums.known_ns));
    return evidence->value > evidence->threshold;
}

/* By the op, or by the kernel's own name where the op is not in the trace or in ops.def. */
static bool is_convolution(pyro_finder *finder, uint32_t event)
{
    unsigned groups = pyro_finder_groups(finder, finder->context->joins->op[event]);
    if (groups)
        return groups & PYRO_GROUP_CONVOLUTION;
    return pyro_finder_family(finder, event) & PYRO_FAMILY_CONVOLUTION;
}

DETECTOR(layout_conversions)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t layout = 0, convolution = 0, calls = 0;
    uint32_t worst = PYRO_NO_EVENT;
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        uint8_t family = pyro_finder_family(finder, event);
        if (family & PYRO_FAMILY_LAYOUT) {
            layout += trace->duration_ns[event];
            calls++;
            take_longer(trace, &worst, event);
        } else if (family & PYRO_FAMILY_CONTRACTION && is_convolution(finder, event)) {
            convolution += trace->duration_ns[event];
        }
    }
    if (!calls)
        return false;
    evidence->value = share(layout, layout + convolution);
    evidence->gain_ns = layout;
    evidence->place = place_of(finder, worst);
    pyro_evidence_say(
        evidence,
        "%" PRId64 " conversion%s between NCHW and NHWC take%s %s, the convolutions themselves %s: "
        "%.1f%% of both",
        calls, PYRO_PLURAL(calls), calls == 1 ? "s" : "", pyro_evidence_time(evidence, layout),
        pyro_evidence_time(evidence, convolution), evidence->value * 100);
    return true;
}

/* 0: unknown. */
static double blocks_of(const pyro_trace *trace, uint32_t event)
{
    if (trace->detail[event] == PYRO_NO_ID)
        return 0;
    const pyro_kernel_detail *kernel = &trace->kernels[trace->detail[event]];
    return (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
}

DETECTOR(small_grids)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t small = 0, total = 0, calls = 0;
    uint32_t worst = PYRO_NO_EVENT;
    /* A kernel whose grid is unknown, as in replayed graphs of AMD, is not small. */
    if (!trace->device_count || trace->devices[0].multiprocessors <= 0)
        return false;
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        /* Collectives take few blocks on purpose. */
        if (pyro_context_traits(finder->context, event) & PYRO_TRAIT_COLLECTIVE)
            continue;
        double blocks = blocks_of(trace, event);
        total += trace->duration_ns[event];
        if (blocks <= 0 || blocks >= (double)trace->devices[0].multiprocessors)
            continue;
        small += trace->duration_ns[event];
        calls++;
        take_longer(trace, &worst, event);
    }
    if (small < finder->span_ns / 100) /* nobody would notice the gain */
        return false;
    evidence->value = share(small, total);
    evidence->place = place_of(finder, worst);
    pyro_evidence_say(evidence,
                      "%.1f%% of the kernel time (%s, %" PRId64
                      " kernel%s) is in grids with fewer blocks than the %" PRId64
                      " multiprocessors",
                      evidence->value * 100, pyro_evidence_time(evidence, small), calls,
                      calls == 1 ? "" : "s", trace->devices[0].multiprocessors);
    return calls > 0;
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

/* Shorter ops on the device are mostly launch overhead. */
enum { LAUNCH_US = 20 };

/* Device time of a priced op. */
typedef struct op_time {
    int64_t device_ns;
    uint32_t event;
    bool uses_tensor_cores;
} op_time;

/* FLOP/s of the units that an op ran on: TF32 that is off is a separate finding. */
static double peak_of(const pyro_finder *finder, const op_time *op)
{
    const pyro_chip *chip = finder->context->chip;
    pyro_dtype dtype = pyro_finder_dtype(finder, op->event);
    if (dtype == PYRO_DTYPE_FLOAT32 && !op->uses_tensor_cores)
        return chip->fp32_tflops * 1e12;
    return pyro_chip_peak_flops_per_s(chip, dtype);
}

/* Compares the device time of each op with the least time that its FLOPs and bytes need. */
static bool compare_with_peaks(pyro_finder *finder, const op_time *ops, name_sums *bound,
                               name_sums *lost)
{
    pyro_analysis_context *context = finder->context;
    pyro_roofline *roofline = &finder->roofline;
    bool is_kept = true;
    for (size_t d = 0; d < context->trace->op_count && is_kept; d++) {
        int64_t device_ns = ops[d].device_ns;
        if (!device_ns)
            continue;
        uint32_t name = context->trace->name[ops[d].event];
        const pyro_op_kind *price = pyro_context_price(context, (uint32_t)d);
        double compute_ns = (double)price->flops / peak_of(finder, &ops[d]) * 1e9;
        double memory_ns = (double)price->bytes / pyro_chip_bytes_per_s(context->chip) * 1e9;
        double least_ns = compute_ns > memory_ns ? compute_ns : memory_ns;
        roofline->priced_ns += device_ns;
        /* An op that is far from both limits is bound by neither. */
        if (memory_ns > compute_ns && memory_ns * 2 >= (double)device_ns) {
            roofline->memory_bound_ns += device_ns;
            is_kept = add_to_name(bound, name, device_ns);
        }
        if (device_ns < LAUNCH_US * 1000)
            continue;
        roofline->long_ns += device_ns;
        if ((double)device_ns > least_ns) {
            roofline->lost_ns += device_ns - (int64_t)least_ns;
            is_kept = is_kept && add_to_name(lost, name, device_ns - (int64_t)least_ns);
        }
    }
    roofline->memory_bound_op = bound->best;
    roofline->lost_op = lost->best;
    return is_kept;
}

static const pyro_roofline *make_roofline(pyro_finder *finder)
{
    pyro_analysis_context *context = finder->context;
    pyro_roofline *roofline = &finder->roofline;
    if (roofline->is_made || !context->chip)
        return roofline;
    roofline->is_made = true;
    op_time *ops = calloc(context->trace->op_count + 1, sizeof *ops);
    name_sums bound = {.best = PYRO_NO_ID}, lost = {.best = PYRO_NO_ID};
    finder->memory_out |= !ops;
    for (size_t i = 0; !finder->memory_out && i < finder->kernel_count; i++) {
        uint32_t op = priced_op(context, finder->kernels[i]);
        if (op == PYRO_NO_EVENT)
            continue;
        op_time *sum = &ops[context->trace->detail[op]];
        sum->device_ns += context->trace->duration_ns[finder->kernels[i]];
        sum->event = op;
        sum->uses_tensor_cores |= (pyro_finder_family(finder, finder->kernels[i]) &
                                   PYRO_FAMILY_TENSOR_CORE) != 0;
    }
    if (!finder->memory_out)
        finder->memory_out = !compare_with_peaks(finder, ops, &bound, &lost);
    free(ops);
    free_names(&bound);
    free_names(&lost);
    return roofline;
}

bool pyro_detector_needs_roofline(pyro_detector detector)
{
    return detector == pyro_detect_memory_bound || detector == pyro_detect_far_from_roofline;
}

DETECTOR(memory_bound)
{
    const pyro_roofline *roofline = make_roofline(finder);
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

/* Percent of the data sheet's rates that well-tuned kernels reach: on an H200 large bf16 products run
 * at 65%, copies at 85% (pyrometer doctor --calibrate). */
enum { REACHABLE_PERCENT = 70 };

DETECTOR(far_from_roofline)
{
    const pyro_roofline *roofline = make_roofline(finder);
    if (share(roofline->long_ns, finder->device_ns) < 0.10)
        return false;
    int64_t reachable_ns = (roofline->long_ns - roofline->lost_ns) / REACHABLE_PERCENT * 100;
    evidence->value = share(roofline->lost_ns, roofline->long_ns);
    evidence->gain_ns = roofline->long_ns > reachable_ns ? roofline->long_ns - reachable_ns : 0;
    evidence->place = pyro_trace_text(finder->context->trace, roofline->lost_op);
    pyro_evidence_say(
        evidence,
        "ops over %d us take %s on the device; the %s needs %s for their FLOPs "
        "and bytes, so %.1f%% is lost; the gain counts %d%% of its rates as reachable",
        LAUNCH_US, pyro_evidence_time(evidence, roofline->long_ns), finder->context->chip->name,
        pyro_evidence_time(evidence, roofline->long_ns - roofline->lost_ns), evidence->value * 100,
        REACHABLE_PERCENT);
    return true;
}

enum { SHORTEST_CHAIN = 3 };

/* Elementwise kernels that follow each other on one stream. */
typedef struct chain {
    int64_t total_ns, longest_ns;
    uint32_t count, first;
} chain;

typedef struct chain_sums {
    int64_t total_ns, gain_ns, chains, kernels;
    chain longest;
} chain_sums;

static void end_chain(chain_sums *sums, chain *open)
{
    if (open->count >= SHORTEST_CHAIN) {
        sums->total_ns += open->total_ns;
        sums->gain_ns += open->total_ns - open->longest_ns;
        sums->kernels += open->count;
        sums->chains++;
        if (open->total_ns > sums->longest.total_ns)
            sums->longest = *open;
    }
    *open = (chain){0};
}

DETECTOR(fusible_chains)
{
    const pyro_trace *trace = finder->context->trace;
    chain *open = pyro_arena_array(finder->context->scratch, trace->track_count + 1, sizeof *open);
    chain_sums sums = {0};
    finder->memory_out |= !open;
    for (size_t i = 0; open && i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        chain *here = &open[trace->track[event]];
        int64_t duration = trace->duration_ns[event];
        /* Optimizers have fused variants, and a separate finding. */
        if (!(pyro_finder_family(finder, event) & PYRO_FAMILY_ELEMENTWISE) ||
            finder->context->joins->phase[event] == PYRO_PHASE_OPTIMIZER) {
            end_chain(&sums, here);
            continue;
        }
        if (!here->count++)
            here->first = event;
        here->total_ns += duration;
        here->longest_ns = duration > here->longest_ns ? duration : here->longest_ns;
    }
    for (size_t t = 0; open && t < trace->track_count; t++)
        end_chain(&sums, &open[t]);
    if (!sums.chains)
        return false;
    evidence->value = share(sums.total_ns, finder->device_ns);
    evidence->gain_ns = sums.gain_ns;
    evidence->place = place_of(finder, sums.longest.first);
    pyro_evidence_say(evidence,
                      "%" PRId64 " chain%s of %d or more elementwise kernels (%" PRId64
                      " kernels, %s) %s %.1f%% of the device time",
                      sums.chains, PYRO_PLURAL(sums.chains), SHORTEST_CHAIN, sums.kernels,
                      pyro_evidence_time(evidence, sums.total_ns), sums.chains == 1 ? "is" : "are",
                      evidence->value * 100);
    return true;
}
