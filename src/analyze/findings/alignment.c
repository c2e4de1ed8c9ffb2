/*
 * Detects 16-bit products that cannot read 16 bytes at a time. The rows of both operands have K or
 * N values, so that K and N decide; M, the number of rows, does not. A kernel whose name has its
 * alignment decides by itself.
 */
#include "analyze/findings/findings.h"
#include "graph/op_groups.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNED_VALUES = 8, MOST_RANK = 8, MOST_ARGUMENTS = 4 };

typedef struct shape {
    int rank;
    int64_t dims[MOST_RANK];
} shape;

/* Reads "[[8, 16], [], [16, 4]]"; returns how many arguments there are, at most MOST_ARGUMENTS. */
static int read_shapes(const char *text, shape shapes[MOST_ARGUMENTS])
{
    int count = 0, depth = 0;
    for (const char *at = text; *at && count < MOST_ARGUMENTS;) {
        if (*at >= '0' && *at <= '9') {
            char *end;
            int64_t size = strtoll(at, &end, 10);
            shape *here = &shapes[count];
            if (depth == 2 && here->rank < MOST_RANK)
                here->dims[here->rank++] = size;
            at = end;
            continue;
        }
        depth += *at == '[';
        count += *at == ']' && depth-- == 2;
        at++;
    }
    return count;
}

/* The K and N of a product by its op's name and inputs; false when they are unknown. */
static bool find_sizes(const char *op, const char *dims, int64_t *k, int64_t *n)
{
    static const char *const with_addend[] = {"aten::addmm", "aten::baddbmm", "aten::addbmm"};
    shape shapes[MOST_ARGUMENTS] = {{0}};
    int first = 0, count = read_shapes(dims, shapes);
    for (size_t i = 0; i < sizeof with_addend / sizeof *with_addend; i++)
        first |= !strcmp(op, with_addend[i]);
    if (first + 1 >= count || shapes[first].rank < 2 || shapes[first + 1].rank < 2)
        return false;
    const shape *left = &shapes[first], *right = &shapes[first + 1];
    bool is_linear = strstr(op, "linear") != NULL; /* its weight is N x K */
    *k = left->dims[left->rank - 1];
    *n = right->dims[right->rank - (is_linear ? 2 : 1)];
    return true;
}

/* The smallest alignment in a kernel's name (align1, aligna4_alignc4, ldg8), in values; 0: none. */
static int64_t named_alignment(const char *name)
{
    static const char *const words[] = {"align", "ldg"};
    int64_t smallest = 0;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (const char *at = name; (at = strstr(at, words[w]));) {
            at += strlen(words[w]);
            at += strspn(at, "abc");
            int64_t values = strtoll(at, NULL, 10);
            if (*at >= '1' && *at <= '9' && (!smallest || values < smallest))
                smallest = values;
        }
    return smallest;
}

static bool is_half(pyro_dtype dtype)
{
    return dtype != PYRO_DTYPE_UNKNOWN && pyro_dtype_is_floating(dtype) &&
           pyro_dtype_bytes(dtype) == 2;
}

static bool is_unaligned(pyro_finder *finder, uint32_t event)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t op = finder->context->joins->op[event];
    const char *name = pyro_event_name(trace, event);
    int64_t k, n;
    /* Compilers choose the loads of their own kernels; their names list ops of the neighbourhood. */
    if (!(pyro_finder_family(finder, event) & PYRO_FAMILY_CONTRACTION) ||
        !strncmp(name, "triton_", 7) || op == PYRO_NO_EVENT || trace->detail[op] == PYRO_NO_ID ||
        !(pyro_finder_groups(finder, op) & PYRO_GROUP_PRODUCT) ||
        !is_half(pyro_finder_dtype(finder, op)))
        return false;
    /* Batched products are those of attention: their odd sizes are lengths of sequences, and the fused
     * attention that another finding advises has none of them. */
    if (strstr(pyro_event_name(trace, op), "bmm"))
        return false;
    int64_t alignment = named_alignment(name);
    if (alignment)
        return alignment < ALIGNED_VALUES;
    const char *dims = pyro_trace_text(trace, trace->ops[trace->detail[op]].dims);
    return find_sizes(pyro_event_name(trace, op), dims, &k, &n) &&
           (k % ALIGNED_VALUES || n % ALIGNED_VALUES);
}

DETECTOR(unaligned_sizes)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t total = 0;
    uint32_t worst = PYRO_NO_EVENT;
    for (size_t i = 0; i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i];
        if (!is_unaligned(finder, event))
            continue;
        total += trace->duration_ns[event];
        if (worst == PYRO_NO_EVENT || trace->duration_ns[event] > trace->duration_ns[worst])
            worst = event;
    }
    if (worst == PYRO_NO_EVENT || finder->device_ns <= 0)
        return false;
    uint32_t op = finder->context->joins->op[worst];
    evidence->value = (double)total / (double)finder->device_ns;
    evidence->place = pyro_first_text(pyro_context_layer(finder->context, worst),
                                      pyro_event_name(trace, op), "");
    pyro_evidence_say(
        evidence,
        "%.1f%% of the device time (%s) is in 16-bit products whose K or N is not a multiple "
        "of 8, such as %s of %.200s",
        evidence->value * 100, pyro_evidence_time(evidence, total), pyro_event_name(trace, op),
        pyro_trace_text(trace, trace->ops[trace->detail[op]].dims));
    return true;
}
