/* Peak rates that work is compared with: measured ones where a file of them has the device, else
 * those of its data sheet. */
#include "analyze/analyze.h"
#include "hardware/hardware.h"

#include <string.h>

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

/* The measured rate of matrix products of a type; 0 when not measured. */
static double measured_peak(const pyro_rates *rates, pyro_dtype dtype, bool uses_tf32)
{
    switch (dtype) {
    case PYRO_DTYPE_FLOAT64:
    case PYRO_DTYPE_COMPLEX128:
        return rates->float64_flops_per_s;
    case PYRO_DTYPE_FLOAT32:
    case PYRO_DTYPE_COMPLEX64:
        return uses_tf32 ? max_of(rates->tf32_flops_per_s, rates->float32_flops_per_s)
                         : rates->float32_flops_per_s;
    case PYRO_DTYPE_FLOAT16:
        return rates->float16_flops_per_s;
    case PYRO_DTYPE_BFLOAT16:
        return rates->bfloat16_flops_per_s;
    case PYRO_DTYPE_FLOAT8_E4M3FN:
    case PYRO_DTYPE_FLOAT8_E5M2:
    case PYRO_DTYPE_FLOAT8_E4M3FNUZ:
    case PYRO_DTYPE_FLOAT8_E5M2FNUZ:
        return rates->float8_flops_per_s;
    case PYRO_DTYPE_INT8:
    case PYRO_DTYPE_UINT8:
        return rates->int8_ops_per_s;
    default:
        return 0;
    }
}

/* Some contraction of the trace ran in TF32. */
static bool has_tf32(const pyro_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->category[i] == PYRO_EVENT_KERNEL && strstr(pyro_event_name(trace, i), "tf32"))
            return true;
    return false;
}

void pyro_context_find_peaks(pyro_analysis_context *context)
{
    const pyro_peaks *peaks = context->options->peaks;
    pyro_analysis *result = context->result;
    bool on_device = pyro_context_on_device(context);
    context->device_rates = pyro_peaks_find(peaks, result->device_name);
    context->uses_tf32 = context->device_rates && has_tf32(context->trace);
    bool is_measured = on_device ? context->device_rates != NULL
                                 : peaks && peaks->host.bytes_per_s > 0;
    result->peaks_from = is_measured ? "measured" : on_device && context->chip ? "data sheet" : "";
    /* The options need not outlive the analysis. */
    const char *date = is_measured ? pyro_arena_text(context->arena, peaks->measured,
                                                     strlen(peaks->measured))
                                   : NULL;
    result->peaks_measured = date ? date : "";
}

double pyro_context_peak(const pyro_analysis_context *context, bool on_device, uint8_t dtype)
{
    const pyro_peaks *peaks = context->options->peaks;
    if (on_device)
        return context->chip ? pyro_chip_peak_flops_per_s(context->chip, (pyro_dtype)dtype) : 0;
    return peaks ? measured_peak(&peaks->host, (pyro_dtype)dtype, false) : 0;
}

double pyro_context_reach(const pyro_analysis_context *context, bool on_device, uint8_t dtype)
{
    if (on_device && context->device_rates)
        return measured_peak(context->device_rates, (pyro_dtype)dtype, context->uses_tf32);
    return pyro_context_peak(context, on_device, dtype);
}

double pyro_context_bytes_reach(const pyro_analysis_context *context, bool on_device)
{
    const pyro_rates *rates = on_device                 ? context->device_rates
                              : context->options->peaks ? &context->options->peaks->host
                                                        : NULL;
    if (!rates)
        return on_device && context->chip ? pyro_chip_bytes_per_s(context->chip) : 0;
    double streaming = max_of(rates->elementwise_bytes_per_s, rates->reduction_bytes_per_s);
    return max_of(max_of(rates->bytes_per_s, rates->gemv_bytes_per_s), streaming);
}

double pyro_context_bandwidth(const pyro_analysis_context *context, bool on_device)
{
    if (on_device)
        return context->chip ? pyro_chip_bytes_per_s(context->chip) : 0;
    return pyro_context_bytes_reach(context, false);
}

double pyro_context_least_ns(const pyro_analysis_context *context, bool on_device, uint8_t dtype,
                             int64_t flops, int64_t bytes)
{
    double peak = pyro_context_peak(context, on_device, dtype);
    double bandwidth = pyro_context_bandwidth(context, on_device);
    double compute_s = peak > 0 && flops > 0 ? (double)flops / peak : 0;
    double memory_s = bandwidth > 0 && bytes > 0 ? (double)bytes / bandwidth : 0;
    return peak > 0 || bandwidth > 0 ? 1e9 * max_of(compute_s, memory_s) : -1;
}
