/* Writes the numbers of profiled steps as records of an event file. */
#include <pyrometer/training.h>

#include "trace/trace.h"

#include <math.h>

enum { MOST_VALUES = 16 };
#define MEBIBYTE 1048576.0

typedef struct record {
    pyro_scalar values[MOST_VALUES];
    size_t count;
} record;

static void add(record *to, const char *tag, bool is_known, double value)
{
    to->values[to->count++] = (pyro_scalar){tag, is_known ? (float)value : NAN};
}

static void add_bytes(record *to, const char *tag, int64_t bytes)
{
    add(to, tag, bytes >= 0, (double)bytes / MEBIBYTE);
}

static void fill(record *to, const pyro_training_step *step, bool with_flops,
                 const pyro_step_memory *memory)
{
    static const pyro_step_memory unknown = {-1, -1, -1, -1};
    bool has_rate = with_flops && step->flops_per_s >= 0;
    memory = memory ? memory : &unknown;
    add(to, "step/time_ms", true, (double)step->span_ns / 1e6);
    add(to, "step/forward_ms", true, (double)step->forward_ns / 1e6);
    add(to, "step/backward_ms", true, (double)step->backward_ns / 1e6);
    add(to, "step/optimizer_ms", true, (double)step->optimizer_ns / 1e6);
    add(to, "step/data_ms", true, (double)step->data_ns / 1e6);
    add(to, "step/communication_ms", true, (double)step->communication_ns / 1e6);
    add(to, "step/other_ms", true, (double)step->other_ns / 1e6);
    add(to, "work/flops", with_flops && step->flops >= 0, (double)step->flops);
    add(to, "work/flops_per_s", has_rate, step->flops_per_s);
    add(to, "work/share_of_peak", has_rate && step->peak_flops_per_s > 0,
        step->flops_per_s / step->peak_flops_per_s);
    add_bytes(to, "memory/host_mib", memory->host_bytes);
    add_bytes(to, "memory/device_mib", memory->device_bytes);
    add_bytes(to, "memory/device_peak_mib", memory->device_peak_bytes);
}

int pyro_scalars_add_training(pyro_scalars *scalars, const pyro_trace *trace,
                              const pyro_analysis *analysis, const pyro_training_report *report,
                              const pyro_step_memory *memory, size_t memory_count,
                              pyro_error *error)
{
    int status = PYRO_OK;
    for (size_t i = 0; i < analysis->training_count && status == PYRO_OK; i++) {
        const pyro_training_step *step = &analysis->training[i];
        const pyro_step_memory *found = NULL;
        record one = {.count = 0};
        if (step->number < report->first_step || step->number > report->last_step)
            continue;
        for (size_t k = 0; k < memory_count && !found; k++)
            found = memory[k].step == step->number ? &memory[k] : NULL;
        fill(&one, step, report->with_flops, found);
        double end_s =
            ((double)trace->base_time_ns + (double)step->start_ns + (double)step->span_ns) / 1e9;
        status = pyro_scalars_add(scalars, step->number, end_s, one.values, one.count, error);
    }
    return status;
}
