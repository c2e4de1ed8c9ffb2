/* Helpers of the detectors: families of kernels, groups of ops, names, element types. */
#include "analyze/device/kernel_category.h"
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
    pyro_kernel_class found = pyro_kernel_classify(text);
    uint8_t family = PYRO_FAMILY_KNOWN;
    if (found.role == PYRO_ROLE_PRODUCT)
        family |= PYRO_FAMILY_CONTRACTION;
    if (found.role == PYRO_ROLE_PRODUCT && found.category == PYRO_KERNEL_CONVOLUTION)
        family |= PYRO_FAMILY_CONVOLUTION;
    family |= pyro_kernel_uses_tensor_cores(text) ? PYRO_FAMILY_TENSOR_CORE : 0;
    family |= found.role == PYRO_ROLE_LAYOUT ? PYRO_FAMILY_LAYOUT : 0;
    family |= found.role == PYRO_ROLE_MAP ? PYRO_FAMILY_ELEMENTWISE : 0;
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
    return pyro_dtype_of_types(pyro_trace_text(trace, trace->ops[detail].types));
}
