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
static int64_t capability_of(const pyro_finder *finder, bool *has_matrix_cores)
{
    const pyro_trace *trace = finder->context->trace;
    *has_matrix_cores = false;
    if (!trace->device_count)
        return 0;
    const pyro_device *device = &trace->devices[0];
    const char *name = pyro_trace_text(trace, device->name);
    bool is_amd = strstr(name, "AMD") || strstr(name, "Instinct");
    int64_t capability = is_amd ? 0 : pyro_device_capability(device);
    *has_matrix_cores = strstr(name, "Instinct MI") || capability >= 70;
    return capability;
}

static bool is_half(pyro_dtype dtype)
{
    return dtype != PYRO_DTYPE_UNKNOWN && pyro_dtype_is_floating(dtype) &&
           pyro_dtype_bytes(dtype) <= 2;
}

static void take_longer(const pyro_trace *trace, uint32_t *worst, uint32_t event)
{
    if (*worst == PYRO_NO_EVENT || trace->duration_ns[event] > trace->duration_ns[*worst])
        *worst = event;
}

/* Adds a kernel that runs on plain cores. Where other kernels use TF32, it is on, and this one cannot
 * use it. */
static void add_plain(pyro_products *sums, const pyro_trace *trace, uint32_t event, bool lacks_tf32)
{
    *(lacks_tf32 ? &sums->plain_fp32_ns : &sums->plain_ns) += trace->duration_ns[event];
    take_longer(trace, lacks_tf32 ? &sums->worst_fp32 : &sums->worst, event);
}

/* Fills finder->products on first use. */
static const pyro_products *sum_products(pyro_finder *finder, int64_t capability)
{
    const pyro_trace *trace = finder->context->trace;
    pyro_products *sums = &finder->products;
    if (sums->is_made)
        return sums;
    const bool has_tf32[] = {pyro_finder_uses_tf32(finder, false),
                             pyro_finder_uses_tf32(finder, true)};
    *sums = (pyro_products){.is_made = true,
                            .worst = PYRO_NO_EVENT,
                            .worst_fp32 = PYRO_NO_EVENT,
                            .worst_wide = PYRO_NO_EVENT};
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        uint16_t family = pyro_finder_family(finder, event);
        if (!(family & PYRO_FAMILY_CONTRACTION))
            continue;
        int64_t duration = trace->duration_ns[event];
        pyro_dtype dtype = pyro_finder_dtype(finder, finder->context->joins->op[event]);
        bool is_known = dtype != PYRO_DTYPE_UNKNOWN;
        sums->total_ns += duration;
        sums->known_ns += is_known ? duration : 0;
        sums->half_ns += is_half(dtype) ? duration : 0;
        if (is_known && !is_half(dtype))
            take_longer(trace, &sums->worst_wide, event);
        /* Kernels whose names say nothing, as many of Triton, may well use tensor cores. */
        if (family & PYRO_FAMILY_PLAIN_CORES && dtype != PYRO_DTYPE_FLOAT64)
            add_plain(sums, trace, event,
                      !is_half(dtype) && capability >= 80 &&
                          !has_tf32[(family & PYRO_FAMILY_CONVOLUTION) != 0]);
    }
    return sums;
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
    int64_t capability = capability_of(finder, &has_matrix_cores);
    const pyro_chip *chip = finder->context->chip;
    if (!has_matrix_cores)
        return false;
    const pyro_products *sums = sum_products(finder, capability);
    if (share(sums->total_ns, finder->device_ns) < 0.05)
        return false;
    evidence->value = share(sums->plain_ns, sums->total_ns);
    evidence->gain_ns = saved_by(finder, sums->plain_ns, chip ? chip->fp32_tflops : 0,
                                 chip ? chip->fp16_tflops : 0);
    evidence->place = pyro_finder_kernel_place(finder, evidence, sums->worst);
    pyro_evidence_say(evidence,
                      "%.1f%% of the time in matrix products and convolutions (%s) is in "
                      "kernels that do not use tensor cores",
                      evidence->value * 100,
                      pyro_evidence_part_of(evidence, sums->plain_ns, sums->total_ns));
    return true;
}

DETECTOR(tf32_off)
{
    bool has_matrix_cores;
    int64_t capability = capability_of(finder, &has_matrix_cores);
    const pyro_chip *chip = finder->context->chip;
    if (capability < 80)
        return false;
    const pyro_products *sums = sum_products(finder, capability);
    evidence->value = share(sums->plain_fp32_ns, finder->device_ns);
    evidence->gain_ns = saved_by(finder, sums->plain_fp32_ns, chip ? chip->fp32_tflops : 0,
                                 chip ? chip->tf32_tflops : 0);
    evidence->place = pyro_finder_kernel_place(finder, evidence, sums->worst_fp32);
    pyro_evidence_say(evidence,
                      "%.1f%% of the device time (%s) is in float32 products that do not use TF32, "
                      "on a chip that supports it",
                      evidence->value * 100, pyro_evidence_time(evidence, sums->plain_fp32_ns));
    return true;
}

DETECTOR(full_precision)
{
    bool has_matrix_cores;
    int64_t capability = capability_of(finder, &has_matrix_cores);
    if (!has_matrix_cores)
        return false;
    const pyro_products *sums = sum_products(finder, capability);
    if (share(sums->known_ns, finder->device_ns) < 0.05)
        return false;
    evidence->value = share(sums->known_ns - sums->half_ns, sums->known_ns);
    evidence->gain_ns = (sums->known_ns - sums->half_ns) / 2;
    evidence->place = pyro_finder_kernel_place(finder, evidence, sums->worst_wide);
    pyro_evidence_say(
        evidence, "%.1f%% of the time in matrix products (%s) uses 32 bits or more",
        evidence->value * 100,
        pyro_evidence_part_of(evidence, sums->known_ns - sums->half_ns, sums->known_ns));
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
        uint16_t family = pyro_finder_family(finder, event);
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
    /* The kernels of batch norms for NCHW are slower too. */
    int64_t norms = pyro_finder_roofline(finder)->norm_lost_ns;
    evidence->value = share(layout, layout + convolution);
    evidence->gain_ns = layout + norms;
    evidence->place = pyro_finder_kernel_place(finder, evidence, worst);
    pyro_evidence_say(
        evidence,
        "%" PRId64 " conversion%s between NCHW and NHWC take%s %s, the convolutions themselves %s: "
        "%.1f%% of both%s%s%s",
        calls, PYRO_PLURAL(calls), calls == 1 ? "s" : "", pyro_evidence_time(evidence, layout),
        pyro_evidence_time(evidence, convolution), evidence->value * 100,
        norms ? "; batch norms in NCHW take " : "",
        norms ? pyro_evidence_time(evidence, norms) : "",
        norms ? " more than their bytes need" : "");
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

/* Kernels that run on a part of the chip. */
typedef struct small_kernels {
    int64_t small_ns, unused_ns; /* their time, and that time by the part of the chip that idles */
    int64_t total_ns, calls;
    uint32_t worst; /* the longest */
} small_kernels;

static small_kernels sum_small(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    double chip_blocks = (double)trace->devices[0].multiprocessors;
    small_kernels sums = {.worst = PYRO_NO_EVENT};
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        /* Collectives take few blocks on purpose. */
        if (pyro_context_traits(finder->context, event) & PYRO_TRAIT_COLLECTIVE)
            continue;
        double blocks = blocks_of(trace, event);
        sums.total_ns += trace->duration_ns[event];
        if (blocks <= 0 || blocks >= chip_blocks)
            continue;
        sums.small_ns += trace->duration_ns[event];
        sums.unused_ns += (int64_t)((double)trace->duration_ns[event] * (1 - blocks / chip_blocks));
        sums.calls++;
        take_longer(trace, &sums.worst, event);
    }
    return sums;
}

/* Measures the part of the chip that idles: a product that leaves a few multiprocessors to a
 * collective is not small. */
DETECTOR(small_grids)
{
    const pyro_trace *trace = finder->context->trace;
    /* A kernel whose grid is unknown, as in replayed graphs of AMD, is not small. */
    if (!trace->device_count || trace->devices[0].multiprocessors <= 0)
        return false;
    small_kernels sums = sum_small(finder);
    if (sums.unused_ns < finder->span_ns / 100) /* nobody would notice the gain */
        return false;
    evidence->value = share(sums.unused_ns, sums.total_ns);
    evidence->place = pyro_finder_kernel_place(finder, evidence, sums.worst);
    pyro_evidence_say(
        evidence,
        "%" PRId64 " kernel%s with fewer blocks than the %" PRId64
        " multiprocessors take%s %s; they leave %.1f%% of the chip idle in all of the "
        "kernel time",
        sums.calls, PYRO_PLURAL(sums.calls), trace->devices[0].multiprocessors,
        sums.calls == 1 ? "s" : "", pyro_evidence_time(evidence, sums.small_ns),
        evidence->value * 100);
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
    evidence->place = pyro_finder_kernel_place(finder, evidence, sums.longest.first);
    pyro_evidence_say(evidence,
                      "%" PRId64 " chain%s of %d or more elementwise kernels (%" PRId64
                      " kernels, %s) %s %.1f%% of the device time",
                      sums.chains, PYRO_PLURAL(sums.chains), SHORTEST_CHAIN, sums.kernels,
                      pyro_evidence_time(evidence, sums.total_ns), sums.chains == 1 ? "is" : "are",
                      evidence->value * 100);
    return true;
}
