/*
 * The order of time over all tracks. Files hold the events of one kind on one thread or stream
 * nearly in order, so they are dealt out by track and kind, and the ordered runs that result, a few
 * dozen as a rule, are merged. Beyond the result this needs four bytes an event.
 */
#include "trace/joins_internal.h"

#include "base/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

typedef struct sorter {
    const pyro_trace *trace;
    uint32_t *from, *to;
    uint32_t *runs; /* where each begins, and the end of the last */
    size_t run_count, run_capacity;
} sorter;

/* Of two events with the same times on a thread the more general one encloses the other. */
static int nesting_rank(uint8_t category)
{
    switch (category) {
    case PYRO_EVENT_PYTHON:
        return 0;
    case PYRO_EVENT_ANNOTATION:
        return 1;
    case PYRO_EVENT_OTHER:
        return 2;
    case PYRO_EVENT_OP:
        return 3;
    case PYRO_EVENT_RUNTIME:
        return 4;
    case PYRO_EVENT_DRIVER:
        return 5;
    default:
        return 6;
    }
}

static bool tie_is_in_order(const pyro_trace *trace, uint32_t a, uint32_t b)
{
    if (trace->duration_ns[a] != trace->duration_ns[b])
        return trace->duration_ns[a] > trace->duration_ns[b];
    return nesting_rank(trace->category[a]) <= nesting_rank(trace->category[b]);
}

/* True unless b must come before a. */
static inline bool is_in_order(const pyro_trace *trace, uint32_t a, uint32_t b)
{
    int64_t start_a = trace->start_ns[a], start_b = trace->start_ns[b];
    return start_a != start_b ? start_a < start_b : tie_is_in_order(trace, a, b);
}

/* Events by track and category, in the order of the file within each. */
static bool deal_out(sorter *sort)
{
    const pyro_trace *trace = sort->trace;
    size_t pile_count = trace->track_count * PYRO_EVENT_CATEGORY_COUNT;
    uint32_t *piles = calloc(pile_count + 1, sizeof *piles);
    if (!piles)
        return false;
    for (size_t i = 0; i < trace->count; i++)
        piles[(size_t)trace->track[i] * PYRO_EVENT_CATEGORY_COUNT + trace->category[i] + 1]++;
    for (size_t i = 0; i < pile_count; i++)
        piles[i + 1] += piles[i];
    for (size_t i = 0; i < trace->count; i++) {
        size_t pile = (size_t)trace->track[i] * PYRO_EVENT_CATEGORY_COUNT + trace->category[i];
        sort->from[piles[pile]++] = (uint32_t)i;
    }
    free(piles);
    return true;
}

static bool add_run(sorter *sort, size_t start)
{
    if (!pyro_grow(&sort->runs, &sort->run_capacity, sort->run_count + 1, sizeof *sort->runs))
        return false;
    sort->runs[sort->run_count++] = (uint32_t)start;
    return true;
}

static bool find_runs(sorter *sort)
{
    if (!add_run(sort, 0))
        return false;
    for (size_t i = 1; i < sort->trace->count; i++)
        if (!is_in_order(sort->trace, sort->from[i - 1], sort->from[i]) && !add_run(sort, i))
            return false;
    return add_run(sort, sort->trace->count);
}

static void merge_two(const sorter *sort, size_t begin, size_t middle, size_t end)
{
    const pyro_trace *trace = sort->trace;
    const uint32_t *left = sort->from + begin, *left_end = sort->from + middle;
    const uint32_t *right = left_end, *right_end = sort->from + end;
    uint32_t *to = sort->to + begin;
    while (left < left_end && right < right_end)
        *to++ = is_in_order(trace, *left, *right) ? *left++ : *right++;
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    to += left_end - left;
    memcpy(to, right, (size_t)(right_end - right) * sizeof *to);
}

/* Merges neighbours until one run is left. */
static void merge_runs(sorter *sort)
{
    size_t runs = sort->run_count - 1;
    while (runs > 1) {
        size_t merged = 0;
        for (size_t i = 0; i < runs; i += 2) {
            size_t last = i + 2 <= runs ? i + 2 : runs;
            merge_two(sort, sort->runs[i], sort->runs[i + 1], sort->runs[last]);
            sort->runs[merged++] = sort->runs[i];
        }
        sort->runs[merged] = (uint32_t)sort->trace->count;
        runs = merged;
        uint32_t *swapped = sort->from;
        sort->from = sort->to;
        sort->to = swapped;
    }
}

int pyro_join_order(pyro_join_state *state)
{
    size_t count = state->trace->count;
    uint32_t *spare = malloc((count ? count : 1) * sizeof *spare);
    sorter sort = {.trace = state->trace, .from = state->joins->by_time, .to = spare};
    int status = PYRO_OK;
    if (!spare || !deal_out(&sort) || !find_runs(&sort)) {
        status = pyro_fail_memory(state->error);
        goto done;
    }
    merge_runs(&sort);
    if (sort.from != state->joins->by_time)
        memcpy(state->joins->by_time, sort.from, count * sizeof *spare);
done:
    free(spare);
    free(sort.runs);
    return status;
}
