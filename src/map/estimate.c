/*
 * Estimates one run of work on a chip: from learnt rows, else from measured kernels, else from
 * measured rates or the data sheet with the shares of them that kernels usually reach.
 */
#include "map/internal.h"

#include "predict/kernel_model.h"
#include "predict/peaks.h"

#include <math.h>
#include <string.h>

/* Of a normal distribution, 80% lies within this many standard deviations. */
#define RANGE_80 1.2816
/* What a kernel takes on a GPU at least. */
#define LEAST_KERNEL_NS 2500.0
/* Winograd's algorithm multiplies this much less for 3x3 filters (tiles of 4x4). */
#define WINOGRAD 4.0

/* Shares of a data sheet's peaks that kernels usually reach. */
static const struct {
    double compute, memory;
} usual_shares[PYRO_WORK_KIND_COUNT] = {
    [PYRO_WORK_GEMM] = {0.65, 0.7},
    [PYRO_WORK_GEMV] = {0.5, 0.7},
    [PYRO_WORK_CONV] = {0.45, 0.6},
    [PYRO_WORK_ATTENTION] = {0.4, 0.6},
    [PYRO_WORK_ELEMENTWISE] = {0.5, 0.75},
    [PYRO_WORK_REDUCTION] = {0.5, 0.5},
    [PYRO_WORK_NORM] = {0.5, 0.5},
    [PYRO_WORK_SOFTMAX] = {0.5, 0.7},
    [PYRO_WORK_EMBEDDING] = {0.5, 0.4},
    [PYRO_WORK_COPY] = {0.5, 0.7},
    [PYRO_WORK_OTHER] = {0.3, 0.5},
    [PYRO_WORK_CONV_BACKWARD] = {0.35, 0.5},
    [PYRO_WORK_ATTENTION_BACKWARD] = {0.3, 0.5},
};

/* log spread of estimates without any measurement of such work. */
#define SHEET_SPREAD 0.5
#define RATES_SPREAD 0.35

static double peak_of(const pyro_mapped_chip *chip, const struct pyro_op_work *work)
{
    int dtype = pyro_efficiency_dtype(work->dtype);
    return dtype < 0 ? chip->chip.fp32_tflops * 1e12 : pyro_peak_of_type(&chip->chip, dtype);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* No run is faster: FLOPs at the peak, and the bytes that the last cache cannot hold. */
static double least_of(const pyro_mapped_chip *chip, const struct pyro_op_work *work)
{
    double peak = peak_of(chip, work), bandwidth = pyro_chip_bytes_per_s(&chip->chip);
    double flops = (double)work->flops;
    double bytes = larger(0, (double)work->bytes - (double)chip->chip.cache_bytes);
    if (strncmp(work->kind, "conv", 4) == 0 && work->k % 9 == 0)
        flops /= WINOGRAD;
    return 1e9 * larger(peak > 0 ? flops / peak : 0, bandwidth > 0 ? bytes / bandwidth : 0);
}

/* Compute or memory, by which of them takes longer at the peak. */
static pyro_map_bound side_of(const pyro_mapped_chip *chip, const struct pyro_op_work *work)
{
    double peak = peak_of(chip, work), bandwidth = pyro_chip_bytes_per_s(&chip->chip);
    if (peak <= 0 || bandwidth <= 0)
        return PYRO_MAP_MEMORY;
    return (double)work->flops / peak > (double)work->bytes / bandwidth ? PYRO_MAP_COMPUTE
                                                                        : PYRO_MAP_MEMORY;
}

static bool from_table(const pyro_efficiency_table *table, const pyro_mapped_chip *chip,
                       const struct pyro_op_work *work, pyro_map_estimate *out)
{
    struct pyro_efficiency found;
    if (!table || !chip->key[0] || !pyro_efficiency_find(table, work, chip->key, &found))
        return false;
    out->time_ns = found.time_ns;
    out->spread = log(found.high) / RANGE_80;
    out->bound = found.overhead_ns > 0.5 * found.time_ns ? PYRO_MAP_LAUNCH : side_of(chip, work);
    return true;
}

/* The measured bytes per second of a kind of work; that of a copy where it was not measured. */
static double measured_bytes_per_s(const pyro_rates *rates, pyro_work_kind kind)
{
    double rate = 0;
    if (kind == PYRO_WORK_GEMV)
        rate = rates->gemv_bytes_per_s;
    else if (kind == PYRO_WORK_ELEMENTWISE)
        rate = rates->elementwise_bytes_per_s;
    else if (kind == PYRO_WORK_REDUCTION || kind == PYRO_WORK_NORM)
        rate = rates->reduction_bytes_per_s;
    return rate > 0 ? rate : rates->bytes_per_s;
}

static void from_rates(const pyro_mapped_chip *chip, const struct pyro_op_work *work,
                       pyro_map_estimate *out)
{
    pyro_work_kind kind = pyro_work_kind_from_name(work->kind);
    const pyro_rates *rates = &chip->rates;
    bool is_measured = rates->bytes_per_s > 0;
    double peak = peak_of(chip, work), bandwidth = pyro_chip_bytes_per_s(&chip->chip);
    double compute_share = is_measured ? 0.8 : usual_shares[kind].compute;
    double memory_share = is_measured ? 1 : usual_shares[kind].memory;

    if (is_measured)
        bandwidth = measured_bytes_per_s(rates, kind);
    if (kind == PYRO_WORK_ATTENTION && rates->attention_flops_per_s > 0)
        peak = fmin(peak > 0 ? peak : INFINITY, rates->attention_flops_per_s);
    double compute = peak > 0 ? 1e9 * (double)work->flops / (peak * compute_share) : 0;
    double memory = bandwidth > 0 ? 1e9 * (double)work->bytes / (bandwidth * memory_share) : 0;
    double overhead = chip->is_host ? rates->launch_ns : LEAST_KERNEL_NS;
    int dtype = pyro_efficiency_dtype(work->dtype);
    if (!chip->is_host && dtype >= 0 && !is_measured) {
        pyro_kernel_work kernel = pyro_kernel_of_work(work, kind, dtype);
        compute = pyro_arithmetic_ns(&chip->chip, &kernel, compute_share);
    }
    double busy = larger(compute, memory);
    out->time_ns = busy + overhead;
    out->spread = is_measured ? RATES_SPREAD : SHEET_SPREAD;
    out->bound = overhead > busy ? PYRO_MAP_LAUNCH : side_of(chip, work);
    out->origin = is_measured ? PYRO_MAP_CALIBRATED : PYRO_MAP_DATA_SHEET;
}

pyro_map_estimate pyro_map_estimate_work(const pyro_mapper *mapper, const pyro_mapped_chip *chip,
                                         const struct pyro_op_work *work)
{
    pyro_map_estimate out = {.origin = PYRO_MAP_LEARNT};
    if (!from_table(mapper->learnt, chip, work, &out)) {
        out.origin = PYRO_MAP_CALIBRATED;
        if (!from_table(mapper->calibrated, chip, work, &out))
            from_rates(chip, work, &out);
    }
    out.least_ns = fmin(least_of(chip, work), out.time_ns);
    return out;
}
