/* Gives every stretch of device work, or of ops on the host, to the outermost wanted op around it. */
#include "predict/owned_times.h"

#include "analyze/device/kernel_names.h"
#include "analyze/host/own_work.h"

#include <stdlib.h>
#include <string.h>

/* What recording one nested op adds to the time of the op around it, on a usual host. */
enum { RECORDING_NS = 1500 };

bool pyro_wants_prediction(const pyro_analysis_context *context, uint32_t event)
{
    static const char block[] = "aten::_native_multi_head_attention";
    return pyro_has_work(context, event) &&
           strcmp(pyro_event_name(context->trace, event), block) != 0;
}

/* Enclosing events come first in order of time. */
static void find_owners(pyro_owned_times *times, const pyro_analysis_context *context,
                        bool on_device, pyro_wants_op wants)
{
    const pyro_trace *trace = context->trace;
    const pyro_joins *joins = context->joins;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        if (trace->category[event] != PYRO_EVENT_OP)
            continue;
        uint32_t parent = joins->parent[event];
        uint32_t around = parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : joins->op[parent];
        uint32_t owner = around == PYRO_NO_EVENT ? PYRO_NO_EVENT : times->owner[around];
        if (owner != PYRO_NO_EVENT && !on_device)
            times->time_ns[owner] -= RECORDING_NS;
        else if (owner == PYRO_NO_EVENT && wants(context, event))
            owner = event;
        times->owner[event] = owner;
        if (!on_device && owner == event)
            times->time_ns[event] += trace->duration_ns[event];
        if (!on_device && around == PYRO_NO_EVENT)
            times->all_ns += trace->duration_ns[event];
    }
}

static void add_device_work(pyro_owned_times *times, const pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    for (size_t i = 0; i < trace->count; i++) {
        if (!pyro_event_is_device_work(trace->category[i]))
            continue;
        times->all_ns += trace->duration_ns[i];
        uint32_t launch = context->joins->launch[i], op = context->joins->op[i];
        uint32_t owner = op == PYRO_NO_EVENT ? PYRO_NO_EVENT : times->owner[op];
        if (owner == PYRO_NO_EVENT || launch == PYRO_NO_EVENT ||
            strstr(pyro_event_name(trace, launch), "GraphLaunch"))
            continue;
        const char *name = pyro_event_name(trace, i);
        times->time_ns[owner] += trace->duration_ns[i];
        if (trace->category[i] == PYRO_EVENT_KERNEL && pyro_kernel_uses_tensor_cores(name))
            times->seen[owner] |= PYRO_SEEN_TENSOR_CORES;
        if (trace->category[i] == PYRO_EVENT_MEMCPY && !strstr(name, "DtoD"))
            times->seen[owner] |= PYRO_SEEN_OTHER_MEMORY;
    }
}

bool pyro_own_times(pyro_owned_times *out, const pyro_analysis_context *context, bool on_device,
                    pyro_wants_op wants)
{
    size_t count = context->trace->count + 1;
    *out = (pyro_owned_times){.owner = malloc(count * sizeof *out->owner),
                              .time_ns = calloc(count, sizeof *out->time_ns),
                              .seen = calloc(count, 1)};
    if (!out->owner || !out->time_ns || !out->seen)
        return false;
    memset(out->owner, 0xff, count * sizeof *out->owner);
    find_owners(out, context, on_device, wants);
    if (on_device)
        add_device_work(out, context);
    return true;
}

void pyro_owned_times_free(pyro_owned_times *times)
{
    free(times->owner);
    free(times->time_ns);
    free(times->seen);
}

bool pyro_trace_has_kernels(const pyro_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->category[i] == PYRO_EVENT_KERNEL)
            return true;
    return false;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

int64_t pyro_median_ns(int64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    return times[count / 2];
}
