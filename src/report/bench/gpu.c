/* Describes what a GPU did while a benchmark ran, for the text and HTML writers. */
#include "report/bench/bench.h"

#include <math.h>

static void add_power(pyro_buf *buf, const pyro_gpu_record *gpu)
{
    if (isnan(gpu->power_cap_w))
        return;
    pyro_buf_addf(buf, ", power cap %.0f W", gpu->power_cap_w);
    if (gpu->power_default_cap_w > gpu->power_cap_w)
        pyro_buf_addf(buf, " (lowered from %.0f W)", gpu->power_default_cap_w);
    if (!isnan(gpu->power_w))
        pyro_buf_addf(buf, ", at most %.0f W used", gpu->power_w);
}

void pyro_add_gpu_clocks(pyro_buf *buf, const pyro_bench_result *result)
{
    const pyro_gpu_record *gpu = &result->gpu;

    if (isnan(gpu->clock_mhz))
        pyro_buf_adds(buf, "clock unknown");
    else
        pyro_buf_addf(buf, "%.0f MHz (%.0f to %.0f, limit %.0f)", gpu->clock_mhz,
                      gpu->clock_min_mhz, gpu->clock_max_mhz, gpu->clock_limit_mhz);
    if (!isnan(gpu->memory_clock_mhz))
        pyro_buf_addf(buf, ", memory %.0f MHz", gpu->memory_clock_mhz);
    add_power(buf, gpu);
    if (!isnan(gpu->temperature_c))
        pyro_buf_addf(buf, ", %.0f C", gpu->temperature_c);
}

void pyro_add_gpu_throttling(pyro_buf *buf, const pyro_bench_result *result)
{
    const pyro_gpu_record *gpu = &result->gpu;
    char reasons[160];

    pyro_gpu_reasons(reasons, sizeof reasons, (uint64_t)gpu->reasons);
    pyro_buf_addf(buf, "in %lld of %lld samples of the GPU", (long long)gpu->throttled_looks,
                  (long long)gpu->looks);
    if (reasons[0] != '\0')
        pyro_buf_addf(buf, "; clocks were limited by: %s", reasons);
}

void pyro_add_gpu_discarded(pyro_buf *buf, const pyro_bench_result *result)
{
    pyro_buf_addf(buf, "%lld samples taken while the GPU was throttled",
                  (long long)result->discarded);
    if (result->throttled > 0)
        pyro_buf_addf(buf, "; %lld more were kept because hardly any others remain",
                      (long long)result->throttled);
}
