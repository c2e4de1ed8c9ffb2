/*
 * Analyses communication: collectives by kind, group, element type and size, their bandwidth, and
 * their exposed time, which no compute overlaps.
 */
#include "analyze/analyze.h"
#include "analyze/device/collective.h"
#include "analyze/device/collective_event.h"
#include "analyze/intervals.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A collective that is under way. */
typedef struct pending {
    int64_t end_ns, duration_ns;
    int64_t compute_ns; /* compute before its start */
    uint32_t row;
} pending;

typedef struct communication_state {
    int64_t compute_ns, compute_until_ns; /* union of compute so far, and its end */
    pending *heap;                        /* the first to end on top */
    size_t pending_count, pending_capacity;
    pyro_collective_finder finder;
    pyro_collective_set set;
} communication_state;

static int init_communication(void *data, pyro_analysis_context *context)
{
    communication_state *state = data;
    state->compute_until_ns = INT64_MIN;
    if (!pyro_collective_finder_init(&state->finder, context->trace))
        return pyro_fail_memory(context->error);
    return PYRO_OK;
}

static bool push_pending(communication_state *state, pending entry)
{
    if (!pyro_grow(&state->heap, &state->pending_capacity, state->pending_count + 1,
                   sizeof *state->heap))
        return false;
    size_t at = state->pending_count++;
    while (at && entry.end_ns < state->heap[(at - 1) / 2].end_ns) {
        state->heap[at] = state->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    state->heap[at] = entry;
    return true;
}

static pending pop_pending(communication_state *state)
{
    pending top = state->heap[0], last = state->heap[--state->pending_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < state->pending_count) {
        if (child + 1 < state->pending_count &&
            state->heap[child + 1].end_ns < state->heap[child].end_ns)
            child++;
        if (last.end_ns <= state->heap[child].end_ns)
            break;
        state->heap[at] = state->heap[child];
        at = child;
    }
    state->heap[at] = last;
    return top;
}

/* Compute before a time that is not earlier than any start so far. */
static int64_t compute_before(const communication_state *state, int64_t time_ns)
{
    if (state->compute_until_ns <= time_ns)
        return state->compute_ns;
    return state->compute_ns - (state->compute_until_ns - time_ns);
}

static void end_pending(communication_state *state, int64_t until_ns)
{
    while (state->pending_count && state->heap[0].end_ns <= until_ns) {
        pending ended = pop_pending(state);
        int64_t covered = compute_before(state, ended.end_ns) - ended.compute_ns;
        pyro_collective_row *row = &state->set.rows[ended.row];
        row->exposed_ns = pyro_add_ns(row->exposed_ns, ended.duration_ns - covered);
    }
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    communication_state *state = data;
    const pyro_trace *trace = context->trace;
    int64_t start = trace->start_ns[event], end = pyro_event_end_ns(trace, event);
    end_pending(state, start);
    if (trace->category[event] == PYRO_EVENT_MEMSET ||
        !(pyro_context_traits(context, event) & PYRO_TRAIT_COLLECTIVE)) {
        int64_t from = start > state->compute_until_ns ? start : state->compute_until_ns;
        if (end > from) {
            state->compute_ns += end - from;
            state->compute_until_ns = end;
        }
        return PYRO_OK;
    }
    if (!pyro_context_wants(context, event))
        return PYRO_OK;
    pyro_collective_row wanted = pyro_collective_describe(&state->finder, context, event, NULL);
    pending entry = {.end_ns = end,
                     .duration_ns = end - start,
                     .compute_ns = compute_before(state, start),
                     .row = pyro_collective_set_find(&state->set, &wanted)};
    if (entry.row == PYRO_NO_EVENT || !push_pending(state, entry))
        return pyro_fail_memory(context->error);
    state->set.rows[entry.row].calls++;
    state->set.rows[entry.row].total_ns = pyro_add_ns(state->set.rows[entry.row].total_ns,
                                                      end - start);
    return PYRO_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_collective_row *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    int order = strcmp(left->kind, right->kind);
    if (!order)
        order = strcmp(left->group, right->group);
    if (!order)
        order = strcmp(left->dtype, right->dtype);
    if (order || left->message_bytes == right->message_bytes)
        return order;
    return left->message_bytes < right->message_bytes ? 1 : -1;
}

static void finish_row(pyro_collective_row *row)
{
    double factor = pyro_collective_bus_factor(row->kind, row->group_size);
    if (__builtin_mul_overflow(row->message_bytes, row->calls, &row->bytes) ||
        row->message_bytes < 0)
        row->bytes = -1;
    row->bus_gb_per_s = -1;
    /* bytes per nanosecond are gigabytes per second */
    if (row->bytes >= 0 && factor >= 0 && row->total_ns > 0)
        row->bus_gb_per_s = (double)row->bytes * factor / (double)row->total_ns;
}

static int finish_communication(void *data, pyro_analysis_context *context)
{
    communication_state *state = data;
    size_t shown = 0;
    pyro_collective_row *rows = pyro_arena_array(context->arena, state->set.count, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    end_pending(state, INT64_MAX);
    for (size_t i = 0; i < state->set.count; i++) {
        finish_row(&state->set.rows[i]);
        if (pyro_context_shows(context, state->set.rows[i].kind))
            rows[shown++] = state->set.rows[i];
    }
    qsort(rows, shown, sizeof *rows, compare_rows);
    context->result->collectives = rows;
    context->result->collective_count = shown;
    return PYRO_OK;
}

static void clear_communication(void *data)
{
    communication_state *state = data;
    pyro_collective_finder_free(&state->finder);
    pyro_collective_set_free(&state->set);
    free(state->heap);
}

const pyro_analyzer pyro_analyze_communication = {
    .name = "communication",
    .state_size = sizeof(communication_state),
    .init = init_communication,
    .event = add_event,
    .finish = finish_communication,
    .clear = clear_communication,
    .categories = 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMSET,
    .whole_trace = true,
};
