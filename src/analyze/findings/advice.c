/* Finds what a run uses already, and chooses advice that it does not follow yet. */
#include "analyze/findings/findings.h"
#include "analyze/intervals.h"
#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

/* How many rows of advice.def one advice may have. */
enum { MOST_ADVICE = 3 };

static const struct {
    const char *id;
    unsigned needs, unless;
    const char *text;
} advices[] = {
#define ADVICE(id, needs, unless, text) {id, needs, unless, text},
#include "analyze/findings/advice.def"
};

static const struct {
    const char *id, *title;
} titles[] = {
#define TITLE(id, title) {id, title},
#include "analyze/findings/advice.def"
};

/* Names that show what is in use, by category of their events. */
static const struct {
    uint32_t categories;
    const char *part; /* of the name */
    unsigned use;
} marks[] = {
#define HOST \
    (1u << PYRO_EVENT_OP | 1u << PYRO_EVENT_ANNOTATION | 1u << PYRO_EVENT_PYTHON | \
     1u << PYRO_EVENT_OTHER)
#define CALL (1u << PYRO_EVENT_RUNTIME | 1u << PYRO_EVENT_DRIVER)
#define KERNEL (1u << PYRO_EVENT_KERNEL)
    {CALL, "GraphLaunch", PYRO_USE_GRAPHS},
    {CALL, "StreamBeginCapture", PYRO_USE_GRAPHS},
    {CALL, "cuda", PYRO_USE_LAUNCHES},
    {CALL, "cuLaunch", PYRO_USE_LAUNCHES},
    {CALL, "hip", PYRO_USE_LAUNCHES},
    {HOST, "vllm/", PYRO_USE_SERVING},
    {HOST, "vllm::", PYRO_USE_SERVING},
    {HOST, "sglang/", PYRO_USE_SERVING},
    {HOST, "CompiledFxGraph", PYRO_USE_COMPILE},
    {HOST, "Torch-Compiled Region", PYRO_USE_COMPILE},
    {HOST, "CompiledFunction", PYRO_USE_COMPILE},
    {HOST | KERNEL, "triton_poi_fused", PYRO_USE_COMPILE},
    {HOST | KERNEL, "triton_red_fused", PYRO_USE_COMPILE},
    {HOST | KERNEL, "triton_per_fused", PYRO_USE_COMPILE},
    {HOST | KERNEL, "triton_tem_fused", PYRO_USE_COMPILE},
    {HOST, "aten::_fused_adam", PYRO_USE_FUSED | PYRO_USE_OPTIMIZER},
    {HOST, "aten::_fused_sgd", PYRO_USE_FUSED | PYRO_USE_OPTIMIZER},
    {HOST, "aten::_fused_adagrad", PYRO_USE_FUSED | PYRO_USE_OPTIMIZER},
    {HOST | KERNEL, "FusedAdam", PYRO_USE_FUSED | PYRO_USE_OPTIMIZER},
    {HOST, "FusedLAMB", PYRO_USE_FUSED | PYRO_USE_OPTIMIZER},
    {HOST, "Optimizer.step", PYRO_USE_OPTIMIZER},
    {HOST, "Backward0", PYRO_USE_TRAINING},
    {HOST, "scaled_dot_product", PYRO_USE_SDPA},
    {HOST | KERNEL, "flash_attn", PYRO_USE_SDPA},
    {HOST | KERNEL, "flash_fwd", PYRO_USE_SDPA},
    {KERNEL, "fmha", PYRO_USE_SDPA},
    {1u << PYRO_EVENT_MEMCPY, "Pinned", PYRO_USE_PINNED},
    {HOST, "_MultiProcessingDataLoaderIter", PYRO_USE_WORKERS},
#undef HOST
#undef CALL
#undef KERNEL
};

static unsigned uses_of(const char *name, uint8_t category)
{
    unsigned uses = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (marks[i].categories >> category & 1 && strstr(name, marks[i].part))
            uses |= marks[i].use;
    return uses;
}

/* Multi-tensor updates count only inside of the optimizer: clipping uses them too. */
static unsigned uses_of_update(const char *op)
{
    bool is_multi = !strncmp(op, "aten::_foreach", 14) || !strncmp(op, "aten::_fused", 12);
    return is_multi ? PYRO_USE_FUSED : 0;
}

/* Chips of NVIDIA before Ampere multiply float16 only. */
static unsigned uses_of_chip(const pyro_trace *trace)
{
    const char *name = trace->device_count ? pyro_trace_text(trace, trace->devices[0].name) : "";
    bool is_amd = strstr(name, "AMD") || strstr(name, "Instinct");
    bool is_old = trace->device_count && trace->devices[0].compute_major > 0 &&
                  trace->devices[0].compute_major < 8 && !is_amd;
    return (is_old ? 0 : PYRO_USE_BFLOAT16) | (is_amd ? PYRO_USE_AMD : 0);
}

/* Whether a faster optimizer would save time: of the host, and of the device. In a graph the host
 * runs none of it. */
static unsigned uses_of_optimizer(const pyro_finder *finder)
{
    enum { LEAST_PART = 10 };
    const pyro_analysis *result = finder->result;
    int64_t late_ns = 0, device_ns = 0;
    for (size_t i = 0; i < result->cause_place_count; i++) {
        const pyro_cause_place *place = &result->cause_places[i];
        if (PYRO_LATE_CAUSES >> place->cause & 1 && place->phase == PYRO_PHASE_OPTIMIZER)
            late_ns += pyro_place_lost_ns(place);
    }
    for (size_t i = 0; i < result->step_count; i++)
        device_ns = pyro_add_ns(device_ns, result->steps[i].optimizer_ns);
    bool is_late = late_ns > pyro_finder_causes_ns(finder, PYRO_LATE_CAUSES) / LEAST_PART;
    bool is_large = device_ns > finder->device_ns / LEAST_PART;
    return (is_late ? PYRO_USE_LATE_OPTIMIZER : 0) | (is_large ? PYRO_USE_LARGE_OPTIMIZER : 0);
}

/* Whether most of the host's lateness is in few long gaps. Launches and ops cost microseconds: there
 * the host did something else, which no graph and no fusion saves. */
static unsigned uses_of_gaps(const pyro_finder *finder)
{
    enum { LONG_GAP_NS = 1000000 };
    const pyro_analysis *result = finder->result;
    int64_t long_ns = 0;
    for (size_t i = 0; i < result->gap_count; i++) {
        const pyro_gap_row *gap = &result->gaps[i];
        bool is_in_step = !finder->context->windows_are_steps || gap->step >= 0;
        if (gap->kind == PYRO_GAP_HOST_WAIT && gap->duration_ns >= LONG_GAP_NS && is_in_step)
            long_ns = pyro_add_ns(long_ns, gap->duration_ns);
    }
    return long_ns > pyro_finder_causes_ns(finder, PYRO_LATE_CAUSES) / 2 ? PYRO_USE_LONG_GAPS : 0;
}

/* Whether most of the time of copies to and from the device is on streams without kernels. */
static unsigned uses_of_copies(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    bool *has_kernels = pyro_arena_array(finder->context->scratch, trace->track_count + 1,
                                         sizeof *has_kernels);
    int64_t apart_ns = 0, all_ns = 0;
    for (size_t i = 0; has_kernels && i < finder->kernel_count; i++)
        has_kernels[trace->track[finder->kernels[i]]] = true;
    for (size_t i = 0; has_kernels && i < finder->work_count; i++) {
        uint32_t event = finder->work[i];
        if (trace->category[event] != PYRO_EVENT_MEMCPY ||
            strstr(pyro_event_name(trace, event), "DtoD"))
            continue;
        all_ns = pyro_add_ns(all_ns, trace->duration_ns[event]);
        if (!has_kernels[trace->track[event]])
            apart_ns = pyro_add_ns(apart_ns, trace->duration_ns[event]);
    }
    return apart_ns > all_ns / 2 ? PYRO_USE_COPY_STREAM : 0;
}

/* The kind of collectives with the most time. */
static unsigned uses_of_collectives(const pyro_analysis *result)
{
    static const struct {
        const char *kind;
        unsigned use;
    } kinds[] = {{"allreduce", PYRO_USE_ALLREDUCE},
                 {"allgather", PYRO_USE_SHARDS},
                 {"reduce_scatter", PYRO_USE_SHARDS},
                 {"alltoall", PYRO_USE_ALLTOALL}};
    for (size_t k = 0; result->collective_count && k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(result->collectives[0].kind, kinds[k].kind))
            return kinds[k].use;
    return 0;
}

enum { LAST = 1, CONVERTED = 2, NO_LAYOUT = 4 };

static uint8_t layout_of(pyro_finder *finder, uint32_t kernel)
{
    if (pyro_finder_family(finder, kernel) & PYRO_FAMILY_LAYOUT)
        return CONVERTED;
    return strstr(pyro_event_name(finder->context->trace, kernel), "_nhwc") ? LAST : NO_LAYOUT;
}

/* Whether most ops with kernels for channels_last get their inputs in that format. Where the library
 * converts them in the same op, they came in another one. */
static unsigned uses_of_layouts(pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    uint8_t *layouts = pyro_arena_array(context->scratch, trace->names.count + 1, 1);
    uint8_t *seen = NULL; /* by op; most programs have no such kernels */
    int64_t plain = 0, converted = 0;
    for (size_t i = 0; layouts && i < finder->kernel_count; i++) {
        uint32_t event = finder->kernels[i], name = trace->name[event];
        if (name == PYRO_NO_ID)
            continue;
        if (!layouts[name])
            layouts[name] = layout_of(finder, event);
        if (layouts[name] == NO_LAYOUT)
            continue;
        if (!seen && !(seen = calloc(trace->count + 1, 1)))
            break;
        uint32_t op = pyro_finder_outermost(finder, context->joins->op[event]);
        if (op != PYRO_NO_EVENT)
            seen[op] |= layouts[name];
    }
    for (size_t i = 0; seen && i < finder->outer_op_count; i++) {
        plain += seen[finder->outer_ops[i]] == LAST;
        converted += seen[finder->outer_ops[i]] == (LAST | CONVERTED);
    }
    free(seen);
    return plain > converted ? PYRO_USE_CHANNELS_LAST : 0;
}

static bool is_call(const pyro_trace *trace, uint32_t event)
{
    return event != PYRO_NO_EVENT && (trace->category[event] == PYRO_EVENT_RUNTIME ||
                                      trace->category[event] == PYRO_EVENT_DRIVER);
}

/* Whether a call takes over a millisecond, and neither waits for the device nor copies. */
static bool is_long_call(const pyro_finder *finder, uint32_t event)
{
    enum { LONG_CALL_NS = 1000000 };
    pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    return trace->duration_ns[event] >= LONG_CALL_NS &&
           !is_call(trace, context->joins->parent[event]) &&
           !(pyro_context_traits(context, event) & PYRO_TRAIT_SYNC) &&
           !strstr(pyro_event_name(trace, event), "Memcpy") && pyro_finder_wants(finder, event);
}

/* Whether such calls take most of the time in which the host is late, nearly all of it in one step:
 * the first launch of a kernel loads its code, the first allocation asks the system. */
static bool has_first_calls(const pyro_finder *finder)
{
    const pyro_analysis_context *context = finder->context;
    const pyro_trace *trace = context->trace;
    int64_t long_ns = 0, most_ns = 0;
    int64_t *of_window = pyro_arena_array(context->scratch, context->window_count + 1,
                                          sizeof *of_window);
    for (size_t i = pyro_trace_next_call(trace, 0); of_window && i < trace->count;
         i = pyro_trace_next_call(trace, i + 1)) {
        if (!is_long_call(finder, (uint32_t)i))
            continue;
        int64_t *sum = &of_window[pyro_context_window_at(context, trace->start_ns[i])];
        *sum = pyro_add_ns(*sum, trace->duration_ns[i]);
        long_ns = pyro_add_ns(long_ns, trace->duration_ns[i]);
        most_ns = *sum > most_ns ? *sum : most_ns;
    }
    return long_ns > pyro_finder_causes_ns(finder, PYRO_LATE_CAUSES) / 2 &&
           most_ns > long_ns / 5 * 4;
}

/* What the names of events show; false when memory is out. */
static bool find_named_uses(pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    /* By name: bits of the categories of its events. */
    uint32_t *seen = pyro_arena_array(finder->context->scratch, trace->names.count + 1,
                                      sizeof *seen);
    if (!seen)
        return false;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->name[i] != PYRO_NO_ID)
            seen[trace->name[i]] |= 1u << trace->category[i];
    for (uint32_t name = 0; name < trace->names.count; name++)
        for (uint8_t category = 0; seen[name] >> category && category <= PYRO_EVENT_OTHER;
             category++)
            if (seen[name] >> category & 1)
                finder->in_use |= uses_of(pyro_trace_text(trace, name), category);
    return true;
}

/* What the whole run shows, rather than the name of one event. */
static unsigned uses_of_run(const pyro_finder *finder)
{
    unsigned uses = finder->has_device_work ? PYRO_USE_DEVICE : 0;
    uses |= finder->result->has_stacks ? PYRO_USE_STACKS : 0;
    uses |= finder->context->windows_are_steps ? PYRO_USE_STEPS : 0;
    uses |= finder->result->serving_count ? PYRO_USE_SERVING : 0;
    /* Other devices than those of CUDA and HIP have no graphs that torch replays. */
    uses |= finder->has_device_work && !(finder->in_use & PYRO_USE_LAUNCHES) ? PYRO_USE_GRAPHS : 0;
    uses |= finder->in_use & PYRO_USE_OPTIMIZER ? PYRO_USE_TRAINING : 0;
    return uses;
}

bool pyro_find_in_use(pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    if (!find_named_uses(finder))
        return false;
    for (size_t i = 0; i < finder->op_count && !(finder->in_use & PYRO_USE_FUSED); i++)
        if (finder->context->joins->phase[finder->ops[i]] == PYRO_PHASE_OPTIMIZER)
            finder->in_use |= PYRO_USE_OPTIMIZER |
                              uses_of_update(pyro_event_name(trace, finder->ops[i]));
    finder->in_use |= uses_of_run(finder) | uses_of_chip(trace);
    finder->in_use |= uses_of_collectives(finder->result) | uses_of_layouts(finder);
    finder->in_use |= uses_of_copies(finder);
    finder->in_use |= uses_of_optimizer(finder) | uses_of_gaps(finder);
    finder->in_use |= finder->has_device_work && has_first_calls(finder) ? PYRO_USE_FIRST_CALLS : 0;
    return true;
}

const char *pyro_title_of(const pyro_finder *finder, const char *id, const char *title)
{
    for (size_t i = 0; !finder->has_device_work && i < sizeof titles / sizeof *titles; i++)
        if (!strcmp(titles[i].id, id))
            return titles[i].title;
    return title;
}

const char *pyro_advice_of(const pyro_finder *finder, const char *id, const char *advice)
{
    pyro_buf text = PYRO_BUF_INIT;
    int chosen = 0;
    for (size_t i = 0; i < sizeof advices / sizeof *advices && chosen < MOST_ADVICE; i++) {
        if (strcmp(advices[i].id, id) != 0 ||
            (finder->in_use & advices[i].needs) != advices[i].needs ||
            finder->in_use & advices[i].unless)
            continue;
        pyro_buf_addf(&text, "%s%s", chosen ? "; " : "", advices[i].text);
        chosen++;
    }
    if (chosen)
        advice = text.failed ? NULL
                             : pyro_arena_text(finder->context->arena, text.data, text.length);
    pyro_buf_free(&text);
    return advice;
}
