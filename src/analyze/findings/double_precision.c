/* Detects work on float64 tensors, and the op that introduced the type. */
#include "analyze/findings/findings.h"
#include "analyze/findings/op_words.h"

#include <inttypes.h>
#include <string.h>

enum { SCALAR_TYPE_DOUBLE = 7 }; /* c10::ScalarType */

enum { READS = 1, MAKES = 2 };

/* Whether a kind has a float64 tensor among its inputs; tensors without dims do not widen others.
 * Nodes of the backward and compiled functions ("CompiledFunction") have inputs of all kinds. */
static bool reads_double(const pyro_trace *trace, const pyro_op_kind *kind)
{
    const char *name = pyro_trace_text(trace, kind->name);
    const char *types = pyro_trace_text(trace, kind->types);
    if (!strstr(types, "\"double\"") || !strstr(name, "::") || !strncmp(name, "autograd::", 10))
        return false;
    for (int argument = 0; (types = strchr(types, '"')); argument++) {
        const char *dims;
        size_t length = strcspn(++types, "\"");
        if (length == 6 && !memcmp(types, "double", 6) &&
            pyro_argument_dims(pyro_trace_text(trace, kind->dims), argument, &dims) > 2)
            return true;
        types += length;
        types += *types == '"';
    }
    return false;
}

/* Whether it makes a float64 tensor of others or of nothing: to(torch.float64), zeros(...). */
static bool makes_double(const pyro_trace *trace, const pyro_op_kind *kind)
{
    if (!(pyro_op_words(pyro_trace_text(trace, kind->name)) & PYRO_WORD_TYPED))
        return false;
    const char *at = pyro_trace_text(trace, kind->concrete);
    for (int argument = 0; argument < 3 && (at = strchr(at, '"')); argument++) {
        size_t length = strcspn(++at, "\"");
        if (argument && length == 1 && *at - '0' == SCALAR_TYPE_DOUBLE)
            return true;
        at += length;
        at += *at == '"';
    }
    return false;
}

/* READS and MAKES of each kind of ops; NULL without such ops, and when memory is out. */
static uint8_t *find_kinds(pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    uint8_t *kinds = pyro_arena_alloc(context->scratch, context->op_kind_count + 1);
    bool has_double = false;
    finder->memory_out |= !kinds;
    for (size_t i = 1; kinds && i < context->op_kind_count; i++) {
        const pyro_op_kind *kind = &context->op_kinds[i];
        kinds[i] = (uint8_t)((reads_double(context->trace, kind) ? READS : 0) |
                             (makes_double(context->trace, kind) ? MAKES : 0));
        has_double |= kinds[i] & READS;
    }
    return has_double ? kinds : NULL;
}

static unsigned kind_of(const pyro_finder *finder, const uint8_t *kinds, uint32_t op)
{
    uint32_t detail = op == PYRO_NO_EVENT ? PYRO_NO_ID : finder->context->trace->detail[op];
    return detail == PYRO_NO_ID
               ? 0
               : kinds[pyro_context_op_kind(finder->context, detail) - finder->context->op_kinds];
}

/* The op that stands first in the trace among those that read or make float64. */
static uint32_t find_first(const pyro_finder *finder, const uint8_t *kinds)
{
    const pyro_trace *trace = finder->context->trace;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = finder->context->joins->by_time[i];
        if (trace->category[event] == PYRO_EVENT_OP && kind_of(finder, kinds, event) &&
            pyro_finder_wants(finder, event))
            return event;
    }
    return PYRO_NO_EVENT;
}

/* The part of a product's time that float32 saves on this chip; half of it where that is unknown. */
static double saved_of_products(pyro_finder *finder)
{
    const pyro_chip *chip = finder->context->chip;
    bool has_tf32 = pyro_finder_uses_tf32(finder, false);
    if (!chip || chip->fp64_tflops <= 0 || chip->fp32_tflops <= 0)
        return 0.5;
    double narrow = has_tf32 && chip->tf32_tflops > 0 ? chip->tf32_tflops : chip->fp32_tflops;
    return narrow > chip->fp64_tflops ? 1 - chip->fp64_tflops / narrow : 0;
}

/* Device time of float64 work, or host time of outermost ops where nothing ran on a device; and what
 * float32 saves of it: half, because it has half the bytes, but for products. */
typedef struct double_sums {
    int64_t all_ns, saved_ns;
} double_sums;

static double_sums sum_doubles(pyro_finder *finder, const uint8_t *kinds)
{
    const pyro_trace *trace = finder->context->trace;
    double of_products = finder->has_device_work ? saved_of_products(finder) : 0.5;
    double_sums sums = {0, 0};
    for (size_t i = 0; !finder->has_device_work && i < finder->outer_op_count; i++)
        if (kind_of(finder, kinds, finder->outer_ops[i]) & READS)
            sums.all_ns += trace->duration_ns[finder->outer_ops[i]];
    sums.saved_ns = sums.all_ns / 2;
    for (size_t i = 0; finder->has_device_work && i < finder->work_count; i++) {
        uint32_t event = finder->work[i];
        if (!(kind_of(finder, kinds, finder->context->joins->op[event]) & READS) ||
            !pyro_finder_wants(finder, event))
            continue;
        bool is_product = trace->category[event] == PYRO_EVENT_KERNEL &&
                          pyro_finder_family(finder, event) & PYRO_FAMILY_CONTRACTION;
        sums.all_ns += trace->duration_ns[event];
        sums.saved_ns += (int64_t)((double)trace->duration_ns[event] *
                                   (is_product ? of_products : 0.5));
    }
    return sums;
}

DETECTOR(double_precision)
{
    if (!finder->context->trace->has_shapes)
        return false;
    const uint8_t *kinds = find_kinds(finder);
    uint32_t first = kinds ? find_first(finder, kinds) : PYRO_NO_EVENT;
    if (first == PYRO_NO_EVENT)
        return false;
    int64_t whole_ns = pyro_finder_whole_ns(finder);
    double_sums sums = sum_doubles(finder, kinds);
    if (whole_ns <= 0 || !sums.all_ns)
        return false;
    const char *layer = pyro_context_layer(finder->context, first);
    evidence->value = (double)sums.all_ns / (double)whole_ns;
    evidence->gain_ns = sums.saved_ns;
    evidence->gain_basis = "time that float32 saves: of products by the chip's rates, else half";
    evidence->place = pyro_finder_place(finder, first);
    pyro_evidence_say(evidence,
                      "%.1f%% of the %s time (%s) is work on float64 tensors, which %s "
                      "introduced%s%.200s",
                      evidence->value * 100, finder->has_device_work ? "device" : "op",
                      pyro_evidence_time(evidence, sums.all_ns),
                      pyro_event_name(finder->context->trace, first), layer[0] ? " in " : "",
                      layer);
    return true;
}
