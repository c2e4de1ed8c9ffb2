/*
 * Analyses training steps: what the time of each was spent on, and how much work it did. Parts are
 * disjoint and add up to the step, whether a device or the host did the work.
 */
#include "analyze/window_sweep.h"
#include "base/error.h"
#include "graph/dtype.h"

#include <string.h>

enum { COMPUTE, COMMUNICATION, FORWARD, BACKWARD, OPTIMIZER, LOADING, OP, CLASS_COUNT };
#define BIT(class) (1u << (class))

typedef struct training_state {
    pyro_window_sweep windows;
    pyro_training_step *rows;
    int64_t *flops_of_dtype; /* PYRO_DTYPE_COUNT a row */
    uint8_t *holds; /* by event, bits: something in it waits for other processes */
    bool on_device;
} training_state;

/* Adds to the phase, and on the host to its ops or to the time outside ops. */
static void add_phase(bool is_host, pyro_training_step *row, int64_t *phase_ns, int64_t *op_ns,
                      unsigned classes, int64_t part_ns)
{
    *phase_ns += part_ns;
    if (is_host)
        *(classes & BIT(OP) ? op_ns : &row->python_ns) += part_ns;
}

static void add_part(void *user, uint32_t window, unsigned classes, int64_t part_ns)
{
    const training_state *state = user;
    pyro_training_step *row = &state->rows[window];
    bool is_host = !state->on_device;
    if (classes & BIT(COMMUNICATION))
        row->communication_total_ns += part_ns;
    if (classes & BIT(COMMUNICATION) && !(classes & BIT(COMPUTE)))
        row->communication_ns += part_ns;
    else if (classes & BIT(BACKWARD))
        add_phase(is_host, row, &row->backward_ns, &row->backward_op_ns, classes, part_ns);
    else if (classes & BIT(FORWARD))
        add_phase(is_host, row, &row->forward_ns, &row->forward_op_ns, classes, part_ns);
    else if (classes & BIT(OPTIMIZER))
        add_phase(is_host, row, &row->optimizer_ns, &row->optimizer_op_ns, classes, part_ns);
    else if (classes & BIT(LOADING))
        row->data_ns += part_ns;
    else
        add_phase(is_host, row, &row->other_ns, &row->other_op_ns, classes, part_ns);
}

static bool is_held(const training_state *state, uint32_t event)
{
    return state->holds[event >> 3] & 1u << (event & 7);
}

/* FSDP waits for its gathers in separate ranges, which do not name the process group. */
static bool may_wait(pyro_analysis_context *context, uint32_t event)
{
    uint8_t category = context->trace->category[event];
    if (category != PYRO_EVENT_OP && category != PYRO_EVENT_ANNOTATION)
        return false;
    return pyro_context_traits(context, event) & PYRO_TRAIT_COMMUNICATION ||
           (category == PYRO_EVENT_ANNOTATION &&
            strncmp(pyro_event_name(context->trace, event), "FSDP::", 6) == 0);
}

static size_t next_range(const pyro_trace *trace, size_t from)
{
    return pyro_trace_next_of(trace, from, PYRO_EVENT_OP, PYRO_EVENT_ANNOTATION);
}

/* An op around a wait does not count as compute; the ops inside it do. */
static void mark_holders(training_state *state, pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    for (size_t event = next_range(trace, 0); event < trace->count;
         event = next_range(trace, event + 1)) {
        uint32_t holder = (uint32_t)event;
        if (!may_wait(context, holder))
            continue;
        while (holder != PYRO_NO_EVENT && !is_held(state, holder)) {
            state->holds[holder >> 3] |= (uint8_t)(1u << (holder & 7));
            holder = context->joins->parent[holder];
        }
    }
}

static int init_training(void *data, pyro_analysis_context *context)
{
    training_state *state = data;
    size_t count = context->window_count;
    state->rows = pyro_arena_array(context->arena, count, sizeof *state->rows);
    state->flops_of_dtype = pyro_arena_array(context->scratch, count * PYRO_DTYPE_COUNT,
                                             sizeof *state->flops_of_dtype);
    state->holds = pyro_arena_alloc(context->scratch, context->trace->count / 8 + 1);
    if (!state->rows || !state->flops_of_dtype || !state->holds)
        return pyro_fail_memory(context->error);
    state->on_device = context->category_count[PYRO_EVENT_KERNEL] > 0;
    int64_t none = state->on_device ? -1 : 0;
    for (size_t i = 0; i < count; i++) {
        const pyro_window *window = &context->spans[i];
        state->rows[i] = (pyro_training_step){.number = window->number,
                                              .start_ns = window->start_ns,
                                              .span_ns = window->end_ns - window->start_ns,
                                              .forward_op_ns = none,
                                              .backward_op_ns = none,
                                              .optimizer_op_ns = none,
                                              .other_op_ns = none,
                                              .python_ns = none,
                                              .flops = -1,
                                              .torch_flops = -1,
                                              .dtype = "",
                                              .flops_per_s = -1,
                                              .peak_flops_per_s = -1};
    }
    if (!state->on_device)
        mark_holders(state, context);
    pyro_window_sweep_init(&state->windows, context, CLASS_COUNT, add_part, state);
    return PYRO_OK;
}

static void add_work(int64_t *sum, int64_t amount)
{
    if (amount >= 0)
        *sum = pyro_add_ns(*sum > 0 ? *sum : 0, amount);
}

static void count_work(training_state *state, pyro_analysis_context *context, uint32_t event)
{
    uint32_t detail = context->trace->detail[event];
    if (detail == PYRO_NO_ID)
        return;
    const pyro_op_kind *price = pyro_context_price(context, detail);
    if (price->flops < 0)
        return;
    uint32_t window = pyro_context_window_at(context, context->trace->start_ns[event]);
    if (window == PYRO_NO_EVENT)
        return;
    add_work(&state->rows[window].flops, price->flops);
    add_work(&state->rows[window].torch_flops, price->torch_flops);
    if (price->dtype < PYRO_DTYPE_COUNT)
        add_work(&state->flops_of_dtype[window * PYRO_DTYPE_COUNT + price->dtype], price->flops);
}

static void cover(training_state *state, unsigned class, const pyro_trace *trace, uint32_t event)
{
    pyro_sweep_cover(&state->windows.sweep, class, trace->start_ns[event],
                     pyro_event_end_ns(trace, event));
}

static void cover_phase(training_state *state, pyro_analysis_context *context, uint32_t event)
{
    static const unsigned classes[PYRO_PHASE_COUNT] = {
        [PYRO_PHASE_FORWARD] = FORWARD,
        [PYRO_PHASE_BACKWARD] = BACKWARD,
        [PYRO_PHASE_OPTIMIZER] = OPTIMIZER,
    };
    uint8_t phase = context->joins->phase[event];
    if (phase != PYRO_PHASE_OTHER && phase < PYRO_PHASE_COUNT)
        cover(state, classes[phase], context->trace, event);
}

static void add_host(training_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint8_t category = trace->category[event];
    uint16_t traits = pyro_context_traits(context, event);
    if (traits & PYRO_TRAIT_LOADER)
        cover(state, LOADING, trace, event);
    if (state->on_device || traits & PYRO_TRAIT_STEP)
        return;
    if (traits & PYRO_TRAIT_COMMUNICATION) {
        cover(state, COMMUNICATION, trace, event);
        return;
    }
    if (category == PYRO_EVENT_OP)
        cover(state, OP, trace, event);
    if (category == PYRO_EVENT_OP && !is_held(state, event))
        cover(state, COMPUTE, trace, event);
    cover_phase(state, context, event);
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    training_state *state = data;
    const pyro_trace *trace = context->trace;
    uint8_t category = trace->category[event];
    if (category == PYRO_EVENT_OP)
        count_work(state, context, event);
    if (!pyro_event_is_device_work(category)) {
        add_host(state, context, event);
    } else if (category == PYRO_EVENT_KERNEL &&
               pyro_context_traits(context, event) & PYRO_TRAIT_COLLECTIVE) {
        cover(state, COMMUNICATION, trace, event);
    } else {
        cover(state, COMPUTE, trace, event);
        cover_phase(state, context, event);
    }
    return PYRO_OK;
}

static void rate_row(training_state *state, const pyro_analysis_context *context, size_t index)
{
    pyro_training_step *row = &state->rows[index];
    const int64_t *flops = &state->flops_of_dtype[index * PYRO_DTYPE_COUNT];
    size_t most = 0;
    for (size_t d = 1; d < PYRO_DTYPE_COUNT; d++)
        if (flops[d] > flops[most])
            most = d;
    if (flops[most] <= 0 || row->span_ns <= 0)
        return;
    row->dtype = pyro_dtype_name((pyro_dtype)most);
    row->flops_per_s = (double)row->flops / ((double)row->span_ns / 1e9);
    double peak = pyro_context_peak(context, state->on_device, (uint8_t)most);
    if (peak > 0)
        row->peak_flops_per_s = peak;
}

static int finish_training(void *data, pyro_analysis_context *context)
{
    training_state *state = data;
    pyro_window_sweep_finish(&state->windows);
    for (size_t i = 0; i < context->window_count; i++)
        rate_row(state, context, i);
    context->result->training = state->rows;
    context->result->training_count = context->window_count;
    return PYRO_OK;
}

const pyro_analyzer pyro_analyze_training = {
    .name = "training",
    .state_size = sizeof(training_state),
    .init = init_training,
    .event = add_event,
    .finish = finish_training,
    .categories = 1u << PYRO_EVENT_OP | 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY |
                  1u << PYRO_EVENT_MEMSET,
    .categories_by_trait = 1u << PYRO_EVENT_ANNOTATION | 1u << PYRO_EVENT_PYTHON,
    .traits = PYRO_TRAIT_LOADER,
    .categories_on_host = 1u << PYRO_EVENT_ANNOTATION | 1u << PYRO_EVENT_PYTHON,
    .whole_trace = true,
};
