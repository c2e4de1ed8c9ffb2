/* Helpers of the detectors: families of kernels, groups of ops, names, element types, lateness. */
#include "analyze/device/kernel_category.h"
#include "analyze/device/kernel_names.h"
#include "analyze/findings/findings.h"
#include "analyze/findings/op_words.h"
#include "analyze/host/profiler_cost.h"
#include "analyze/signature.h"
#include "graph/op_groups.h"

#include <stdlib.h>
#include <string.h>

const char *pyro_first_text(const char *a, const char *b, const char *c)
{
    return a[0] ? a : b[0] ? b : c;
}

static bool is_channels_last(const char *kernel)
{
    return strstr(kernel, "channels_last") || strstr(kernel, "nhwc") || strstr(kernel, "NHWC");
}

uint16_t pyro_finder_find_family(pyro_finder *finder, uint32_t event)
{
    uint32_t name = finder->context->trace->name[event];
    const char *text = pyro_trace_text(finder->context->trace, name);
    pyro_kernel_class found = pyro_kernel_class_of(finder->context, event);
    uint16_t family = PYRO_FAMILY_KNOWN;
    if (found.role == PYRO_ROLE_PRODUCT)
        family |= PYRO_FAMILY_CONTRACTION;
    if (found.role == PYRO_ROLE_PRODUCT && found.category == PYRO_KERNEL_CONVOLUTION)
        family |= PYRO_FAMILY_CONVOLUTION;
    family |= pyro_kernel_uses_tensor_cores(text) ? PYRO_FAMILY_TENSOR_CORE : 0;
    family |= pyro_kernel_uses_plain_cores(text) ? PYRO_FAMILY_PLAIN_CORES : 0;
    family |= pyro_kernel_uses_tf32(text) ? PYRO_FAMILY_TF32 : 0;
    family |= found.role == PYRO_ROLE_LAYOUT ? PYRO_FAMILY_LAYOUT : 0;
    family |= found.role == PYRO_ROLE_MAP ? PYRO_FAMILY_ELEMENTWISE : 0;
    family |= is_channels_last(text) ? PYRO_FAMILY_CHANNELS_LAST : 0;
    return finder->kernel_family[name] = family;
}

bool pyro_finder_uses_tf32(pyro_finder *finder, bool in_convolutions)
{
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint16_t family = pyro_finder_family(finder, finder->kernels[i]);
        bool is_convolution = family & PYRO_FAMILY_CONVOLUTION;
        if (family & PYRO_FAMILY_TF32 && is_convolution == in_convolutions)
            return true;
    }
    return false;
}

unsigned pyro_finder_groups(pyro_finder *finder, uint32_t op)
{
    enum { IS_KNOWN = 128 };
    uint32_t name = op == PYRO_NO_EVENT ? PYRO_NO_ID : finder->context->trace->name[op];
    if (name == PYRO_NO_ID || finder->memory_out)
        return 0;
    if (!finder->has_op_index) {
        finder->has_op_index = true;
        finder->memory_out |= !pyro_op_index_init(&finder->op_index);
    }
    if (!finder->op_groups[name] && !finder->memory_out)
        finder->op_groups[name] =
            (uint8_t)(IS_KNOWN |
                      pyro_op_groups(pyro_op_find_recorded(
                          &finder->op_index, pyro_trace_text(finder->context->trace, name))));
    return finder->op_groups[name] & ~IS_KNOWN;
}

unsigned pyro_finder_words(pyro_finder *finder, uint32_t op)
{
    uint32_t name = finder->context->trace->name[op];
    if (name == PYRO_NO_ID)
        return PYRO_WORD_KNOWN;
    if (!finder->op_words[name])
        finder->op_words[name] = (uint16_t)pyro_op_words(
            pyro_trace_text(finder->context->trace, name));
    return finder->op_words[name];
}

uint32_t pyro_finder_name(const pyro_finder *finder, const char *name)
{
    uint32_t id = pyro_intern_find(&finder->context->trace->names, name, strlen(name));
    return id == PYRO_INTERN_NONE ? PYRO_NO_ID : id;
}

pyro_dtype pyro_finder_dtype(const pyro_finder *finder, uint32_t op)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t detail = op == PYRO_NO_EVENT ? PYRO_NO_ID : trace->detail[op];
    if (detail == PYRO_NO_ID)
        return PYRO_DTYPE_UNKNOWN;
    return pyro_dtype_of_types(pyro_trace_text(trace, trace->ops[detail].types));
}

bool pyro_finder_wants(const pyro_finder *finder, uint32_t event)
{
    const pyro_analysis_context *context = finder->context;
    if (!pyro_context_wants(context, event))
        return false;
    if (!context->windows_are_steps)
        return true;
    bool is_work = pyro_event_is_device_work(context->trace->category[event]);
    int64_t time_ns = is_work ? pyro_context_launch_ns(context, event)
                              : context->trace->start_ns[event];
    return pyro_context_window_at(context, time_ns) != PYRO_NO_EVENT;
}

uint32_t pyro_finder_outermost(const pyro_finder *finder, uint32_t op)
{
    const pyro_joins *joins = finder->context->joins;
    for (int i = 0; i < 1000 && op != PYRO_NO_EVENT && !pyro_finder_is_outermost(finder, op); i++)
        op = joins->op[joins->parent[op]];
    return op;
}

const char *pyro_finder_place(pyro_finder *finder, uint32_t event)
{
    if (event == PYRO_NO_EVENT)
        return "";
    const char *line = pyro_context_line(finder->context, event);
    finder->memory_out |= !line;
    return pyro_first_text(line ? line : "", pyro_context_layer(finder->context, event),
                           pyro_context_op(finder->context, event));
}

/* "CUDA graph 2" of a replayed kernel; "" for others. */
static const char *graph_of(const pyro_finder *finder, uint32_t kernel)
{
    const pyro_joins *joins = finder->context->joins;
    uint32_t call = joins->call[kernel];
    uint32_t category = call == PYRO_NO_LAYER ? PYRO_NO_LAYER : joins->calls[call].layer;
    if (category == PYRO_NO_LAYER || !joins->layers[category].is_graph)
        return "";
    const char *path = joins->layers[joins->layers[category].parent].path;
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

const char *pyro_finder_kernel_place(const pyro_finder *finder, pyro_evidence *evidence,
                                     uint32_t kernel)
{
    if (kernel == PYRO_NO_EVENT)
        return "";
    const char *layer = pyro_context_layer(finder->context, kernel);
    const char *graph = graph_of(finder, kernel), *op = pyro_context_op(finder->context, kernel);
    if (layer[0])
        return layer;
    if (op[0] && !graph[0])
        return op;
    char name[PYRO_KERNEL_SHORT_NAME];
    pyro_kernel_short_name(pyro_event_name(finder->context->trace, kernel), name);
    return pyro_evidence_text(evidence, "%s%s%s", name, graph[0] ? " in " : "", graph);
}

bool pyro_is_one_of(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, words[i]))
            return true;
    return false;
}

size_t pyro_argument_dims(const char *dims, int n, const char **out)
{
    int depth = 0;
    for (; *dims; dims++) {
        if (*dims == '[' && ++depth == 2 && n-- == 0) {
            *out = dims;
            return strcspn(dims, "]") + 1;
        }
        depth -= *dims == ']';
    }
    return 0;
}

int64_t pyro_largest_elements(const char *dims, int64_t limit)
{
    int64_t largest = -1;
    for (const char *at = dims; (at = strpbrk(at, "0123456789"));) {
        int64_t elements = 1;
        while (*at >= '0' && *at <= '9') {
            char *end;
            int64_t size = strtoll(at, &end, 10);
            bool is_over = elements > limit || (size > 0 && elements > limit / size);
            elements = is_over ? limit + 1 : elements * size;
            at = end + strspn(end, ", ");
        }
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

const char *pyro_finder_dims(const pyro_finder *finder, uint32_t op)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t detail = trace->detail[op];
    return detail == PYRO_NO_ID ? "" : pyro_trace_text(trace, trace->ops[detail].dims);
}

const char *pyro_finder_concrete(const pyro_finder *finder, uint32_t op)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t detail = trace->detail[op];
    return detail == PYRO_NO_ID ? "" : pyro_trace_text(trace, trace->ops[detail].concrete);
}

int64_t pyro_finder_sum_marked(const pyro_finder *finder, const uint8_t *marks, uint8_t mark)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t sum = 0;
    for (size_t i = 0; !finder->has_device_work && i < finder->op_count; i++) {
        uint32_t op = finder->ops[i];
        sum += marks[op] == mark ? trace->duration_ns[op] : 0;
    }
    for (size_t i = 0; finder->has_device_work && i < finder->work_count; i++) {
        uint32_t event = finder->work[i];
        uint32_t op = pyro_finder_outermost(finder, finder->context->joins->op[event]);
        if (op != PYRO_NO_EVENT && marks[op] == mark && pyro_finder_wants(finder, event))
            sum += trace->duration_ns[event];
    }
    return sum;
}

int64_t pyro_finder_whole_ns(const pyro_finder *finder)
{
    int64_t sum = 0;
    if (finder->has_device_work)
        return finder->device_ns;
    for (size_t i = 0; i < finder->outer_op_count; i++)
        sum += finder->context->trace->duration_ns[finder->outer_ops[i]];
    return sum;
}

/* Whether a more specific finding explains this time. */
static bool is_claimed(const pyro_finder *finder, const pyro_cause_place *place)
{
    if (finder->claims_collectives && pyro_is_communication(place->op))
        return true;
    if (place->sync[0])
        return finder->claims_waits;
    return finder->claims_optimizer && place->phase == PYRO_PHASE_OPTIMIZER;
}

int64_t pyro_finder_late_ns(const pyro_finder *finder, unsigned causes)
{
    int64_t late = 0;
    for (size_t i = 0; i < finder->result->cause_place_count; i++) {
        const pyro_cause_place *place = &finder->result->cause_places[i];
        if (causes >> place->cause & 1 && !is_claimed(finder, place))
            late += pyro_place_lost_ns(place);
    }
    return (int64_t)((double)late * finder->late_part);
}

const char *pyro_finder_besides_profiler(const pyro_finder *finder, pyro_evidence *evidence,
                                         unsigned causes)
{
    int64_t taken_ns = 0;
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++)
        taken_ns += causes >> cause & 1 ? finder->profiler_ns[cause] : 0;
    if ((double)taken_ns < PYRO_PROFILER_MATTERS * (double)finder->span_ns)
        return "";
    return pyro_evidence_text(evidence, ", besides %s that %s takes",
                              pyro_evidence_time(evidence, taken_ns),
                              finder->result->is_captured ? "the recorder" : "the profiler");
}

bool pyro_finder_runs_on_host(const pyro_finder *finder)
{
    for (size_t i = 0; i < finder->result->defect_count; i++)
        if (!strcmp(finder->result->defects[i].id, "no-device-events"))
            return false;
    return !finder->has_device_work;
}

int64_t pyro_finder_cost_ns(const pyro_finder *finder, uint32_t event)
{
    return pyro_event_cost_ns(&finder->result->profiler_cost,
                              finder->context->trace->category[event],
                              pyro_context_traits(finder->context, event));
}

/* The first place in the order of time at or after a time. */
static size_t find_time(const pyro_analysis_context *context, int64_t time_ns)
{
    size_t low = 0, high = context->trace->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (context->trace->start_ns[context->joins->by_time[middle]] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t pyro_finder_cost_between_ns(const pyro_finder *finder, uint32_t first, uint32_t last)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t cost_ns = 0, end_ns = pyro_event_end_ns(trace, last);
    for (size_t i = find_time(finder->context, trace->start_ns[first]); i < trace->count; i++) {
        uint32_t event = finder->context->joins->by_time[i];
        if (trace->start_ns[event] >= end_ns)
            break;
        if (trace->track[event] == trace->track[first])
            cost_ns += pyro_finder_cost_ns(finder, event);
    }
    return cost_ns;
}

int64_t pyro_finder_causes_ns(const pyro_finder *finder, unsigned causes)
{
    int64_t sum = 0;
    for (int cause = 0; cause < PYRO_CAUSE_COUNT; cause++)
        sum += causes >> cause & 1 ? finder->cause_ns[cause] : 0;
    return sum;
}

const char *pyro_finder_whole(const pyro_finder *finder)
{
    bool is_step = finder->context->windows_are_steps, is_own = finder->result->is_captured;
    if (finder->result->profiler_cost.share < PYRO_PROFILER_MATTERS)
        return is_step ? "the step time" : "the time";
    if (is_own)
        return is_step ? "the step time without the recorder" : "the time without the recorder";
    return is_step ? "the step time without the profiler" : "the time without the profiler";
}
