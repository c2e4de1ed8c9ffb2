/*
 * Analyses steps: the device activity in each, as parts that add up to its span. The parts are
 * clipped to the step's window and are unions over all devices; device time by phase counts the
 * work that the step launched, whenever it ran.
 */
#include "analyze/window_sweep.h"
#include "base/error.h"

#include <string.h>

enum { COMPUTE, COMMUNICATION, COPY, HOST, LOADING, CLASS_COUNT };
#define BIT(class) (1u << (class))
#define DEVICE_BITS (BIT(COMPUTE) | BIT(COMMUNICATION) | BIT(COPY))

typedef struct steps_state {
    pyro_window_sweep windows;
    pyro_step_row *rows;
    const pyro_step *next_step; /* after the last row: one that was not requested; NULL: none */
    int64_t next_device_ns;     /* when its first work began; -1: none yet */
} steps_state;

static void add_part(void *user, uint32_t window, unsigned classes, int64_t part)
{
    pyro_step_row *row = &((steps_state *)user)->rows[window];
    if (classes & BIT(COMPUTE))
        row->compute_ns += part;
    if (classes & BIT(COMMUNICATION)) {
        row->communication_ns += part;
        if (!(classes & BIT(COMPUTE)))
            row->communication_exposed_ns += part;
    }
    if (classes & BIT(COPY)) {
        row->copy_ns += part;
        if (!(classes & (BIT(COMPUTE) | BIT(COMMUNICATION))))
            row->copy_exposed_ns += part;
    }
    if (classes & DEVICE_BITS)
        return;
    row->idle_ns += part;
    if (classes & BIT(HOST))
        row->host_only_ns += part;
    if (classes & BIT(LOADING))
        row->data_loading_ns += part;
}

/* Where only one step is requested, the next one still ends it on the device. */
static void find_next_step(steps_state *state, const pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    state->next_device_ns = -1;
    for (size_t i = 0; context->options->step >= 0 && i + 1 < joins->step_count; i++)
        if (joins->steps[i].number == context->options->step)
            state->next_step = &joins->steps[i + 1];
}

static int init_steps(void *data, pyro_analysis_context *context)
{
    steps_state *state = data;
    state->rows = pyro_arena_array(context->arena, context->window_count, sizeof *state->rows);
    if (!state->rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < context->window_count; i++) {
        const pyro_window *window = &context->spans[i];
        state->rows[i].name = window->name;
        state->rows[i].number = window->number;
        state->rows[i].start_ns = window->start_ns;
        state->rows[i].span_ns = window->end_ns - window->start_ns;
        state->rows[i].device_start_ns = state->rows[i].device_span_ns = -1;
        state->rows[i].device_lag_ns = -1;
    }
    find_next_step(state, context);
    pyro_window_sweep_init(&state->windows, context, CLASS_COUNT, add_part, state);
    return PYRO_OK;
}

/* The span is the last end until all work is known. Events come in the order of their starts. */
static void note_device_times(pyro_step_row *row, int64_t start_ns, int64_t end_ns,
                              int64_t host_end_ns)
{
    int64_t behind = end_ns - host_end_ns;
    if (row->device_start_ns < 0)
        row->device_start_ns = start_ns;
    if (end_ns - row->device_start_ns > row->device_span_ns)
        row->device_span_ns = end_ns - row->device_start_ns;
    if (behind > row->device_lag_ns)
        row->device_lag_ns = behind > 0 ? behind : 0;
    if (row->device_lag_ns < 0)
        row->device_lag_ns = 0;
}

static void note_next_step(steps_state *state, int64_t launch_ns, int64_t start_ns)
{
    const pyro_step *next = state->next_step;
    if (next && state->next_device_ns < 0 && launch_ns >= next->start_ns &&
        launch_ns < next->end_ns)
        state->next_device_ns = start_ns;
}

/* A step ends on the device where the next one begins. */
static void finish_device_times(const steps_state *state, size_t count)
{
    pyro_step_row *rows = state->rows, *last = &rows[count - 1];
    if (last->device_start_ns >= 0 && state->next_device_ns > last->device_start_ns)
        last->device_span_ns = state->next_device_ns - last->device_start_ns;
    for (size_t i = 0; i + 1 < count; i++)
        if (rows[i].device_start_ns >= 0 && rows[i + 1].device_start_ns > rows[i].device_start_ns)
            rows[i].device_span_ns = rows[i + 1].device_start_ns - rows[i].device_start_ns;
}

static void count_launched(steps_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t window = pyro_context_window_at(context, pyro_context_launch_ns(context, event));
    if (window == PYRO_NO_EVENT) {
        note_next_step(state, pyro_context_launch_ns(context, event), trace->start_ns[event]);
        return;
    }
    pyro_step_row *row = &state->rows[window];
    int64_t *by_phase[PYRO_PHASE_COUNT] = {&row->other_ns, &row->forward_ns, &row->backward_ns,
                                           &row->optimizer_ns};
    int64_t *phase = by_phase[context->joins->phase[event] % PYRO_PHASE_COUNT];
    *phase = pyro_add_ns(*phase, trace->duration_ns[event]);
    row->device_total_ns = pyro_add_ns(row->device_total_ns, trace->duration_ns[event]);
    row->kernels += trace->category[event] == PYRO_EVENT_KERNEL;
    note_device_times(row, trace->start_ns[event], pyro_event_end_ns(trace, event),
                      context->windows[window].end_ns);
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    steps_state *state = data;
    const pyro_trace *trace = context->trace;
    uint8_t category = trace->category[event];
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    if (pyro_event_is_device_work(category)) {
        unsigned class = COMPUTE;
        if (category == PYRO_EVENT_MEMCPY)
            class = COPY;
        else if (category == PYRO_EVENT_KERNEL &&
                 pyro_context_traits(context, event) & PYRO_TRAIT_COLLECTIVE)
            class = COMMUNICATION;
        pyro_sweep_cover(&state->windows.sweep, class, start, end);
        count_launched(state, context, event);
        return PYRO_OK;
    }
    uint16_t traits = pyro_context_traits(context, event);
    if (category == PYRO_EVENT_OP && !(traits & PYRO_TRAIT_STEP))
        pyro_sweep_cover(&state->windows.sweep, HOST, start, end);
    if (traits & PYRO_TRAIT_LOADER)
        pyro_sweep_cover(&state->windows.sweep, LOADING, start, end);
    return PYRO_OK;
}

static int finish_steps(void *data, pyro_analysis_context *context)
{
    steps_state *state = data;
    pyro_window_sweep_finish(&state->windows);
    finish_device_times(state, context->window_count);
    context->result->steps = state->rows;
    context->result->step_count = context->window_count;
    return PYRO_OK;
}

const pyro_analyzer pyro_analyze_steps = {
    .name = "steps",
    .state_size = sizeof(steps_state),
    .init = init_steps,
    .event = add_event,
    .finish = finish_steps,
    .categories = 1u << PYRO_EVENT_OP | 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY |
                  1u << PYRO_EVENT_MEMSET,
    .categories_by_trait = 1u << PYRO_EVENT_ANNOTATION | 1u << PYRO_EVENT_PYTHON,
    .traits = PYRO_TRAIT_LOADER,
    .whole_trace = true,
};
