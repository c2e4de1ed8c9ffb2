/* Detects work on float64 tensors, and the op that introduced the type. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCALAR_TYPE_DOUBLE = 7 }; /* c10::ScalarType */

/* Whether an op has a float64 tensor among its inputs; tensors without dims do not widen others.
 * Nodes of the backward and compiled functions ("CompiledFunction") have inputs of all kinds. */
static bool has_double(const pyro_finder *finder, uint32_t op)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t detail = trace->detail[op];
    const char *name = pyro_event_name(trace, op);
    if (detail == PYRO_NO_ID || !strstr(name, "::") || !strncmp(name, "autograd::", 10))
        return false;
    const char *types = pyro_trace_text(trace, trace->ops[detail].types);
    for (int argument = 0; (types = strchr(types, '"')); argument++) {
        const char *dims;
        size_t length = strcspn(++types, "\"");
        if (length == 6 && !memcmp(types, "double", 6) &&
            pyro_argument_dims(pyro_finder_dims(finder, op), argument, &dims) > 2)
            return true;
        types += length;
        types += *types == '"';
    }
    return false;
}

/* Whether an op makes a float64 tensor of others or of nothing: to(torch.float64), zeros(...). */
static bool makes_double(const pyro_finder *finder, uint32_t op)
{
    static const char *const words[] = {"aten::to",    "aten::_to_copy",   "aten::zeros",
                                        "aten::ones",  "aten::empty",      "aten::rand",
                                        "aten::randn", "aten::zeros_like", "aten::ones_like"};
    const char *name = pyro_event_name(finder->context->trace, op);
    if (!IS_ONE_OF(name, words))
        return false;
    const char *at = pyro_finder_concrete(finder, op);
    for (int argument = 0; argument < 3 && (at = strchr(at, '"')); argument++) {
        size_t length = strcspn(++at, "\"");
        if (argument && length == 1 && atoi(at) == SCALAR_TYPE_DOUBLE)
            return true;
        at += length;
        at += *at == '"';
    }
    return false;
}

/* The op that stands first in the trace among those that read or make float64. */
static uint32_t find_first(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = finder->context->joins->by_time[i];
        if (trace->category[event] == PYRO_EVENT_OP && pyro_context_wants(finder->context, event) &&
            (has_double(finder, event) || makes_double(finder, event)))
            return event;
    }
    return PYRO_NO_EVENT;
}

/* Device time of float64 work, or host time of outermost ops where nothing ran on a device. */
static int64_t sum_doubles(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    int64_t sum = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        uint32_t op = finder->context->joins->op[i];
        bool counts = finder->has_device_work ? pyro_event_is_device_work(trace->category[i])
                                              : trace->category[i] == PYRO_EVENT_OP &&
                                                    pyro_finder_is_outermost(finder, i);
        if (counts && op != PYRO_NO_EVENT && pyro_context_wants(finder->context, i) &&
            has_double(finder, op))
            sum += trace->duration_ns[i];
    }
    return sum;
}

DETECTOR(double_precision)
{
    if (!finder->context->trace->has_shapes)
        return false;
    uint32_t first = find_first(finder);
    if (first == PYRO_NO_EVENT)
        return false;
    int64_t whole_ns = pyro_finder_whole_ns(finder), double_ns = sum_doubles(finder);
    if (whole_ns <= 0 || !double_ns)
        return false;
    const char *layer = pyro_context_layer(finder->context, first);
    evidence->value = (double)double_ns / (double)whole_ns;
    evidence->gain_ns = double_ns / 2; /* half the bytes; products gain more */
    evidence->place = pyro_finder_place(finder, first);
    pyro_evidence_say(evidence,
                      "%.1f%% of the %s time (%.3f ms) is work on float64 tensors, which %s "
                      "introduced%s%.200s",
                      evidence->value * 100, finder->has_device_work ? "device" : "op",
                      (double)double_ns / 1e6, pyro_event_name(finder->context->trace, first),
                      layer[0] ? " in " : "", layer);
    return true;
}
