/* Helpers of the detectors: families of kernels, groups of ops, names, element types, lateness. */
#include "analyze/device/kernel_names.h"
#include "analyze/findings/findings.h"
#include "analyze/signature.h"
#include "graph/op_groups.h"

#include <string.h>

const char *pyro_first_text(const char *a, const char *b, const char *c)
{
    return a[0] ? a : b[0] ? b : c;
}

uint8_t pyro_finder_family(pyro_finder *finder, uint32_t event)
{
    uint32_t name = finder->context->trace->name[event];
    if (name == PYRO_NO_ID)
        return PYRO_FAMILY_KNOWN;
    if (finder->kernel_family[name])
        return finder->kernel_family[name];
    const char *text = pyro_trace_text(finder->context->trace, name);
    char short_name[PYRO_KERNEL_SHORT_NAME];
    uint8_t family = PYRO_FAMILY_KNOWN;
    pyro_kernel_short_name(text, short_name);
    family |= pyro_kernel_is_contraction(short_name) ? PYRO_FAMILY_CONTRACTION : 0;
    family |= pyro_kernel_is_convolution(short_name) ? PYRO_FAMILY_CONVOLUTION : 0;
    family |= pyro_kernel_uses_tensor_cores(text) ? PYRO_FAMILY_TENSOR_CORE : 0;
    family |= pyro_kernel_is_layout_change(short_name) ? PYRO_FAMILY_LAYOUT : 0;
    family |= pyro_kernel_is_elementwise(short_name) ? PYRO_FAMILY_ELEMENTWISE : 0;
    return finder->kernel_family[name] = family;
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
    const char *types = pyro_trace_text(trace, trace->ops[detail].types);
    while ((types = strchr(types, '"'))) {
        size_t length = strcspn(++types, "\"");
        pyro_dtype dtype = pyro_dtype_from_cpp(types, length);
        if (dtype != PYRO_DTYPE_UNKNOWN)
            return dtype;
        types += length;
        types += *types == '"';
    }
    return PYRO_DTYPE_UNKNOWN;
}

/* Whether a more specific finding explains this time. */
static bool is_claimed(const pyro_finder *finder, const pyro_cause_place *place)
{
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
            late += place->time_ns;
    }
    return late;
}

const char *pyro_finder_whole(const pyro_finder *finder)
{
    return finder->context->windows_are_steps ? "the step time" : "the time";
}
