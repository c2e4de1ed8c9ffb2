/* Times of kernels from FLOPs, bytes, and the sizes of products and rows. */
#include "predict/kernel_model.h"

#include "hardware/hardware.h"
#include "predict/peaks.h"

#include <math.h>

/* Overhead and usual shares of peaks; a processor gets common figures. */
#define OVERHEAD_NS 2500.0
#define COMPUTE_SHARE 0.7
#define MEMORY_SHARE 0.7
#define PROCESSOR_OVERHEAD_NS 1000.0
#define PROCESSOR_COMPUTE_SHARE 0.6
#define PROCESSOR_FLOPS_PER_S 1e11
#define PROCESSOR_BYTES_PER_S 1e10
/* float32 TFLOP/s of the plain cores of one multiprocessor, about: gives their number. */
#define TFLOPS_PER_MULTIPROCESSOR 0.5
/* What a tile takes beside its arithmetic: loads before the loop, the result behind it. */
#define TILE_NS 300.0
/* Values of logarithms are rounded: a size a little above a multiple is the multiple. */
#define ROUNDING 0.998
/* Queries of a block of attention, and the share of the arithmetic between softmax and loads. */
#define BLOCK_QUERIES 64.0
#define ATTENTION_SHARE 0.3

/* Norms: a block of threads takes a row, so many nanoseconds for it at least; it sums so many
 * elements per nanosecond, and a multiprocessor has so many blocks at once. */
#define ROW_NS 130.0
#define ELEMENTS_PER_NS 3.0
#define BLOCKS 4.0
/* Convolutions of groups: what a multiprocessor needs per byte of the result. */
#define GROUPED_NS_PER_BYTE 0.65

pyro_kernel_work pyro_kernel_of_work(const struct pyro_op_work *work, pyro_work_kind kind,
                                     int dtype)
{
    return (pyro_kernel_work){.kind = kind,
                              .form = (pyro_work_form)work->form,
                              .dtype = dtype,
                              .flops = (double)work->flops,
                              .bytes = (double)work->bytes,
                              .m = (double)work->m,
                              .n = (double)work->n,
                              .k = (double)work->k,
                              .parts = work->parts > 1 ? (double)work->parts : 1};
}

/* How much of the forward's arithmetic it has: gradients of a convolution are two products, those of
 * attention five instead of two. */
static double passes_of(pyro_work_kind kind)
{
    return kind == PYRO_WORK_CONV_BACKWARD ? 2 : kind == PYRO_WORK_ATTENTION_BACKWARD ? 2.5 : 1;
}

/* Groups of channels have kernels of their own, which move data more than they multiply. */
static bool has_tiles(const pyro_kernel_work *work)
{
    pyro_work_kind kind = pyro_work_kind_of_forward(work->kind);
    return (kind == PYRO_WORK_GEMM || kind == PYRO_WORK_GEMV || kind == PYRO_WORK_CONV) &&
           work->form != PYRO_FORM_GROUPED && work->m > 0 && work->n > 0 && work->k > 0;
}

static double pieces(double size, double piece)
{
    return fmax(ceil(size / piece * ROUNDING), 1);
}

/* The fastest of some sizes of tiles, and of cuts of the sums. */
static double product_ns(const pyro_kernel_work *work, double flops_per_ns, double processors)
{
    static const double tiles[][2] = {{256, 128}, {128, 128}, {128, 64}, {64, 64},
                                      {64, 32},   {32, 32},   {16, 16}};
    double best = INFINITY, parts = fmax(work->parts, 1);
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        double count = parts * pieces(work->m / parts, tiles[i][0]) * pieces(work->n, tiles[i][1]);
        for (double cuts = 1; cuts <= 32; cuts *= 2) {
            double each = 2 * tiles[i][0] * tiles[i][1] * pieces(work->k, cuts) * processors;
            best = fmin(best, pieces(count * cuts, processors) * (each / flops_per_ns + TILE_NS));
        }
    }
    return best;
}

static double attention_ns(const pyro_kernel_work *work, double flops_per_ns, double processors)
{
    double parts = fmax(work->parts, 1);
    double blocks = parts * pieces(work->m / parts, BLOCK_QUERIES);
    double each = 4 * BLOCK_QUERIES * work->n * work->k * processors;
    return pieces(blocks, processors) * each / (flops_per_ns * ATTENTION_SHARE);
}

/* Few long rows leave multiprocessors idle; many short ones wait for their turn. */
static double rows_ns(const pyro_kernel_work *work, double processors)
{
    bool is_long = work->form == PYRO_FORM_STATISTICS ||
                   work->form == PYRO_FORM_STATISTICS_GRADIENT;
    return is_long ? pieces(work->m, BLOCKS * processors) * work->n / ELEMENTS_PER_NS
                   : work->m * ROW_NS / processors;
}

static double grouped_ns(const pyro_kernel_work *work, double processors)
{
    double width = work->dtype == PYRO_DTYPE_TF32 ? 4 : pyro_dtype_bytes((pyro_dtype)work->dtype);
    return work->m * work->n * GROUPED_NS_PER_BYTE * width / processors * passes_of(work->kind);
}

double pyro_arithmetic_ns(const pyro_chip *chip, const pyro_kernel_work *work, double share)
{
    double flops_per_ns = pyro_peak_of_type(chip, work->dtype) / 1e9 * share;
    double processors = fmax(round(chip->fp32_tflops / TFLOPS_PER_MULTIPROCESSOR), 1);
    if (flops_per_ns <= 0)
        return 0;
    if (has_tiles(work))
        return passes_of(work->kind) * product_ns(work, flops_per_ns, processors);
    if (pyro_work_kind_of_forward(work->kind) == PYRO_WORK_ATTENTION && work->m > 0)
        return passes_of(work->kind) * attention_ns(work, flops_per_ns, processors);
    double least = work->kind == PYRO_WORK_NORM      ? rows_ns(work, processors)
                   : work->form == PYRO_FORM_GROUPED ? grouped_ns(work, processors)
                                                     : 0;
    return fmax(work->flops / flops_per_ns, least);
}

double pyro_kernel_model_ns(const pyro_chip *chip, const pyro_kernel_work *work)
{
    if (!chip)
        return PROCESSOR_OVERHEAD_NS +
               1e9 * fmax(work->flops / (PROCESSOR_FLOPS_PER_S * PROCESSOR_COMPUTE_SHARE),
                          work->bytes / (PROCESSOR_BYTES_PER_S * MEMORY_SHARE));
    double bandwidth = pyro_chip_bytes_per_s(chip);
    double memory = bandwidth > 0 ? 1e9 * work->bytes / (bandwidth * MEMORY_SHARE) : 0;
    return OVERHEAD_NS + fmax(pyro_arithmetic_ns(chip, work, COMPUTE_SHARE), memory);
}
