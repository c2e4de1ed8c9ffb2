/* Times of kernels from FLOPs, bytes and the depth of products. */
#include "predict/kernel_model.h"

#include "hardware/hardware.h"
#include "predict/peaks.h"

#include <math.h>

/* Overhead and usual shares of peaks; a processor gets common figures. */
#define OVERHEAD_NS 2500.0
#define COMPUTE_SHARE 0.6
#define MEMORY_SHARE 0.7
#define PROCESSOR_OVERHEAD_NS 1000.0
#define PROCESSOR_FLOPS_PER_S 1e11
#define PROCESSOR_BYTES_PER_S 1e10
/* float32 TFLOP/s of the plain cores of one multiprocessor, about: gives their number. */
#define TFLOPS_PER_MULTIPROCESSOR 0.5
/* Values of the result in the smallest tile that a multiprocessor computes well. */
#define TILE (64.0 * 64.0)

static bool has_tiles(pyro_work_kind kind)
{
    return kind == PYRO_WORK_GEMM || kind == PYRO_WORK_CONV || kind == PYRO_WORK_CONV_BACKWARD;
}

double pyro_wave_ns(const pyro_chip *chip, pyro_work_kind kind, int dtype, double depth)
{
    double peak = pyro_peak_of_type(chip, dtype);
    double multiprocessors = fmax(chip->fp32_tflops / TFLOPS_PER_MULTIPROCESSOR, 1);
    if (!has_tiles(kind) || peak <= 0)
        return 0;
    return 1e9 * 2 * depth * multiprocessors * TILE / peak;
}

double pyro_kernel_model_ns(const pyro_chip *chip, pyro_work_kind kind, int dtype, double flops,
                            double bytes, double depth)
{
    double peak = chip ? pyro_peak_of_type(chip, dtype) : PROCESSOR_FLOPS_PER_S;
    double bandwidth = chip ? pyro_chip_bytes_per_s(chip) : PROCESSOR_BYTES_PER_S;
    double compute = peak > 0 ? 1e9 * flops / (peak * COMPUTE_SHARE) : 0;
    double memory = bandwidth > 0 ? 1e9 * bytes / (bandwidth * MEMORY_SHARE) : 0;
    if (!chip)
        return PROCESSOR_OVERHEAD_NS + fmax(compute, memory);
    return OVERHEAD_NS + fmax(compute + pyro_wave_ns(chip, kind, dtype, depth), memory);
}
