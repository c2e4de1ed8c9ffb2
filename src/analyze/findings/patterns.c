/* Detects findings from the order of ops on a thread, as torch's pattern matcher does. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* True when no op encloses the event. */
static bool is_outermost(const pyro_joins *joins, uint32_t event)
{
    uint32_t parent = joins->parent[event];
    return parent == PYRO_NO_EVENT || joins->op[parent] == PYRO_NO_EVENT;
}

static uint32_t outermost_op(const pyro_joins *joins, uint32_t op)
{
    for (int i = 0; i < 1000 && op != PYRO_NO_EVENT && !is_outermost(joins, op); i++)
        op = joins->op[joins->parent[op]];
    return op;
}

static bool is_one_of(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, words[i]))
            return true;
    return false;
}

#define IS_ONE_OF(name, words) is_one_of(name, words, sizeof(words) / sizeof *(words))

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
    for (uint32_t i = 0; i < trace->count; i++) {
        if (!pyro_event_is_device_work(trace->category[i]))
            continue;
        bool is_copy = trace->category[i] == PYRO_EVENT_MEMCPY &&
                       strstr(pyro_event_name(trace, i), "HtoD");
        uint32_t op = outermost_op(joins, joins->op[i]);
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
    for (size_t i = 0; has_copies && i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        if (trace->category[event] != PYRO_EVENT_OP || !is_outermost(context->joins, event))
            continue;
        uint32_t before = previous[trace->track[event]];
        previous[trace->track[event]] = event + 1;
        if (launched[event] != 2 || !before || launched[before - 1] ||
            !is_fill(pyro_event_name(trace, before - 1)) || !pyro_context_wants(context, event))
            continue;
        count++;
        first = first == PYRO_NO_EVENT ? event : first;
    }
    free(launched);
    free(previous);
    if (!count)
        return false;
    const char *line = pyro_context_line(context, first);
    finder->memory_out |= !line;
    evidence->value = (double)count;
    evidence->place = line ? pyro_first_text(line, pyro_context_layer(context, first), "") : "";
    pyro_evidence_say(evidence,
                      "%" PRId64
                      " tensors were filled on the host and copied to the device by the next "
                      "op",
                      count);
    return true;
}

static bool is_update(const char *name)
{
    static const char *const words[] = {"aten::add_", "aten::mul_",  "aten::addcdiv_",
                                        "aten::sub_", "aten::lerp_", "aten::addcmul_"};
    return IS_ONE_OF(name, words);
}

static bool is_optimizer_step(const pyro_trace *trace, uint32_t event)
{
    static const char mark[] = "Optimizer.step";
    return trace->category[event] == PYRO_EVENT_ANNOTATION &&
           !strncmp(pyro_event_name(trace, event), mark, sizeof mark - 1);
}

/* Idle time in which the optimizer kept the host from launching. */
static int64_t late_in_optimizer(const pyro_finder *finder)
{
    int64_t late = 0;
    for (size_t i = 0; i < finder->result->cause_place_count; i++) {
        const pyro_cause_place *place = &finder->result->cause_places[i];
        bool is_late = place->cause == PYRO_CAUSE_PYTHON || place->cause == PYRO_CAUSE_OPS ||
                       place->cause == PYRO_CAUSE_LAUNCH_LATENCY;
        if (is_late && place->phase == PYRO_PHASE_OPTIMIZER && !place->sync[0])
            late += place->time_ns;
    }
    return late;
}

DETECTOR(single_tensor_optimizer)
{
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    int64_t updates = 0, steps = 0;
    if (finder->in_use & PYRO_USE_FUSED)
        return false;
    for (uint32_t i = 0; i < trace->count; i++) {
        if (context->joins->phase[i] != PYRO_PHASE_OPTIMIZER || !pyro_context_wants(context, i))
            continue;
        steps += is_optimizer_step(trace, i);
        if (trace->category[i] != PYRO_EVENT_OP || !is_outermost(context->joins, i))
            continue;
        updates += is_update(pyro_event_name(trace, i));
    }
    if (!steps && context->windows_are_steps)
        steps = finder->steps;
    evidence->value = (double)updates / (double)(steps ? steps : 1);
    if (finder->has_device_work) {
        evidence->gain_ns = late_in_optimizer(finder);
        evidence->gain_basis = "idle time before launches of the optimizer";
    }
    pyro_evidence_say(evidence, "%.0f single-tensor updates%s, and no multi-tensor updates",
                      evidence->value, steps ? " per optimizer step" : "");
    return updates > 0;
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
    int64_t count = 0;
    for (uint32_t i = 0; (one != PYRO_NO_ID || list != PYRO_NO_ID) && i < trace->count; i++)
        count += (trace->name[i] == one || trace->name[i] == list) &&
                 trace->category[i] == PYRO_EVENT_OP && pyro_context_wants(context, i) &&
                 is_outermost(context->joins, i) && is_in_zero_grad(trace, context->joins, i);
    evidence->value = (double)count;
    pyro_evidence_say(evidence, "%" PRId64 " zero fills inside zero_grad", count);
    return count > 0;
}

/* Dims of the nth argument as text. Returns its length, 0 when the argument is missing. */
static size_t argument_dims(const char *dims, int n, const char **out)
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

static const char *dims_of(const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    return detail == PYRO_NO_ID ? "" : pyro_trace_text(trace, trace->ops[detail].dims);
}

static bool has_bias(const char *dims)
{
    const char *bias;
    size_t length = argument_dims(dims, 2, &bias);
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
    for (size_t i = 0; pending && i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        if (trace->category[event] != PYRO_EVENT_OP || !is_outermost(context->joins, event))
            continue;
        const char *name = pyro_event_name(trace, event), *dims = dims_of(trace, event);
        uint32_t *last = &pending[trace->track[event]];
        if (!strncmp(name, "aten::conv", 10) && name[10] >= '1' && name[10] <= '3')
            *last = has_bias(dims) ? event + 1 : 0;
        else if (!strcmp(name, "aten::batch_norm") && *last && pyro_context_wants(context, event)) {
            first = first == PYRO_NO_EVENT ? *last - 1 : first;
            count++;
            *last = 0;
        } else if (strcspn(dims, "0123456789") < strlen(dims)) {
            *last = 0; /* an op on tensors came between; counters of batches have no dims */
        }
    }
    free(pending);
    evidence->value = (double)count;
    evidence->place = pyro_context_layer(context, first);
    pyro_evidence_say(evidence,
                      "%" PRId64 " convolutions with a bias run right before a batch norm", count);
    return count > 0;
}

/* The last concrete input as a number: select(input, dim, index). */
static int64_t last_number(const char *concrete)
{
    const char *quote = strrchr(concrete, '"');
    while (quote && quote > concrete && quote[-1] != '"')
        quote--;
    return quote ? atoll(quote) : -1;
}

typedef struct select_run {
    uint32_t parent, dims;
    int64_t index, length;
} select_run;

DETECTOR(repeated_selects)
{
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    uint32_t select = pyro_finder_name(finder, "aten::select"), worst = PYRO_NO_EVENT;
    select_run *runs = calloc(trace->track_count + 1, sizeof *runs);
    int64_t longest = 0;
    finder->memory_out |= !runs;
    for (size_t i = 0; runs && select != PYRO_NO_ID && i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i], detail = trace->detail[event];
        if (trace->name[event] != select || trace->category[event] != PYRO_EVENT_OP ||
            detail == PYRO_NO_ID || !is_outermost(context->joins, event) ||
            !pyro_context_wants(context, event))
            continue;
        select_run *run = &runs[trace->track[event]];
        int64_t index = last_number(pyro_trace_text(trace, trace->ops[detail].concrete));
        bool goes_on = run->length && run->parent == context->joins->parent[event] &&
                       run->dims == trace->ops[detail].dims && index == run->index + 1;
        *run = (select_run){context->joins->parent[event], trace->ops[detail].dims, index,
                            goes_on ? run->length + 1 : 1};
        if (run->length > longest) {
            longest = run->length;
            worst = event;
        }
    }
    free(runs);
    if (worst == PYRO_NO_EVENT)
        return false;
    const char *line = pyro_context_line(context, worst);
    finder->memory_out |= !line;
    evidence->value = (double)longest;
    evidence->place = line ? pyro_first_text(line, pyro_context_layer(context, worst), "") : "";
    pyro_evidence_say(evidence, "%" PRId64 " selects from one tensor in a row, one index at a time",
                      longest);
    return true;
}
