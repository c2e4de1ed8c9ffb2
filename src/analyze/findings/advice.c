/* Finds what a run uses already, and chooses advice that it does not follow yet. */
#include "analyze/findings/findings.h"
#include "base/containers/buf.h"

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
    {HOST, "scaled_dot_product", PYRO_USE_SDPA},
    {HOST | KERNEL, "flash_attn", PYRO_USE_SDPA},
    {HOST | KERNEL, "flash_fwd", PYRO_USE_SDPA},
    {KERNEL, "fmha", PYRO_USE_SDPA},
    {1u << PYRO_EVENT_MEMCPY, "Pinned", PYRO_USE_PINNED},
    {HOST, "_MultiProcessingDataLoaderIter", PYRO_USE_WORKERS},
    {KERNEL, "_nhwc_", PYRO_USE_CHANNELS_LAST},
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

bool pyro_find_in_use(pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    /* By name: whether a kernel or a host event with it was seen. */
    uint8_t *seen = pyro_arena_array(finder->context->scratch, trace->names.count + 1, 1);
    if (!seen)
        return false;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t name = trace->name[i];
        uint8_t category = trace->category[i], bit = 1u << (category % 8);
        if (name == PYRO_NO_ID || category > PYRO_EVENT_OTHER || seen[name] & bit)
            continue;
        seen[name] |= bit;
        finder->in_use |= uses_of(pyro_trace_text(trace, name), category);
    }
    for (size_t i = 0; i < trace->count; i++)
        if (finder->context->joins->phase[i] == PYRO_PHASE_OPTIMIZER &&
            trace->category[i] == PYRO_EVENT_OP)
            finder->in_use |= PYRO_USE_OPTIMIZER | uses_of_update(pyro_event_name(trace, i));
    finder->in_use |= finder->has_device_work ? PYRO_USE_DEVICE : 0;
    finder->in_use |= finder->result->has_stacks ? PYRO_USE_STACKS : 0;
    finder->in_use |= finder->context->windows_are_steps ? PYRO_USE_STEPS : 0;
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
