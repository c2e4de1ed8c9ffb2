/*
 * Sorts the events of all tracks by time. Files hold the events of one kind on one thread or stream
 * nearly in order, so the sort distributes them by track and kind and merges the resulting ordered
 * runs, usually a few dozen. Several threads each merge a separate time range. Besides the result
 * this needs four bytes per event.
 */
#include "trace/joins/internal.h"

#include "base/error.h"
#include "base/parallel.h"
#include <stdlib.h>
#include <string.h>

/* Tables by track or run are no larger than the events, unless they are small. */
#define SMALL_COUNT 65536
/* Samples per part from which the parts' time ranges are chosen. */
#define SAMPLES_A_PART 256

typedef struct sorter {
    const pyro_trace *trace;
    uint32_t *from, *to;
    unsigned parts;
    uint32_t *piles; /* by part: number of its events for each pile, then where they go */
    size_t pile_count;
    uint32_t *runs; /* start of each run, and the end of the last */
    size_t run_count, found_runs[PYRO_MOST_WORKERS];
    uint32_t *cuts; /* by run: where in `from` its events of each part begin, and their end */
    uint32_t *pieces; /* by part: where its piece of each run begins in `to`, and the end */
    size_t part_begin[PYRO_MOST_WORKERS + 1]; /* of its output */
} sorter;

/* Of two events with equal times on a thread, the more general one encloses the other. */
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

/* False if b must come before a. */
static inline bool is_in_order(const pyro_trace *trace, uint32_t a, uint32_t b)
{
    int64_t start_a = trace->start_ns[a], start_b = trace->start_ns[b];
    return start_a != start_b ? start_a < start_b : tie_is_in_order(trace, a, b);
}

static size_t pile_of(const sorter *sort, size_t event)
{
    return (size_t)sort->trace->track[event] * PYRO_EVENT_CATEGORY_COUNT +
           sort->trace->category[event];
}

static void count_piles(void *data, unsigned part)
{
    const sorter *sort = data;
    uint32_t *piles = sort->piles + part * sort->pile_count;
    size_t end = pyro_part_begin(sort->trace->count, part + 1, sort->parts);
    for (size_t i = pyro_part_begin(sort->trace->count, part, sort->parts); i < end; i++)
        piles[pile_of(sort, i)]++;
}

static void fill_piles(void *data, unsigned part)
{
    const sorter *sort = data;
    uint32_t *piles = sort->piles + part * sort->pile_count;
    size_t end = pyro_part_begin(sort->trace->count, part + 1, sort->parts);
    for (size_t i = pyro_part_begin(sort->trace->count, part, sort->parts); i < end; i++)
        sort->from[piles[pile_of(sort, i)]++] = (uint32_t)i;
}

/* Distributes events by track and category, in file order within each. */
static bool deal_out(sorter *sort)
{
    uint32_t begin = 0;
    sort->pile_count = sort->trace->track_count * PYRO_EVENT_CATEGORY_COUNT;
    if (sort->pile_count * sort->parts > sort->trace->count + SMALL_COUNT)
        sort->parts = 1;
    sort->piles = calloc(sort->parts * sort->pile_count + 1, sizeof *sort->piles);
    if (!sort->piles)
        return false;
    pyro_run_parts(count_piles, sort, sort->parts);
    for (size_t pile = 0; pile < sort->pile_count; pile++) {
        for (unsigned part = 0; part < sort->parts; part++) {
            uint32_t *at = &sort->piles[part * sort->pile_count + pile], count = *at;
            *at = begin;
            begin += count;
        }
    }
    pyro_run_parts(fill_piles, sort, sort->parts);
    return true;
}

/* Finds starts of runs in a part: events that do not follow the one before. Notes them in `to`. */
static void find_runs_of_part(void *data, unsigned part)
{
    sorter *sort = data;
    size_t begin = pyro_part_begin(sort->trace->count, part, sort->parts);
    size_t end = pyro_part_begin(sort->trace->count, part + 1, sort->parts);
    uint32_t *found = sort->to + begin;
    for (size_t i = begin ? begin : 1; i < end; i++)
        if (!is_in_order(sort->trace, sort->from[i - 1], sort->from[i]))
            *found++ = (uint32_t)i;
    sort->found_runs[part] = (size_t)(found - (sort->to + begin));
}

static bool find_runs(sorter *sort)
{
    pyro_run_parts(find_runs_of_part, sort, sort->parts);
    sort->run_count = 1;
    for (unsigned part = 0; part < sort->parts; part++)
        sort->run_count += sort->found_runs[part];
    uint32_t *run = malloc((sort->run_count + 1) * sizeof *run);
    sort->runs = run;
    if (!run)
        return false;
    *run++ = 0;
    for (unsigned part = 0; part < sort->parts; part++) {
        size_t begin = pyro_part_begin(sort->trace->count, part, sort->parts);
        memcpy(run, sort->to + begin, sort->found_runs[part] * sizeof *run);
        run += sort->found_runs[part];
    }
    *run = (uint32_t)sort->trace->count;
    return true;
}

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The first event of a run that starts at `time_ns` or later. */
static uint32_t find_in_run(const sorter *sort, size_t run, int64_t time_ns)
{
    uint32_t low = sort->runs[run], high = sort->runs[run + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sort->trace->start_ns[sort->from[middle]] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Cuts all runs at the same times, so that parts can be merged independently. Events that start
 * together stay in one part, which keeps their order.
 */
static bool cut_runs(sorter *sort)
{
    int64_t samples[PYRO_MOST_WORKERS * SAMPLES_A_PART];
    size_t count = sort->trace->count, sample_count = (size_t)sort->parts * SAMPLES_A_PART;
    if (sort->run_count * (sort->parts + 1) > count + SMALL_COUNT)
        sort->parts = 1;
    size_t width = sort->parts + 1;
    sort->cuts = malloc(sort->run_count * width * sizeof *sort->cuts);
    sort->pieces = malloc((sort->run_count + 1) * sort->parts * sizeof *sort->pieces);
    if (!sort->cuts || !sort->pieces)
        return false;
    for (size_t i = 0; sort->parts > 1 && i < sample_count; i++)
        samples[i] = sort->trace->start_ns[count * i / sample_count];
    if (sort->parts > 1)
        qsort(samples, sample_count, sizeof *samples, compare_times);
    for (size_t run = 0; run < sort->run_count; run++) {
        uint32_t *cuts = sort->cuts + run * width;
        cuts[0] = sort->runs[run];
        cuts[sort->parts] = sort->runs[run + 1];
        for (unsigned part = 1; part < sort->parts; part++)
            cuts[part] = find_in_run(sort, run, samples[(size_t)part * SAMPLES_A_PART]);
        for (unsigned part = 0; part < sort->parts; part++)
            sort->part_begin[part + 1] += cuts[part + 1] - cuts[part];
    }
    for (unsigned part = 0; part < sort->parts; part++)
        sort->part_begin[part + 1] += sort->part_begin[part];
    return true;
}

/* Merges [left, left_end) and [right, right_end). */
static void merge_two(const pyro_trace *trace, const uint32_t *left, const uint32_t *left_end,
                      const uint32_t *right, const uint32_t *right_end, uint32_t *to)
{
    while (left < left_end && right < right_end)
        *to++ = is_in_order(trace, *left, *right) ? *left++ : *right++;
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    to += left_end - left;
    memcpy(to, right, (size_t)(right_end - right) * sizeof *to);
}

/* Gathers a part's pieces of all runs in `to`. */
static void gather_part(void *data, unsigned part)
{
    const sorter *sort = data;
    size_t width = sort->parts + 1;
    uint32_t *pieces = sort->pieces + part * (sort->run_count + 1);
    uint32_t at = (uint32_t)sort->part_begin[part];
    for (size_t run = 0; run < sort->run_count; run++) {
        const uint32_t *cut = sort->cuts + run * width + part;
        *pieces++ = at;
        memcpy(sort->to + at, sort->from + cut[0], (cut[1] - cut[0]) * sizeof *sort->to);
        at += cut[1] - cut[0];
    }
    *pieces = at;
}

/* Of several pieces, the first of the second half by number of events; never the very first. */
static size_t middle_piece(const uint32_t *pieces, size_t first, size_t end)
{
    uint32_t middle = pieces[first] + (pieces[end] - pieces[first]) / 2;
    size_t low = first + 1, high = end - 1;
    while (low < high) {
        size_t half = low + (high - low) / 2;
        if (pieces[half] < middle)
            low = half + 1;
        else
            high = half;
    }
    /* The piece before may be nearer to the middle. */
    return low > first + 1 && middle - pieces[low - 1] < pieces[low] - middle ? low - 1 : low;
}

/*
 * Merges pieces, which are in `to`, into `into`, one of the two buffers. Runs differ much in
 * length; halving by length merges a long run once or twice, not once per level.
 */
static void merge_pieces(const sorter *sort, const uint32_t *pieces, size_t first, size_t end,
                         uint32_t *into)
{
    uint32_t *other = into == sort->to ? sort->from : sort->to;
    uint32_t begin = pieces[first];
    if (end - first == 1 || pieces[end] == begin) {
        if (into != sort->to)
            memcpy(into + begin, sort->to + begin, (pieces[end] - begin) * sizeof *into);
        return;
    }
    size_t middle = middle_piece(pieces, first, end);
    merge_pieces(sort, pieces, first, middle, other);
    merge_pieces(sort, pieces, middle, end, other);
    merge_two(sort->trace, other + begin, other + pieces[middle], other + pieces[middle],
              other + pieces[end], into + begin);
}

static void merge_part(void *data, unsigned part)
{
    const sorter *sort = data;
    const uint32_t *pieces = sort->pieces + part * (sort->run_count + 1);
    merge_pieces(sort, pieces, 0, sort->run_count, sort->from);
}

/* The column of parents is not in use yet: it serves as the second array. */
int pyro_join_order(pyro_join_state *state)
{
    sorter sort = {.trace = state->trace,
                   .from = state->joins->by_time,
                   .to = state->joins->parent,
                   .parts = state->parts};
    int status = PYRO_OK;
    if (!deal_out(&sort) || !find_runs(&sort) || !cut_runs(&sort)) {
        status = pyro_fail_memory(state->error);
        goto done;
    }
    pyro_run_parts(gather_part, &sort, sort.parts);
    pyro_run_parts(merge_part, &sort, sort.parts);
done:
    free(sort.piles);
    free(sort.runs);
    free(sort.cuts);
    free(sort.pieces);
    return status;
}
