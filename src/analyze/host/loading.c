/* Analyses data loading: time in which the program waited for its next batch and no device worked.
 * */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "base/error.h"

enum { LOADING, DEVICE, CLASS_COUNT };

typedef struct loading_state {
    pyro_sweep sweep;
    int64_t *until_ns; /* by track: end of the loader call that is open */
} loading_state;

static void add_segment(void *user, int64_t start_ns, int64_t end_ns, unsigned classes)
{
    pyro_data_loading *loading = user;
    if (classes == 1u << LOADING)
        loading->uncovered_ns += end_ns - start_ns;
}

static int init_loading(void *data, pyro_analysis_context *context)
{
    loading_state *state = data;
    size_t tracks = context->trace->track_count;
    state->until_ns = pyro_arena_array(context->scratch, tracks, sizeof(int64_t));
    if (!state->until_ns)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < tracks; i++)
        state->until_ns[i] = INT64_MIN;
    pyro_sweep_init(&state->sweep, CLASS_COUNT, context->result->start_ns, add_segment,
                    &context->result->data_loading);
    return PYRO_OK;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    loading_state *state = data;
    const pyro_trace *trace = context->trace;
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    if (pyro_event_is_device_work(trace->category[event])) {
        pyro_sweep_cover(&state->sweep, DEVICE, start, end);
        return PYRO_OK;
    }
    /* Frame, annotation and op of one call lie inside each other: the outermost counts. */
    int64_t *until = &state->until_ns[trace->track[event]];
    if (start < *until || !pyro_context_wants(context, event))
        return PYRO_OK;
    pyro_data_loading *loading = &context->result->data_loading;
    *until = end;
    loading->calls++;
    loading->total_ns = pyro_add_ns(loading->total_ns, trace->duration_ns[event]);
    pyro_sweep_cover(&state->sweep, LOADING, start, end);
    return PYRO_OK;
}

static int finish_loading(void *data, pyro_analysis_context *context)
{
    loading_state *state = data;
    const pyro_analysis *result = context->result;
    int64_t span = 0, uncovered = 0;
    pyro_sweep_to(&state->sweep, state->sweep.until_ns[LOADING]);
    for (size_t i = 0; i < result->step_count; i++) {
        span = pyro_add_ns(span, result->steps[i].span_ns);
        uncovered = pyro_add_ns(uncovered, result->steps[i].data_loading_ns);
    }
    if (span > 0)
        context->result->data_loading.share_of_steps = (double)uncovered / (double)span;
    return PYRO_OK;
}

const pyro_analyzer pyro_analyze_loading = {
    .name = "loading",
    .state_size = sizeof(loading_state),
    .init = init_loading,
    .event = add_event,
    .finish = finish_loading,
    .categories = 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET,
    .categories_by_trait = 1u << PYRO_EVENT_OP | 1u << PYRO_EVENT_ANNOTATION |
                           1u << PYRO_EVENT_PYTHON,
    .traits = PYRO_TRAIT_LOADER,
    .whole_trace = true,
};
