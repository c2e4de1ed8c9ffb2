/*
 * Finds gaps, the idle times between the first and last work of a device; why they occurred, and
 * what the thread that launched the next work did meanwhile (gap_cause.c).
 */
#include "analyze/device/gaps.h"
#include "analyze/intervals.h"
#include "base/error.h"

#include <stdlib.h>

#define MOST_GAPS 1000
/* Gaps of a device do not overlap, so that all gaps of a few take a few passes over the events.
 * With more devices a few of the longest may take as much, and all others together, by their
 * lengths. */
#define FEW 8
#define EVENTS_ANYWAY 1000

typedef struct device_state {
    int64_t until_ns; /* end of its work so far */
    bool begun;
} device_state;

typedef struct gap_time {
    int64_t start_ns;
    size_t index;
} gap_time;

typedef struct gaps_state {
    device_state *devices;
    pyro_gap *kept; /* a heap, the shortest on top; then the longest comes first */
    size_t kept_count;
    gap_time *by_time; /* the kept gaps in order of time */
    int64_t total_ns[3], kept_ns;
    pyro_gap_row *rows; /* of the kept gaps */
} gaps_state;

/* Of equally long gaps the later one is dropped, so that the result does not depend on the heap. */
static bool gives_way(const pyro_gap *a, const pyro_gap *b)
{
    int64_t left = a->end_ns - a->start_ns, right = b->end_ns - b->start_ns;
    if (left != right)
        return left < right;
    return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->device > b->device;
}

static int compare_gaps(const void *a, const void *b)
{
    return gives_way(a, b) ? 1 : gives_way(b, a) ? -1 : 0;
}

static void sift_down(pyro_gap *heap, size_t count, size_t at)
{
    for (;;) {
        size_t first = at, left = 2 * at + 1, right = left + 1;
        if (left < count && gives_way(&heap[left], &heap[first]))
            first = left;
        if (right < count && gives_way(&heap[right], &heap[first]))
            first = right;
        if (first == at)
            return;
        pyro_gap swap = heap[at];
        heap[at] = heap[first];
        heap[first] = swap;
        at = first;
    }
}

static void keep_gap(gaps_state *state, const pyro_gap *gap)
{
    if (state->kept_count == MOST_GAPS) {
        if (!gives_way(&state->kept[0], gap))
            return;
        state->kept[0] = *gap;
        sift_down(state->kept, MOST_GAPS, 0);
        return;
    }
    size_t at = state->kept_count++;
    while (at && gives_way(gap, &state->kept[(at - 1) / 2])) {
        state->kept[at] = state->kept[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    state->kept[at] = *gap;
}

/* The host was late when it launched the next work after the device became idle. */
static pyro_gap_kind classify_gap(const pyro_analysis_context *context, int64_t start_ns,
                                  uint32_t next)
{
    uint32_t launch = pyro_context_latest_launch(context, next);
    if (launch == PYRO_NO_EVENT)
        return PYRO_GAP_OTHER;
    return context->trace->start_ns[launch] > start_ns ? PYRO_GAP_HOST_WAIT : PYRO_GAP_KERNEL_WAIT;
}

static bool is_wanted(const pyro_analysis_context *context, const pyro_gap *gap)
{
    pyro_phase phase = context->options->phase;
    if (phase != PYRO_PHASE_OTHER && context->joins->phase[gap->next] != phase)
        return false;
    return context->options->step < 0 || gap->window != PYRO_NO_EVENT;
}

static int init_gaps(void *data, pyro_analysis_context *context)
{
    gaps_state *state = data;
    size_t devices = context->device_count ? context->device_count : 1;
    state->devices = pyro_arena_array(context->scratch, devices, sizeof *state->devices);
    state->kept = pyro_arena_array(context->scratch, MOST_GAPS, sizeof *state->kept);
    state->by_time = pyro_arena_array(context->scratch, MOST_GAPS, sizeof *state->by_time);
    return state->devices && state->kept && state->by_time ? PYRO_OK
                                                           : pyro_fail_memory(context->error);
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    gaps_state *state = data;
    const pyro_trace *trace = context->trace;
    uint16_t device = context->device_of_track[trace->track[event]];
    device_state *work = &state->devices[device];
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    if (work->begun && start > work->until_ns) {
        pyro_gap gap = {.start_ns = work->until_ns, .end_ns = start, .next = event};
        gap.device = device;
        gap.kind = classify_gap(context, gap.start_ns, event);
        gap.window = pyro_context_span_at(context, gap.start_ns + (start - gap.start_ns) / 2);
        if (is_wanted(context, &gap)) {
            state->total_ns[gap.kind] = pyro_add_ns(state->total_ns[gap.kind],
                                                    start - gap.start_ns);
            keep_gap(state, &gap);
        }
    }
    if (!work->begun || end > work->until_ns)
        work->until_ns = end;
    work->begun = true;
    return PYRO_OK;
}

static int compare_times(const void *left, const void *right)
{
    const gap_time *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Gaps are explained in order of time, because events of the same time share the caches. */
static void sort_by_time(gaps_state *state)
{
    for (size_t i = 0; i < state->kept_count; i++)
        state->by_time[i] = (gap_time){state->kept[i].start_ns, i};
    qsort(state->by_time, state->kept_count, sizeof *state->by_time, compare_times);
}

static int finish_gaps(void *data, pyro_analysis_context *context)
{
    gaps_state *state = data;
    size_t count = state->kept_count;
    state->rows = pyro_arena_array(context->arena, count, sizeof *state->rows);
    if (!state->rows)
        return pyro_fail_memory(context->error);
    qsort(state->kept, count, sizeof *state->kept, compare_gaps);
    sort_by_time(state);
    for (int kind = 0; kind < 3; kind++)
        context->result->gap_total_ns[kind] = state->total_ns[kind];
    for (size_t i = 0; i < count; i++)
        state->kept_ns = pyro_add_ns(state->kept_ns,
                                     state->kept[i].end_ns - state->kept[i].start_ns);
    return PYRO_OK;
}

static size_t count_gaps(void *data)
{
    return ((gaps_state *)data)->kept_count;
}

/* How many events the search in a gap may visit, to bound the total time. */
static size_t most_events(const gaps_state *state, const pyro_analysis_context *context,
                          size_t index)
{
    size_t count = context->trace->count;
    const pyro_gap *gap = &state->kept[index];
    if (context->device_count <= FEW || index < FEW)
        return count;
    double share = (double)(gap->end_ns - gap->start_ns) / (double)state->kept_ns;
    return EVENTS_ANYWAY + (size_t)(share * FEW * (double)count);
}

static int explain_gap(void *data, pyro_analysis_context *context, size_t item)
{
    gaps_state *state = data;
    size_t index = state->by_time[item].index;
    const pyro_gap *gap = &state->kept[index];
    pyro_gap_row *row = &state->rows[index];
    *row = (pyro_gap_row){.start_ns = gap->start_ns,
                          .duration_ns = gap->end_ns - gap->start_ns,
                          .device = context->devices[gap->device],
                          .kind = gap->kind,
                          .step = -1};
    if (gap->window != PYRO_NO_EVENT)
        row->step = context->windows[gap->window].number;
    if (context->options->without_gap_causes && !context->filter) {
        row->op = row->layer = row->line = row->sync = "";
        return PYRO_OK;
    }
    return pyro_gap_explain(row, context, gap, most_events(state, context, index));
}

static int show_gaps(void *data, pyro_analysis_context *context)
{
    gaps_state *state = data;
    size_t shown = 0;
    for (size_t i = 0; i < state->kept_count; i++) {
        const pyro_gap_row *row = &state->rows[i];
        if (pyro_context_shows(context, row->op) || pyro_context_shows(context, row->layer))
            state->rows[shown++] = *row;
    }
    context->result->gaps = state->rows;
    context->result->gap_count = shown;
    return PYRO_OK;
}

const pyro_analyzer pyro_analyze_gaps = {
    .name = "gaps",
    .state_size = sizeof(gaps_state),
    .init = init_gaps,
    .event = add_event,
    .finish = finish_gaps,
    .count_items = count_gaps,
    .do_item = explain_gap,
    .conclude = show_gaps,
    .categories = 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY | 1u << PYRO_EVENT_MEMSET,
    .whole_trace = true,
};
