/* Sums up an analysis of one recorded call of a model. */
#include <pyrometer/recommend.h>

#include "trace/trace.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t host_ns_of_roots(const pyro_analysis *analysis)
{
    int64_t sum = 0;
    for (size_t i = 0; i < analysis->layer_count; i++)
        if (analysis->layers[i].parent == PYRO_NO_EVENT)
            sum += analysis->layers[i].forward_host_ns;
    return sum;
}

static const pyro_memory_device *memory_of(const pyro_analysis *analysis, bool on_gpu)
{
    for (size_t i = 0; i < analysis->memory_count; i++)
        if (!strncmp(analysis->memory[i].device, "cuda", 4) == on_gpu)
            return &analysis->memory[i];
    return NULL;
}

/* The GPU allocator reports its total, which includes memory from before the call. */
static int64_t bytes_before(const pyro_memory_device *memory, bool on_gpu)
{
    if (!on_gpu || !memory->curve_count)
        return 0;
    int64_t least = memory->curve[0].allocated_bytes;
    for (size_t i = 1; i < memory->curve_count; i++)
        if (memory->curve[i].allocated_bytes < least)
            least = memory->curve[i].allocated_bytes;
    return least;
}

pyro_recorded_call pyro_analysis_recorded_call(const pyro_analysis *analysis, bool on_gpu)
{
    const pyro_memory_device *memory = memory_of(analysis, on_gpu);
    int64_t inside = 0, layers = host_ns_of_roots(analysis);
    for (size_t i = 0; i < analysis->op_count; i++)
        inside += analysis->ops[i].host_self_ns;
    pyro_recorded_call call = {.host_ns = layers ? layers : inside, .activation_bytes = -1};
    if (layers > 0)
        call.outside_share = fmax(0, 1 - (double)inside / (double)layers);
    if (memory) {
        call.activation_bytes = memory->peak_bytes - bytes_before(memory, on_gpu);
        call.allocations = memory->allocations;
        call.allocated_bytes = memory->allocated_bytes;
    }
    return call;
}

static int64_t own_ns(const pyro_analysis *analysis, const pyro_op_row *op)
{
    return analysis->device_total_ns > 0 ? op->device_self_ns : op->host_self_ns;
}

/* Rows that have the same share stay in the order of their calls and names. */
static int compare_shares(const void *a, const void *b)
{
    const pyro_op_share *left = a, *right = b;
    if (left->share != right->share)
        return left->share < right->share ? 1 : -1;
    if (left->calls != right->calls)
        return left->calls < right->calls ? 1 : -1;
    return strcmp(left->name, right->name);
}

void pyro_analysis_op_shares(const pyro_analysis *analysis, pyro_op_share *out)
{
    int64_t whole = 0;
    for (size_t i = 0; i < analysis->op_count; i++)
        whole += own_ns(analysis, &analysis->ops[i]);
    for (size_t i = 0; i < analysis->op_count; i++) {
        const pyro_op_row *op = &analysis->ops[i];
        double share = whole > 0 ? (double)own_ns(analysis, op) / (double)whole : 0;
        out[i] = (pyro_op_share){op->name, share, op->calls};
    }
    qsort(out, analysis->op_count, sizeof *out, compare_shares);
}
