/* Detects findings from the order of ops on a thread, as torch's pattern matcher does. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_fill(const char *name)
{
    static const char *const words[] = {"aten::zeros",      "aten::ones",     "aten::full",
                                        "aten::rand",       "aten::randn",    "aten::zero_",
                                        "aten::fill_",      "aten::uniform_", "aten::normal_",
                                        "aten::zeros_like", "aten::ones_like"};
    return IS_ONE_OF(name, words);
}

/* Outermost ops that launched device work. */
static bool mark_launchers(pyro_finder *finder, uint8_t *launched)
{
    const pyro_trace *trace = finder->context->trace;
    const pyro_joins *joins = finder->context->joins;
    bool has_copies = false;
    for (size_t i = 0; i < finder->work_count; i++) {
        uint32_t event = finder->work[i];
        bool is_copy = trace->category[event] == PYRO_EVENT_MEMCPY &&
                       strstr(pyro_event_name(trace, event), "HtoD");
        uint32_t op = pyro_finder_outermost(finder, joins->op[event]);
        if (op != PYRO_NO_EVENT)
            launched[op] |= is_copy ? 2 : 1;
        has_copies |= is_copy;
    }
    return has_copies;
}

/* A copy to the device right after a fill that did no work on the device. */
DETECTOR(fill_then_copy)
{
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    if (!context->category_count[PYRO_EVENT_MEMCPY])
        return false;
    uint8_t *launched = calloc(trace->count ? trace->count : 1, 1);
    uint32_t *previous = calloc(trace->track_count + 1, sizeof *previous); /* its op plus 1 */
    int64_t count = 0;
    uint32_t first = PYRO_NO_EVENT;
    finder->memory_out |= !launched || !previous;
    bool has_copies = !finder->memory_out && mark_launchers(finder, launched);
    for (size_t i = 0; has_copies && i < finder->outermost_op_count; i++) {
        uint32_t event = finder->outermost_ops[i];
        uint32_t before = previous[trace->track[event]];
        previous[trace->track[event]] = event + 1;
        if (launched[event] != 2 || !before || launched[before - 1] ||
            !is_fill(pyro_event_name(trace, before - 1)) || !pyro_finder_wants(finder, event))
            continue;
        count++;
        first = first == PYRO_NO_EVENT ? event : first;
    }
    free(launched);
    free(previous);
    if (!count)
        return false;
    evidence->value = (double)count;
    evidence->place = pyro_finder_place(finder, first);
    pyro_evidence_say(
        evidence, "%" PRId64 " tensor%s filled on the host and copied to the device by the next op",
        count, count == 1 ? " was" : "s were");
    return true;
}

/* True when an annotation or frame of zero_grad encloses the event. */
static bool is_in_zero_grad(const pyro_trace *trace, const pyro_joins *joins, uint32_t event)
{
    static const char mark[] = "Optimizer.zero_grad";
    for (int i = 0; i < 1000 && event != PYRO_NO_EVENT; i++) {
        const char *name = pyro_event_name(trace, event);
        if (trace->category[event] == PYRO_EVENT_ANNOTATION &&
            !strncmp(name, mark, sizeof mark - 1))
            return true;
        if (trace->category[event] == PYRO_EVENT_PYTHON && strstr(name, ": zero_grad"))
            return true;
        event = joins->parent[event];
    }
    return false;
}

DETECTOR(zero_grad)
{
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    uint32_t one = pyro_finder_name(finder, "aten::zero_");
    uint32_t list = pyro_finder_name(finder, "aten::_foreach_zero_");
    uint32_t first = PYRO_NO_EVENT;
    int64_t count = 0;
    for (size_t i = 0; (one != PYRO_NO_ID || list != PYRO_NO_ID) && i < finder->op_count; i++) {
        uint32_t op = finder->ops[i], name = trace->name[op];
        if (name == PYRO_NO_ID || (name != one && name != list) || !pyro_finder_wants(finder, op) ||
            !pyro_finder_is_outermost(finder, op) || !is_in_zero_grad(trace, context->joins, op))
            continue;
        first = count++ ? first : op;
    }
    evidence->value = (double)count;
    evidence->place = pyro_finder_place(finder, first);
    pyro_evidence_say(evidence, "%" PRId64 " zero fill%s inside zero_grad", count,
                      PYRO_PLURAL(count));
    return count > 0;
}

static bool has_bias(const char *dims)
{
    const char *bias;
    size_t length = pyro_argument_dims(dims, 2, &bias);
    return length && strcspn(bias, "0123456789") < length;
}

/* Finds a batch norm that follows a convolution with a bias, with only counter ops between. */
DETECTOR(bias_before_norm)
{
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    if (pyro_finder_name(finder, "aten::batch_norm") == PYRO_NO_ID || !trace->has_shapes)
        return false;
    uint32_t *pending = calloc(trace->track_count + 1, sizeof *pending); /* its op plus 1 */
    int64_t count = 0;
    uint32_t first = PYRO_NO_EVENT;
    finder->memory_out |= !pending;
    for (size_t i = 0; pending && i < finder->outermost_op_count; i++) {
        uint32_t event = finder->outermost_ops[i];
        const char *name = pyro_event_name(trace, event), *dims = pyro_finder_dims(finder, event);
        uint32_t *last = &pending[trace->track[event]];
        if (!strncmp(name, "aten::conv", 10) && name[10] >= '1' && name[10] <= '3')
            *last = has_bias(dims) ? event + 1 : 0;
        else if (!strcmp(name, "aten::batch_norm") && *last && pyro_finder_wants(finder, event)) {
            first = first == PYRO_NO_EVENT ? *last - 1 : first;
            count++;
            *last = 0;
        } else if (*last && strcspn(dims, "0123456789") < strlen(dims)) {
            *last = 0; /* an op on tensors came between; counters of batches have no dims */
        }
    }
    free(pending);
    evidence->value = (double)count;
    evidence->place = pyro_context_layer(context, first);
    pyro_evidence_say(evidence,
                      "%" PRId64 " convolution%s with a bias run%s right before a batch norm",
                      count, PYRO_PLURAL(count), count == 1 ? "s" : "");
    return count > 0;
}
