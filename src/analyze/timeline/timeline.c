/* Lays the events of a trace out in rows, and merges what is too short to be kept. */
#include "analyze/timeline/timeline.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a track. What nests deeper shares the last one, so its slices may overlap there. */
enum { MAX_ROWS = 64 };
/* In `slice_of`, of an event that is not to be shown. */
#define HIDDEN (PYRO_NO_SLICE - 1)

/* Of each row of a track: where its last slice ends, and which one that is. */
typedef struct track_rows {
    int64_t end_ns[MAX_ROWS];
    uint32_t last[MAX_ROWS];
    unsigned used;
} track_rows;

/* What is merged: slices shorter than `below_ns`, unless the gap between two is longer. */
typedef struct merging {
    int64_t below_ns, gap_ns;
} merging;

typedef struct layout {
    pyro_timeline *timeline;
    const pyro_trace *trace;
    const pyro_joins *joins;
    int64_t from_ns, to_ns; /* on the trace's clock */
    track_rows *tracks;
    uint32_t *slice_of; /* by event; PYRO_NO_SLICE or HIDDEN */
    size_t capacity; /* of the slices */
    merging rule;
} layout;

/* Ranges on a device repeat what its work says, and the profiler's own span holds everything. */
static bool is_shown(const pyro_trace *trace, uint32_t event)
{
    uint8_t category = trace->category[event];

    if (category == PYRO_EVENT_MEMORY || category == PYRO_EVENT_SYNC ||
        category == PYRO_EVENT_DEVICE_ANNOTATION)
        return false;
    return category != PYRO_EVENT_OTHER ||
           strncmp(pyro_event_name(trace, event), "PyTorch Profiler", 16) != 0;
}

/* Steps have a row of their own; they need not nest in the frames of Python. */
static void hide_steps(layout *layout)
{
    for (size_t i = 0; i < layout->joins->step_count; i++) {
        if (layout->joins->steps[i].event != PYRO_NO_EVENT)
            layout->slice_of[layout->joins->steps[i].event] = HIDDEN;
    }
}

/* A row that is free from `start_ns` on. Nested host events keep below what encloses them. */
static uint8_t take_row(track_rows *rows, int64_t start_ns, int64_t end_ns, bool nested)
{
    unsigned row = 0;

    if (nested) {
        for (row = rows->used; row > 0 && rows->end_ns[row - 1] <= start_ns;)
            row--;
    } else {
        while (row < rows->used && rows->end_ns[row] > start_ns)
            row++;
    }
    if (row >= MAX_ROWS)
        row = MAX_ROWS - 1;
    if (nested || row >= rows->used)
        rows->used = row + 1;
    rows->end_ns[row] = end_ns;
    return (uint8_t)row;
}

static bool in_range(const layout *layout, uint32_t event)
{
    return layout->trace->start_ns[event] < layout->to_ns &&
           pyro_event_end_ns(layout->trace, event) >= layout->from_ns;
}

static bool is_wanted(const layout *layout, uint32_t event)
{
    return layout->slice_of[event] != HIDDEN && is_shown(layout->trace, event) &&
           in_range(layout, event);
}

/* Whether a short slice lengthens the merged one before it in its row. */
static bool extends_last(layout *layout, uint32_t last, int64_t start_ns, int64_t end_ns)
{
    pyro_slice *merged = last < layout->timeline->count ? &layout->timeline->slices[last] : NULL;
    int64_t merged_end_ns;

    if (!merged || merged->name != PYRO_NO_ID)
        return false;
    merged_end_ns = merged->start_ns + merged->duration_ns;
    if (start_ns - merged_end_ns >= layout->rule.gap_ns)
        return false;
    merged->duration_ns = (end_ns > merged_end_ns ? end_ns : merged_end_ns) - merged->start_ns;
    merged->events++;
    return true;
}

static bool add_slice(layout *layout, uint32_t event)
{
    const pyro_trace *trace = layout->trace;
    pyro_timeline *timeline = layout->timeline;
    uint16_t track = trace->track[event];
    uint32_t call = layout->joins->call[event];
    uint8_t category = trace->category[event];
    track_rows *rows = &layout->tracks[track];
    uint8_t row = take_row(rows, trace->start_ns[event], pyro_event_end_ns(trace, event),
                           pyro_event_is_host(category));
    int64_t start_ns = trace->start_ns[event] - timeline->start_ns;
    bool is_short = trace->duration_ns[event] < layout->rule.below_ns;

    if (is_short &&
        extends_last(layout, rows->last[row], start_ns, start_ns + trace->duration_ns[event]))
        return true;
    if (!pyro_grow(&timeline->slices, &layout->capacity, timeline->count + 1,
                   sizeof *timeline->slices))
        return false;
    rows->last[row] = (uint32_t)timeline->count;
    timeline->slices[timeline->count++] = (pyro_slice){
        .start_ns = start_ns,
        .duration_ns = trace->duration_ns[event],
        .name = is_short ? PYRO_NO_ID : trace->name[event],
        .layer = is_short || call == PYRO_NO_LAYER ? PYRO_NO_LAYER
                                                   : layout->joins->calls[call].layer,
        .launch = event, /* replaced once slices have their places */
        .forward = PYRO_NO_SLICE,
        .events = 1,
        .track = track,
        .row = row,
        .category = category,
        .phase = layout->joins->phase[event],
    };
    return true;
}

static int by_place(const void *a, const void *b)
{
    const pyro_slice *left = a, *right = b;

    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return 0;
}

/* Counts events by the highest bit of their duration; returns their number. */
static size_t count_durations(const layout *layout, size_t longer[64])
{
    size_t count = 0;

    for (uint32_t event = 0; event < layout->trace->count; event++) {
        if (!is_wanted(layout, event))
            continue;
        longer[63 - __builtin_clzll((uint64_t)layout->trace->duration_ns[event] | 1)]++;
        count++;
    }
    return count;
}

/* The duration from which on at most `wanted` events remain: a power of two; 0 where all do. */
static int64_t shortest_kept(const layout *layout, size_t max_slices)
{
    size_t longer[64] = {0}, sum = 0;
    int bit;

    if (max_slices == 0 || count_durations(layout, longer) <= max_slices)
        return 0;
    /* Stretches of merged events take the other half. */
    for (bit = 63; bit > 0; bit--) {
        if (sum + longer[bit] > max_slices / 2)
            break;
        sum += longer[bit];
    }
    return (int64_t)1 << (bit < 62 ? bit + 1 : 62);
}

static void clear_rows(layout *layout)
{
    layout->timeline->count = 0;
    for (size_t i = 0; i < layout->trace->track_count; i++) {
        layout->tracks[i].used = 0;
        memset(layout->tracks[i].last, 0xff, sizeof layout->tracks[i].last);
    }
}

/* Adds the slices of all events, and stops at `most`. False when memory is out. */
static bool add_slices(layout *layout, size_t most)
{
    clear_rows(layout);
    for (size_t i = 0; i < layout->trace->count && layout->timeline->count < most; i++) {
        uint32_t event = layout->joins->by_time[i];
        if (is_wanted(layout, event) && !add_slice(layout, event))
            return false;
    }
    return true;
}

/* Merges short events, over ever longer gaps until few enough slices remain. */
static bool add_merged_slices(layout *layout, size_t max_slices)
{
    pyro_timeline *timeline = layout->timeline;
    int64_t most_gap_ns = timeline->span_ns < INT64_MAX / 8 ? timeline->span_ns * 4 : INT64_MAX / 8;

    layout->rule.below_ns = shortest_kept(layout, max_slices);
    if (layout->rule.below_ns == 0)
        return add_slices(layout, SIZE_MAX);
    layout->rule.gap_ns = layout->rule.below_ns;
    timeline->merged_below_ns = layout->rule.below_ns;
    while (add_slices(layout, max_slices + 1)) {
        if (timeline->count <= max_slices || layout->rule.gap_ns > most_gap_ns)
            break;
        layout->rule.gap_ns *= 4;
    }
    if (timeline->count > max_slices && !add_slices(layout, SIZE_MAX))
        return false;
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->slices[i].name == PYRO_NO_ID)
            timeline->merged_events += timeline->slices[i].events;
    }
    return true;
}

static bool list_rows(pyro_timeline *timeline)
{
    size_t capacity = 0;

    for (size_t i = 0; i < timeline->count; i++) {
        const pyro_slice *slice = &timeline->slices[i];
        pyro_slice_row *last = timeline->row_count > 0 ? &timeline->rows[timeline->row_count - 1]
                                                       : NULL;

        if (last && last->track == slice->track && last->row == slice->row) {
            last->count++;
            continue;
        }
        if (!pyro_grow(&timeline->rows, &capacity, timeline->row_count + 1, sizeof *timeline->rows))
            return false;
        timeline->rows[timeline->row_count++] = (pyro_slice_row){slice->track, slice->row,
                                                                 (uint32_t)i, 1};
    }
    return true;
}

/* The range of all shown events. */
static void find_span(layout *layout)
{
    const pyro_trace *trace = layout->trace;
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;

    for (uint32_t event = 0; event < trace->count; event++) {
        int64_t event_end_ns = pyro_event_end_ns(trace, event);
        if (!is_shown(trace, event))
            continue;
        start_ns = trace->start_ns[event] < start_ns ? trace->start_ns[event] : start_ns;
        end_ns = event_end_ns > end_ns ? event_end_ns : end_ns;
    }
    layout->timeline->start_ns = start_ns <= end_ns ? start_ns : 0;
    layout->timeline->span_ns = start_ns <= end_ns ? end_ns - start_ns : 0;
}

static void choose_range(layout *layout, const pyro_timeline_options *options)
{
    int64_t start_ns = layout->timeline->start_ns;

    layout->from_ns = start_ns + options->from_ns;
    layout->to_ns = options->to_ns > 0 ? start_ns + options->to_ns : INT64_MAX;
    for (size_t i = 0; options->only_steps && i < layout->joins->step_count; i++) {
        const pyro_step *step = &layout->joins->steps[i];

        if (step->number == options->first_step)
            layout->from_ns = step->start_ns;
        if (step->number == options->last_step)
            layout->to_ns = step->end_ns;
    }
}

static bool lay_out(layout *layout, const pyro_timeline_options *options)
{
    pyro_timeline *timeline = layout->timeline;

    find_span(layout);
    hide_steps(layout);
    choose_range(layout, options);
    timeline->from_ns = layout->from_ns - timeline->start_ns;
    timeline->to_ns = layout->to_ns == INT64_MAX ? timeline->span_ns
                                                 : layout->to_ns - timeline->start_ns;
    if (!add_merged_slices(layout, options->max_slices))
        return false;
    if (timeline->count > 0) /* qsort must not get NULL */
        qsort(timeline->slices, timeline->count, sizeof *timeline->slices, by_place);
    return pyro_timeline_link(timeline, layout->trace, layout->joins, layout->slice_of) &&
           list_rows(timeline);
}

int pyro_timeline_make(pyro_timeline *timeline, const pyro_trace *trace, const pyro_joins *joins,
                       const pyro_timeline_options *options, pyro_error *error)
{
    layout layout = {.timeline = timeline, .trace = trace, .joins = joins};
    bool good;

    memset(timeline, 0, sizeof *timeline);
    layout.tracks = calloc(trace->track_count + 1, sizeof *layout.tracks);
    layout.slice_of = malloc((trace->count + 1) * sizeof *layout.slice_of);
    good = layout.tracks && layout.slice_of;
    if (good) {
        memset(layout.slice_of, 0xff, (trace->count + 1) * sizeof *layout.slice_of);
        good = lay_out(&layout, options);
    }
    free(layout.tracks);
    free(layout.slice_of);
    if (!good) {
        pyro_timeline_free(timeline);
        return pyro_fail_memory(error);
    }
    return PYRO_OK;
}

void pyro_timeline_free(pyro_timeline *timeline)
{
    free(timeline->slices);
    free(timeline->rows);
    memset(timeline, 0, sizeof *timeline);
}
